//! Why a task brought its scope down.

use std::any::Any;
use std::borrow::Cow;

/// Any error a task may end with.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// A task that did not end as it should.
#[derive(Debug, thiserror::Error)]
pub enum TaskFailed {
    /// The task returned an error.
    #[error("task {task} failed")]
    Failed {
        /// The name of the task.
        task: Cow<'static, str>,
        /// Its error.
        source: BoxError,
    },
    /// The task panicked.
    #[error("task {task} panicked: {message}")]
    Panicked {
        /// The name of the task.
        task: Cow<'static, str>,
        /// The text of the panic.
        message: String,
    },
    /// The task ended although nothing had asked it to.
    #[error("task {task} ended before shutdown")]
    EndedEarly {
        /// The name of the task.
        task: Cow<'static, str>,
    },
    /// Tasks ran on after the grace period and were aborted.
    #[error("still running after shutdown and aborted: {}", tasks.join(", "))]
    Stuck {
        /// The names of the tasks.
        tasks: Vec<String>,
    },
}

// === impl TaskFailed ===

impl TaskFailed {
    pub(super) fn panicked(task: Cow<'static, str>, payload: &(dyn Any + Send)) -> Self {
        let message = match (payload.downcast_ref::<&str>(), payload.downcast_ref::<String>()) {
            (Some(text), _) => (*text).to_owned(),
            (None, Some(text)) => text.clone(),
            (None, None) => "no message".to_owned(),
        };
        Self::Panicked { task, message }
    }
}
