//! Files of an SQLite database: for their owner only, since objects of all clusters are in them.

use std::fs::{File, Permissions};
use std::io;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use percent_encoding::percent_decode_str;
use spindrift_process::report;
use tracing::{info, warn};

use super::{Location, StoreError};

/// Read and write for the owner, nothing for others.
const OWNER_ONLY: u32 = 0o600;

/// Journals that SQLite creates beside the database, in the mode of the database.
const BESIDE: [&str; 2] = ["-wal", "-shm"];

/// Creates the file of a database if there is none, and removes the permissions of others from existing files.
///
/// A file that cannot be created is left to the database, whose error says more. One that belongs to another user is used
/// as it is.
pub(super) fn restrict(url: &str) -> Result<(), StoreError> {
    let Location::File(file) = Location::of_url(url)? else { return Ok(()) };
    let Ok(file) =
        percent_decode_str(&file.to_string_lossy()).decode_utf8().map(|path| PathBuf::from(&*path))
    else {
        return Ok(());
    };
    if creates(url) {
        File::options().append(true).create(true).mode(OWNER_ONLY).open(&file).ok();
    }
    restrict_file(&file);
    for suffix in BESIDE {
        let mut beside = file.clone().into_os_string();
        beside.push(suffix);
        restrict_file(Path::new(&beside));
    }
    Ok(())
}

/// Whether the database creates a missing file: it does unless the URL has another mode.
fn creates(url: &str) -> bool {
    !url.contains("mode=") || url.contains("mode=rwc")
}

fn restrict_file(file: &Path) {
    let restricted = || -> io::Result<()> {
        let mode = file.metadata()?.permissions().mode();
        if mode & 0o077 != 0 {
            std::fs::set_permissions(file, Permissions::from_mode(mode & 0o700))?;
            info!(file = %file.display(), "other users may no longer read this file of the database");
        }
        Ok(())
    };
    match restricted() {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            warn!(file = %file.display(), error = report(&error), "other users may read this file of the database");
        }
        _ => {}
    }
}
