//! Files that only this process may read, for secrets that have to be passed as a path.
//!
//! They are in memory, not on any disk, and go with their last owner, or with the process, however that ends.

use std::collections::BTreeMap;
use std::fs::{File, Permissions};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::{Arc, Weak};

use aws_lc_rs::digest::{SHA256, digest};
use nix::fcntl::{FcntlArg, SealFlag, fcntl};
use nix::sys::memfd::{MFdFlags, memfd_create};
use parking_lot::Mutex;

/// File in memory. It is closed when the last owner drops it.
#[derive(Debug)]
pub struct PrivateFile {
    file: File,
}

/// The open files by the digests of their contents.
static OPEN: Mutex<BTreeMap<Vec<u8>, Weak<PrivateFile>>> = Mutex::new(BTreeMap::new());

// === impl PrivateFile ===

impl PrivateFile {
    /// Puts content into a file. The same content has the same path as long as the file is open, so that reading a
    /// configuration twice gives the same settings.
    pub fn hold(content: &[u8]) -> io::Result<Arc<Self>> {
        let digest = digest(&SHA256, content).as_ref().to_owned();
        let mut open = OPEN.lock();
        open.retain(|_, file| file.strong_count() > 0);
        if let Some(file) = open.get(&digest).and_then(Weak::upgrade) {
            return Ok(file);
        }
        let file = Arc::new(Self { file: fresh(content)? });
        open.insert(digest, Arc::downgrade(&file));
        Ok(file)
    }

    /// The path. It names this process, so that programs which it runs can follow it too.
    pub fn path(&self) -> PathBuf {
        format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd()).into()
    }
}

fn fresh(content: &[u8]) -> io::Result<File> {
    let flags = MFdFlags::MFD_CLOEXEC | MFdFlags::MFD_ALLOW_SEALING;
    let mut file = File::from(memfd_create("spindrift-secret", flags)?);
    file.set_permissions(Permissions::from_mode(0o600))?;
    file.write_all(content)?;
    // The path always leads to the written content, independent of other processes.
    let seals = SealFlag::F_SEAL_WRITE | SealFlag::F_SEAL_GROW | SealFlag::F_SEAL_SHRINK;
    fcntl(&file, FcntlArg::F_ADD_SEALS(seals))?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::process::Command;

    use super::*;

    #[test]
    fn the_same_content_has_the_same_path_until_it_is_closed() {
        let file = PrivateFile::hold(b"one").unwrap();
        let path = file.path();
        let again = PrivateFile::hold(b"one").unwrap();
        assert_eq!(again.path(), path);
        assert_ne!(PrivateFile::hold(b"two").unwrap().path(), path);
        assert_eq!(fs::read(&path).unwrap(), b"one");
        assert_eq!(fs::read(&path).unwrap(), b"one", "each reader begins at its start");
        fs::write(&path, "other").unwrap_err();
        let read = Command::new("cat").arg(&path).output().unwrap();
        assert_eq!(read.stdout, b"one", "programs that are run can read it too");
        drop(file);
        assert_eq!(fs::read(&path).unwrap(), b"one", "it has another owner");
    }

    #[test]
    fn no_file_system_has_it_and_it_goes_with_its_owner() {
        let held = |content: &[u8]| {
            let links = fs::read_dir("/proc/self/fd").unwrap().map(|link| link.unwrap().path());
            // Others may be pipes, which would be waited for.
            let ours = links.filter(|link| {
                fs::read_link(link)
                    .is_ok_and(|target| target.starts_with("/memfd:spindrift-secret (deleted)"))
            });
            let files = ours.filter_map(|link| fs::read(link).ok());
            files.filter(|found| found == content).count()
        };
        let file = PrivateFile::hold(b"hunter2 of this test").unwrap();
        let target = fs::read_link(file.path()).unwrap();
        assert_eq!(target.to_str(), Some("/memfd:spindrift-secret (deleted)"));
        assert_eq!(held(b"hunter2 of this test"), 1);
        drop(file);
        assert_eq!(held(b"hunter2 of this test"), 0);
    }
}
