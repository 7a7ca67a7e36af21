//! Directory that is kept between runs: the database, and the kubeconfig of the playground.

use std::{
    fs::{File, TryLockError},
    path::{Path, PathBuf},
};

use anyhow::{Context, bail};

const DATABASE: &str = "spindrift.db";

/// Data directory, locked by this process.
#[derive(Debug)]
pub(super) struct DataDir {
    path: PathBuf,
    _lock: File,
}

// === impl DataDir ===

impl DataDir {
    /// Creates and locks the directory; removes the database if `fresh` is set.
    pub(super) fn open(path: &Path, fresh: bool) -> anyhow::Result<Self> {
        std::fs::create_dir_all(path).with_context(|| format!("--data-dir: create {}", path.display()))?;
        let path = path.canonicalize()?;
        let lock = path.join("lock");
        let lock = File::create(&lock).with_context(|| format!("--data-dir: write {}", lock.display()))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => bail!(
                "--data-dir: another `spindrift up` uses {}; stop it, or use another directory",
                path.display()
            ),
            Err(TryLockError::Error(error)) => return Err(error).context("--data-dir: lock it"),
        }
        let directory = Self { path, _lock: lock };
        if fresh {
            directory.remove_database()?;
        }
        Ok(directory)
    }

    pub(super) fn database(&self) -> PathBuf {
        self.path.join(DATABASE)
    }

    pub(super) fn playground_kubeconfig(&self) -> PathBuf {
        self.path.join("playground.kubeconfig")
    }

    /// Removes the files of SQLite, and no others.
    fn remove_database(&self) -> anyhow::Result<()> {
        for suffix in ["", "-wal", "-shm", "-journal"] {
            let file = self.path.join(format!("{DATABASE}{suffix}"));
            match std::fs::remove_file(&file) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(error).with_context(|| format!("--fresh: remove {}", file.display()));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// Path relative to the current directory, if it is below.
pub(super) fn as_typed(path: &Path) -> String {
    let here = std::env::current_dir().ok();
    let relative = here.as_deref().and_then(|here| path.strip_prefix(here).ok());
    relative.unwrap_or(path).display().to_string()
}
