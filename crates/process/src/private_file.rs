//! Files for what only this process may read: secrets that others insist on being given as a path.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::PathBuf;

use aws_lc_rs::digest::{SHA256, digest};
use nix::unistd::geteuid;

/// Puts content into a file and gives its path. The same content always has the same path, so that reading a
/// configuration twice gives the same settings.
///
/// The files stay until the machine's, or the container's, temporary directory goes.
pub fn hold(content: &[u8]) -> io::Result<PathBuf> {
    let directory = directory()?;
    let digest = digest(&SHA256, content);
    let start = digest.as_ref().first_chunk().copied().unwrap_or_default();
    let name = format!("{:032x}", u128::from_be_bytes(start));
    let path = directory.join(&name);
    if fs::read(&path).is_ok_and(|held| held == content) {
        return Ok(path);
    }
    // Written aside and moved: a reader never sees a half, and nobody's link is followed.
    let fresh = directory.join(format!("{name}.{}", fastrand::u64(..)));
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&fresh)?;
    file.write_all(content)?;
    fs::rename(&fresh, &path)?;
    Ok(path)
}

/// A directory that nobody else can enter.
fn directory() -> io::Result<PathBuf> {
    let user = geteuid();
    let directory = std::env::temp_dir().join(format!("spindrift-{user}"));
    match DirBuilder::new().mode(0o700).create(&directory) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let metadata = fs::symlink_metadata(&directory)?;
    if !metadata.is_dir() || metadata.uid() != user.as_raw() || metadata.mode() & 0o077 != 0 {
        let message = format!("{} is not ours alone; remove it", directory.display());
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, message));
    }
    Ok(directory)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_content_has_the_same_path() {
        let path = hold(b"one").unwrap();
        assert_eq!(hold(b"one").unwrap(), path);
        assert_ne!(hold(b"two").unwrap(), path);
        assert_eq!(fs::read(path).unwrap(), b"one");
    }
}
