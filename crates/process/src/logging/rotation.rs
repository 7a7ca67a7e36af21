//! Rotation of a log file by size; the oldest rotated files are removed.
//!
//! `agent.log` becomes `agent-2026-11-16T09-00-00.000.log`, and then perhaps `….log.gz`.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, SystemTime};

use flate2::{Compression, write::GzEncoder};
use jiff::{Timestamp, Zoned};
use parking_lot::Mutex;

use super::LoggingError;

const DAY: Duration = Duration::from_hours(24);

/// When a file is set aside, and how long it is kept then.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rotation {
    /// The size at which it is set aside.
    pub(super) max_bytes: u64,
    /// Number of rotated files that are kept; zero is all.
    pub(super) max_backups: usize,
    /// Time for which they are kept; zero is for ever.
    pub(super) max_age_days: u64,
    /// Set if their names have the local time.
    pub(super) local_time: bool,
    /// Set if they are compressed.
    pub(super) compress: bool,
}

/// A file of lines.
#[derive(Debug)]
pub(super) struct RotatingFile {
    path: PathBuf,
    rotation: Rotation,
    open: Mutex<Open>,
}

#[derive(Debug)]
struct Open {
    file: File,
    bytes: u64,
}

// === impl RotatingFile ===

impl RotatingFile {
    pub(super) fn open(path: &Path, rotation: Rotation) -> Result<Self, LoggingError> {
        let open =
            Open::at(path).map_err(|source| LoggingError::File { file: path.to_path_buf(), source })?;
        Ok(Self { path: path.to_path_buf(), rotation, open: Mutex::new(open) })
    }

    /// Appends a line, in a new file if this one is full.
    pub(super) fn append(&self, line: &[u8]) -> io::Result<()> {
        let mut open = self.open.lock();
        let length = line.len() as u64;
        if open.bytes > 0 && open.bytes + length > self.rotation.max_bytes {
            // If that cannot be done, the old file grows on: a line too many is better than one lost.
            if let Err(error) = self.set_aside(&mut open) {
                open.bytes = 0;
                eprintln!("logging.file: {} cannot be rotated: {error}", self.path.display());
            }
        }
        open.file.write_all(line)?;
        open.bytes += length;
        Ok(())
    }

    fn set_aside(&self, open: &mut Open) -> io::Result<()> {
        const NAME: &str = "%Y-%m-%dT%H-%M-%S%.3f";
        let time = if self.rotation.local_time {
            Zoned::now().strftime(NAME).to_string()
        } else {
            Timestamp::now().strftime(NAME).to_string()
        };
        let (stem, extension) = self.name();
        let aside = self.path.with_file_name(format!("{stem}-{time}{extension}"));
        if aside.exists() {
            // Two in one millisecond: the next line tries again.
            return Ok(());
        }
        fs::rename(&self.path, &aside)?;
        *open = Open::at(&self.path)?;
        let tidying = Tidying { rotation: self.rotation, aside, prefix: format!("{stem}-"), extension };
        // Compressing takes a while, and every log line needs the lock.
        thread::Builder::new().name("log rotation".into()).spawn(move || tidying.run())?;
        Ok(())
    }

    /// The name without its extension, and the extension with its dot.
    fn name(&self) -> (String, String) {
        let part = |part: Option<&std::ffi::OsStr>| part.unwrap_or_default().to_string_lossy().into_owned();
        let extension = part(self.path.extension());
        let dotted = if extension.is_empty() { extension } else { format!(".{extension}") };
        (part(self.path.file_stem()), dotted)
    }
}

// === impl Open ===

impl Open {
    fn at(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        Ok(Self { bytes: file.metadata()?.len(), file })
    }
}

/// Work that is left after a rotation.
struct Tidying {
    rotation: Rotation,
    aside: PathBuf,
    prefix: String,
    extension: String,
}

// === impl Tidying ===

impl Tidying {
    fn run(&self) {
        let compressed = if self.rotation.compress { compress(&self.aside) } else { Ok(()) };
        if let Err(error) = compressed.and_then(|()| self.remove_old()) {
            eprintln!("logging.file: old files of {} cannot be tidied: {error}", self.aside.display());
        }
    }

    fn remove_old(&self) -> io::Result<()> {
        let Rotation { max_backups, max_age_days, .. } = self.rotation;
        let directory = self.aside.parent().filter(|parent| !parent.as_os_str().is_empty());
        let mut backups: Vec<PathBuf> = fs::read_dir(directory.unwrap_or(Path::new(".")))?
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| self.is_backup(path))
            .collect();
        // Their names begin with the time, so the newest come first.
        backups.sort_by(|left, right| right.cmp(left));
        let oldest =
            u32::try_from(max_age_days).ok().and_then(|days| SystemTime::now().checked_sub(DAY * days));
        for (at, path) in backups.iter().enumerate() {
            let is_old =
                |oldest| fs::metadata(path).and_then(|file| file.modified()).is_ok_and(|at| at < oldest);
            let too_many = max_backups > 0 && at >= max_backups;
            if too_many || (max_age_days > 0 && oldest.is_some_and(is_old)) {
                fs::remove_file(path)?;
            }
        }
        Ok(())
    }

    fn is_backup(&self, path: &Path) -> bool {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let name = name.strip_suffix(".gz").unwrap_or(&name);
        let time = name.strip_prefix(&self.prefix).and_then(|rest| rest.strip_suffix(&self.extension));
        time.is_some_and(|time| {
            time.len() == "2026-11-16T09-00-00.000".len() && time.starts_with(|c: char| c.is_ascii_digit())
        })
    }
}

fn compress(path: &Path) -> io::Result<()> {
    let mut name = path.as_os_str().to_owned();
    name.push(".gz");
    let mut encoder = GzEncoder::new(File::create(&name)?, Compression::default());
    io::copy(&mut File::open(path)?, &mut encoder)?;
    encoder.finish()?;
    fs::remove_file(path)
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use flate2::read::GzDecoder;

    use super::*;

    const ROTATION: Rotation =
        Rotation { max_bytes: 100, max_backups: 2, max_age_days: 1, local_time: false, compress: true };

    fn names(directory: &Path) -> Vec<String> {
        let entries = fs::read_dir(directory).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_full_file_is_set_aside_and_compressed_and_the_oldest_go() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("agent.log");
        let ancient = directory.path().join("agent-2020-01-01T00-00-00.000.log.gz");
        fs::write(&ancient, "old").unwrap();
        fs::write(directory.path().join("agent-notes.log"), "not ours").unwrap();
        let tidying = |aside: &str| Tidying {
            rotation: ROTATION,
            aside: directory.path().join(aside),
            prefix: "agent-".into(),
            extension: ".log".into(),
        };
        for time in ["2026-11-16T09-00-00.000", "2026-11-16T09-00-00.001"] {
            fs::write(directory.path().join(format!("agent-{time}.log")), time).unwrap();
            tidying(&format!("agent-{time}.log")).run();
        }
        let kept = [
            "agent-2026-11-16T09-00-00.000.log.gz",
            "agent-2026-11-16T09-00-00.001.log.gz",
            "agent-notes.log",
        ];
        assert_eq!(names(directory.path()), kept);
        let mut text = String::new();
        let file = File::open(directory.path().join(kept[0])).unwrap();
        GzDecoder::new(file).read_to_string(&mut text).unwrap();
        assert_eq!(text, "2026-11-16T09-00-00.000");

        // Age counts too, not only number.
        let stale = File::options().write(true).open(directory.path().join(kept[0])).unwrap();
        stale.set_modified(SystemTime::now() - 2 * DAY).unwrap();
        tidying("agent-2026-11-16T09-00-00.001.log").remove_old().unwrap();
        assert_eq!(names(directory.path()), kept[1..]);
        assert!(!path.exists());
    }

    #[test]
    fn no_line_is_lost_or_torn_when_a_file_is_set_aside() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("agent.log");
        fs::write(&path, "before the start\n").unwrap();
        let rotation = Rotation { max_backups: 0, compress: false, ..ROTATION };
        let file = RotatingFile::open(&path, rotation).unwrap();
        let lines: Vec<_> = (0..4).map(|number| format!("line {number} {}\n", "x".repeat(60))).collect();
        for line in &lines {
            file.append(line.as_bytes()).unwrap();
        }
        let mut texts: Vec<_> = names(directory.path())
            .iter()
            .filter(|name| *name != "agent.log")
            .map(|name| fs::read_to_string(directory.path().join(name)).unwrap())
            .collect();
        texts.push(fs::read_to_string(&path).unwrap());
        assert_eq!(texts.concat(), format!("before the start\n{}", lines.concat()));
        assert!(texts.len() > 1, "{texts:?}");
    }
}
