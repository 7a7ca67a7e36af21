//! A small file system of its own for a database, which can be filled and made read-only. Needs root.

use std::fs::File;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};
use tempfile::TempDir;

use crate::guardian;

/// A tmpfs; unmounted when the value is dropped, by the guardian at the latest.
pub struct SmallDisk {
    directory: TempDir,
}

/// File that takes all the room.
const BALLAST: &str = "ballast";

// === impl SmallDisk ===

impl SmallDisk {
    /// Mounts a file system of this size.
    pub fn mount(bytes: u64) -> anyhow::Result<Self> {
        let directory = guardian::scratch("disk")?;
        let size = format!("size={bytes}");
        run("mount", &["-t", "tmpfs", "-o", &size, "tmpfs", &shown(directory.path())])?;
        Ok(Self { directory })
    }

    /// Where it is mounted.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Writes until there is no room left.
    pub fn fill(&self) -> anyhow::Result<()> {
        let mut file = File::options().create(true).append(true).open(self.ballast())?;
        let block = vec![0_u8; 4096];
        loop {
            match file.write(&block) {
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::StorageFull => return Ok(()),
                Err(error) => return Err(error).context("fill a disk"),
            }
        }
    }

    /// Makes room again.
    pub fn free(&self) -> anyhow::Result<()> {
        std::fs::remove_file(self.ballast()).context("free a disk")
    }

    /// Mounts it read-only over itself. Files that are open stay writable, as the kernel demands: each file that is opened
    /// from now on is read-only.
    pub fn read_only(&self) -> anyhow::Result<()> {
        let path = shown(self.path());
        run("mount", &["--bind", &path, &path])?;
        run("mount", &["-o", "remount,bind,ro", &path])
    }

    /// Removes the read-only mount.
    pub fn writable(&self) -> anyhow::Result<()> {
        run("umount", &["-l", &shown(self.path())])
    }

    fn ballast(&self) -> PathBuf {
        self.path().join(BALLAST)
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Once more if it is mounted over itself; the second call fails otherwise.
        for _ in 0..2 {
            run("umount", &["-l", &shown(self.path())]).ok();
        }
    }
}

fn run(program: &str, args: &[&str]) -> anyhow::Result<()> {
    let output = Command::new(program).args(args).output().with_context(|| format!("run {program}"))?;
    ensure!(output.status.success(), "{program} {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}
