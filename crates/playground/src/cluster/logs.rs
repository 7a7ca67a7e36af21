//! Source of container logs, which the log subresource reads.

use futures::stream::BoxStream;
use jiff::Timestamp;
use serde_json::Value;

/// Source of container logs.
pub trait LogSource: Send + Sync + 'static {
    /// Lines of a container up to now, oldest first.
    fn lines(&self, pod: &Value, container: &str, run: ContainerRun) -> Vec<LogLine>;

    /// Lines from now on, until the container ends.
    fn follow(&self, pod: &Value, container: &str) -> BoxStream<'static, LogLine>;
}

/// Run of a container.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContainerRun {
    Current,
    /// The run before the last restart.
    Previous,
}

/// One log line, without its line end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogLine {
    pub time: Timestamp,
    pub text: String,
}
