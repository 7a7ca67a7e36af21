//! The sessions whose channels end at this hub.

use std::{
    collections::HashMap,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
};

use parking_lot::Mutex;
use spindrift_model::{AgentId, Incarnation, SessionId};
use spindrift_process::shutdown::{Shutdown, TaskGroup};

use crate::store::SessionInfo;

/// The task groups of live sessions; a session's channels end together.
#[derive(Debug, Clone)]
pub struct Sessions {
    shutdown: Shutdown,
    live: Arc<Mutex<HashMap<SessionId, Arc<LiveSession>>>>,
}

/// One live session.
#[derive(Debug)]
pub(crate) struct LiveSession {
    agent: AgentId,
    incarnation: Incarnation,
    tasks: TaskGroup,
    /// Reason of its end, if the hub ends it.
    end_reason: OnceLock<String>,
    /// Set once the Control channel was opened at this hub.
    has_control: AtomicBool,
    /// Set once the session is watched for its liveness.
    is_watched: AtomicBool,
}

// === impl Sessions ===

impl Sessions {
    /// No sessions yet; all end with the process.
    pub fn new(shutdown: Shutdown) -> Self {
        Self { shutdown, live: Arc::default() }
    }

    /// The tasks of a session, which begins with its first channel.
    pub(crate) fn join(&self, session: &SessionId, info: &SessionInfo) -> Arc<LiveSession> {
        let agent = &info.agent;
        let mut live = self.live.lock();
        // Sessions that have ended leave with the next one that comes.
        live.retain(|_, live| !live.tasks.token().is_cancelled());
        live.entry(session.clone())
            .or_insert_with(|| {
                let tasks = self.shutdown.group(format!("session {session} of {agent}"));
                Arc::new(LiveSession {
                    agent: agent.clone(),
                    incarnation: info.incarnation,
                    tasks,
                    end_reason: OnceLock::new(),
                    has_control: AtomicBool::new(false),
                    is_watched: AtomicBool::new(false),
                })
            })
            .clone()
    }

    /// Ends the older sessions of an agent that has registered again: a new session always wins. Another process that
    /// still runs receives the reason.
    pub(crate) fn supersede(&self, agent: &AgentId, by: Incarnation) {
        self.end(|live| {
            if live.agent == *agent && live.incarnation != by {
                live.end_reason.get_or_init(|| replaced(agent));
            }
            live.agent == *agent
        });
    }

    /// Ends all sessions of an agent; whether there were any.
    pub fn disconnect(&self, agent: &AgentId) -> bool {
        self.end(|live| live.agent == *agent)
    }

    fn end(&self, which: impl Fn(&LiveSession) -> bool) -> bool {
        let mut live = self.live.lock();
        let before = live.len();
        live.retain(|_, session| {
            let ends = which(session);
            if ends {
                session.tasks.cancel();
            }
            !ends
        });
        live.len() < before
    }
}

/// Message to a process whose session was replaced.
pub(crate) fn replaced(agent: &AgentId) -> String {
    format!(
        "another process has registered as agent {agent}; agents need different names, which HOSTNAME sets"
    )
}

// === impl LiveSession ===

impl LiveSession {
    /// The group that the session's channels run in.
    pub(crate) fn tasks(&self) -> &TaskGroup {
        &self.tasks
    }

    /// Reason for which the hub ends the session.
    pub(crate) fn end_reason(&self) -> &str {
        self.end_reason.get().map_or("the hub ends this session", String::as_str)
    }

    /// Records that the Control channel is at this hub: it ends the session when pings stop.
    pub(crate) fn control_opened(&self) {
        self.has_control.store(true, Ordering::Release);
    }

    pub(crate) fn has_control(&self) -> bool {
        self.has_control.load(Ordering::Acquire)
    }

    /// Whether the caller has to watch the liveness of the session: it is the first, and there is no Control channel.
    pub(crate) fn needs_watching(&self) -> bool {
        !self.has_control() && !self.is_watched.swap(true, Ordering::AcqRel)
    }
}
