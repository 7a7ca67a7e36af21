//! Files that only this process may read, for secrets that have to be passed as a path.
//!
//! They are in memory, not on any disk, and go with the process, however that ends.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fs::{File, Permissions};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use aws_lc_rs::digest::{SHA256, digest};
use nix::fcntl::{FcntlArg, SealFlag, fcntl};
use nix::sys::memfd::{MFdFlags, memfd_create};
use parking_lot::Mutex;

/// The files by the digests of their contents.
static HELD: Mutex<Option<HashMap<Vec<u8>, File>>> = Mutex::new(None);

/// Puts content into a file and gives its path. The same content always has the same path, so that reading a
/// configuration twice gives the same settings.
///
/// The path names this process, so that programs which it runs can follow it too.
pub fn hold(content: &[u8]) -> io::Result<PathBuf> {
    let mut held = HELD.lock();
    let held = held.get_or_insert_default();
    let file = match held.entry(digest(&SHA256, content).as_ref().to_owned()) {
        Entry::Occupied(entry) => entry.into_mut(),
        Entry::Vacant(entry) => entry.insert(fresh(content)?),
    };
    Ok(format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd()).into())
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
    fn the_same_content_has_the_same_path() {
        let path = hold(b"one").unwrap();
        assert_eq!(hold(b"one").unwrap(), path);
        assert_ne!(hold(b"two").unwrap(), path);
        assert_eq!(fs::read(&path).unwrap(), b"one");
        assert_eq!(fs::read(&path).unwrap(), b"one", "each reader begins at its start");
        fs::write(&path, "other").unwrap_err();
        let read = Command::new("cat").arg(&path).output().unwrap();
        assert_eq!(read.stdout, b"one", "programs that are run can read it too");
    }

    #[test]
    fn no_file_system_has_it() {
        let target = fs::read_link(hold(b"hunter2").unwrap()).unwrap();
        assert_eq!(target.to_str(), Some("/memfd:spindrift-secret (deleted)"));
    }
}
