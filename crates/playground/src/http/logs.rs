//! Logs of containers.

use futures::stream::BoxStream;
use serde_json::Value;

/// Where the logs of containers come from.
pub trait LogSource: Send + Sync + 'static {
    /// The lines of a container up to now, the oldest first.
    fn lines(&self, pod: &Value, container: &str, run: Run) -> Vec<LogLine>;

    /// The lines from now on, until the container ends.
    fn follow(&self, pod: &Value, container: &str) -> BoxStream<'static, LogLine>;
}

/// Which run of a container.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Run {
    Current,
    /// The one before the last restart.
    Previous,
}

/// A line without its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogLine {
    pub time: jiff::Timestamp,
    pub text: String,
}
