//! Configuration that changes while the process runs.
//!
//! ```text
//! directory notifies ─┐
//!                     ├─▶ settle ─▶ has the content changed? ─▶ load ─▶ settings, or why there are none
//! slow poll ──────────┘
//! ```
//!
//! Notifications are only hints to look: what counts is the content, so that a touched file or new permissions change
//! nothing, and a hint that never comes (some network filesystems have none) only costs time.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};
use tracing::debug;

use super::error::ConfigError;
use super::schema::Schema;
use super::{ConfigFiles, Loaded};
use crate::report;

mod hints;

use hints::Hints;

/// Where there are no notifications, a change is found after this long; a look costs a few small reads.
const POLL: Duration = Duration::from_secs(10);

/// An editor, or kubelet's swap of a ConfigMap, makes several changes in a row: they are one.
const QUIET: Duration = Duration::from_millis(200);

/// Longest wait for a quiet moment: files that are written continuously are read after it.
const RESTLESS: Duration = Duration::from_secs(2);

/// Follows the files of a configuration.
#[derive(Debug)]
pub struct Follower<T> {
    files: ConfigFiles,
    /// Files of the last valid configuration, with their imports.
    used: Vec<PathBuf>,
    seen: Content,
    /// Error of the last attempt. It may pass without a change of the files that are followed.
    wrong: Option<String>,
    /// Files that had content when they were last used.
    written: BTreeSet<PathBuf>,
    hints: Option<Hints>,
    settings: PhantomData<fn() -> T>,
}

/// Contents of the files: a hash for each, or none if it cannot be read.
#[derive(Debug, Default, PartialEq, Eq)]
struct Content(BTreeMap<PathBuf, Option<u64>>);

// === impl Follower ===

impl<T: Schema> Follower<T> {
    /// Follows the files from the loaded state on.
    pub fn new(files: ConfigFiles, loaded: &Loaded<T>) -> Self {
        let hints = Hints::new().inspect_err(|error| debug!(%error, "no notifications of files")).ok();
        let mut follower = Self {
            files,
            used: Vec::new(),
            seen: Content::default(),
            wrong: None,
            written: BTreeSet::new(),
            hints,
            settings: PhantomData,
        };
        follower.use_files(loaded.files.clone());
        follower.seen = follower.look();
        follower.listen();
        follower
    }

    /// Waits until the files have changed, and reads them.
    ///
    /// An error is a configuration that cannot be used: the last one stays good, and it is tried again with the next
    /// change, and from time to time without one. Each error is reported once.
    pub async fn next(&mut self) -> Result<Loaded<T>, ConfigError> {
        loop {
            self.hint().await;
            self.listen();
            let content = self.look();
            let changed = content != self.seen;
            if !changed && self.wrong.is_none() {
                continue;
            }
            self.seen = content;
            match self.load() {
                Ok(loaded) => {
                    self.wrong = None;
                    self.use_files(loaded.files.clone());
                    self.listen();
                    return Ok(loaded);
                }
                Err(error) => {
                    let wrong = Some(report(&error));
                    if std::mem::replace(&mut self.wrong, wrong.clone()) != wrong || changed {
                        return Err(error);
                    }
                }
            }
        }
    }

    fn load(&self) -> Result<Loaded<T>, ConfigError> {
        // A file is truncated before it is rewritten; an empty file would remove every account.
        if let Some(file) = self.written.iter().find(|file| is_empty(file)) {
            return Err(ConfigError::Emptied { file: file.clone() });
        }
        let loaded = self.files.load::<T>()?;
        if loaded.files.is_empty() && !self.used.is_empty() {
            return Err(ConfigError::Vanished);
        }
        Ok(loaded)
    }

    fn use_files(&mut self, files: Vec<PathBuf>) {
        self.written = files.iter().filter(|file| file.is_file() && !is_empty(file)).cloned().collect();
        self.used = files;
    }

    /// Returns when it is worth a look.
    async fn hint(&self) {
        let Some(hints) = &self.hints else { return sleep(POLL).await };
        if timeout(POLL, hints.next()).await.is_err() {
            return;
        }
        let deadline = Instant::now() + RESTLESS;
        while Instant::now() < deadline && timeout(QUIET, hints.next()).await.is_ok() {}
    }

    /// Directories come and go, so they are named again each time; naming one twice changes nothing.
    fn listen(&self) {
        let Some(hints) = &self.hints else { return };
        let followed = self.followed();
        let real = followed.iter().filter_map(|file| file.canonicalize().ok());
        let parents =
            followed.iter().cloned().chain(real).filter_map(|file| file.parent().map(Path::to_path_buf));
        for directory in self.files.directories().into_iter().chain(parents) {
            hints.watch(&directory);
        }
    }

    /// Files that are named now, and those that were used last.
    fn followed(&self) -> BTreeSet<PathBuf> {
        self.files.named().into_iter().chain(self.used.iter().cloned()).collect()
    }

    fn look(&self) -> Content {
        let hashed = self.followed().into_iter().map(|file| {
            let content = std::fs::read(&file).ok().map(|bytes| {
                let mut hasher = DefaultHasher::new();
                bytes.hash(&mut hasher);
                hasher.finish()
            });
            (file, content)
        });
        Content(hashed.collect())
    }
}

fn is_empty(file: &Path) -> bool {
    std::fs::metadata(file).is_ok_and(|metadata| metadata.len() == 0)
}

#[cfg(test)]
mod tests;
