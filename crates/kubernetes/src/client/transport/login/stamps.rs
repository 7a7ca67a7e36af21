//! Change detection for the files of credentials.

use std::{fs, os::unix::fs::MetadataExt, path::PathBuf};

/// Files of credentials, with their state before they were read.
#[derive(Debug, Default)]
pub(crate) struct Stamps(Vec<(PathBuf, Option<Stamp>)>);

/// Inode, length and modification time of a file. Kubernetes volumes swap a symbolic link, which changes the inode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    device: u64,
    inode: u64,
    length: u64,
    written: (i64, i64),
}

// === impl Stamps ===

impl Stamps {
    /// Returns the stamp of one file.
    pub(super) fn of(path: impl Into<PathBuf>) -> Self {
        let mut stamps = Self::default();
        stamps.add(path);
        stamps
    }

    /// Adds a file. Called before the file is read, so that a change in between is detected.
    pub(super) fn add(&mut self, path: impl Into<PathBuf>) {
        let path = path.into();
        let stamp = Stamp::of(&path);
        self.0.push((path, stamp));
    }

    pub(super) fn have_changed(&self) -> bool {
        self.0.iter().any(|(path, stamp)| Stamp::of(path) != *stamp)
    }
}

// === impl Stamp ===

impl Stamp {
    fn of(path: &PathBuf) -> Option<Self> {
        let file = fs::metadata(path).ok()?;
        Some(Self {
            device: file.dev(),
            inode: file.ino(),
            length: file.size(),
            written: (file.mtime(), file.mtime_nsec()),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn writing_swapping_and_removing_are_noticed_and_nothing_else() {
        let directory = tempfile::tempdir().unwrap();
        let (first, second) = (directory.path().join("first"), directory.path().join("second"));
        let link = directory.path().join("link");
        fs::write(&first, "a").unwrap();
        fs::write(&second, "a").unwrap();
        symlink(&first, &link).unwrap();
        let stamps = || {
            let mut stamps = Stamps::default();
            stamps.add(&link);
            stamps
        };

        let before = stamps();
        fs::read(&link).unwrap();
        assert!(!before.have_changed());
        fs::write(&first, "ab").unwrap();
        assert!(before.have_changed());

        let before = stamps();
        fs::remove_file(&link).unwrap();
        assert!(before.have_changed());
        symlink(&second, &link).unwrap();
        assert!(before.have_changed());
        assert!(!stamps().have_changed());
    }
}
