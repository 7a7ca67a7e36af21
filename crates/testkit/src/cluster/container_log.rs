//! Logs of containers, stored as a container runtime does.
//!
//! kwok serves these files with the code of a kubelet, so that `tailLines`, `sinceSeconds`, `previous`, `follow` and
//! all others have the meaning of a real node.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

/// The log of all containers, or of those of one name.
#[derive(Clone, Debug, Default)]
pub struct ContainerLog {
    container: Option<String>,
    text: String,
    previous: Option<String>,
    begin: Option<Timestamp>,
}

/// The logs of a cluster, as files.
pub(super) struct LogFiles {
    directory: PathBuf,
    /// The containers that have a log of their own.
    containers: Vec<String>,
}

/// The log of those that have none of their own.
const EVERY: &str = "every";

// === impl ContainerLog ===

impl ContainerLog {
    /// Every container has written this, but for those that have a log of their own.
    pub fn of_every(text: &str) -> Self {
        Self { text: text.to_owned(), ..Self::default() }
    }

    /// Containers of this name have written that.
    pub fn of(container: &str, text: &str) -> Self {
        Self { container: Some(container.to_owned()), ..Self::of_every(text) }
    }

    /// The run before this one has written something, too; without it there was none.
    #[must_use]
    pub fn previous(mut self, text: &str) -> Self {
        self.previous = Some(text.to_owned());
        self
    }

    /// Sets the time of the first line; each one after it was written a second later. Without it, all of them are
    /// written when the cluster starts.
    #[must_use]
    pub fn from(mut self, begin: Timestamp) -> Self {
        self.begin = Some(begin);
        self
    }

    fn name(&self) -> &str {
        self.container.as_deref().unwrap_or(EVERY)
    }

    fn render(&self, text: &str) -> String {
        let mut lines = String::new();
        for (second, line) in (0..).zip(text.lines()) {
            let time =
                self.begin.map_or_else(Timestamp::now, |begin| begin + SignedDuration::from_secs(second));
            push(&mut lines, time, line);
        }
        lines
    }
}

// === impl LogFiles ===

impl LogFiles {
    /// Writes the files into a directory.
    pub(super) fn write(directory: &Path, logs: &[ContainerLog]) -> anyhow::Result<Self> {
        let mut files = Self { directory: directory.to_owned(), containers: Vec::new() };
        fs::create_dir_all(directory).context("create the directory of logs")?;
        // There is always one that fits.
        fs::write(files.path(EVERY), "").context("write a container's log")?;
        for log in logs {
            fs::write(files.path(log.name()), log.render(&log.text)).context("write a container's log")?;
            if let Some(previous) = &log.previous {
                fs::write(files.previous(log.name()), log.render(previous))
                    .context("write a container's previous log")?;
            }
            files.containers.extend(log.container.clone());
        }
        Ok(files)
    }

    /// kwok's configuration of the logs: JSON, which is YAML, too.
    pub(super) fn configuration(&self) -> Value {
        let entry = |container: Option<&String>| {
            let name = container.map_or(EVERY, String::as_str);
            let mut entry = json!({ "logsFile": self.path(name) });
            if let Some(container) = container {
                entry["containers"] = json!([container]);
            }
            let previous = self.previous(name);
            if previous.exists() {
                entry["previousLogsFile"] = json!(previous);
            }
            entry
        };
        let entries: Vec<_> = self.containers.iter().map(Some).chain([None]).map(entry).collect();
        json!({
            "apiVersion": "kwok.x-k8s.io/v1alpha1",
            "kind": "ClusterLogs",
            "metadata": { "name": "logs" },
            "spec": { "logs": entries },
        })
    }

    /// Adds a line, which those who follow see at once.
    pub(super) fn append(&self, container: &str, line: &str) -> anyhow::Result<()> {
        ensure!(!line.contains('\n'), "a line of a log has no line feed in it: {line:?}");
        let has_own = self.containers.iter().any(|own| own == container);
        let path = self.path(if has_own { container } else { EVERY });
        let mut text = String::new();
        push(&mut text, Timestamp::now(), line);
        let mut file = File::options().append(true).open(&path).context("open a container's log")?;
        // In one piece, since a client may be reading.
        file.write_all(text.as_bytes()).context("write a line of a container's log")
    }

    fn path(&self, name: &str) -> PathBuf {
        // No container's name has a dot in it.
        self.directory.join(format!("{name}.log"))
    }

    fn previous(&self, name: &str) -> PathBuf {
        self.directory.join(format!("{name}.previous.log"))
    }
}

/// A line in the format of the container runtime interface.
fn push(lines: &mut String, time: Timestamp, line: &str) {
    writeln!(lines, "{time:.9} stdout F {line}").expect("strings take everything");
}
