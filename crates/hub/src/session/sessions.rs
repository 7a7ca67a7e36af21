//! The sessions whose channels end at this hub.

use std::{collections::HashMap, sync::Arc};

use parking_lot::Mutex;
use spindrift_model::{AgentId, SessionId};
use spindrift_process::shutdown::{Shutdown, TaskGroup};

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
    tasks: TaskGroup,
}

// === impl Sessions ===

impl Sessions {
    /// No sessions yet; all end with the process.
    pub fn new(shutdown: Shutdown) -> Self {
        Self { shutdown, live: Arc::default() }
    }

    /// The tasks of a session, which begins with its first channel.
    pub(crate) fn join(&self, session: &SessionId, agent: &AgentId) -> Arc<LiveSession> {
        let mut live = self.live.lock();
        // Sessions that have ended leave with the next one that comes.
        live.retain(|_, live| !live.tasks.token().is_cancelled());
        live.entry(session.clone())
            .or_insert_with(|| {
                let tasks = self.shutdown.group(format!("session {session} of {agent}"));
                Arc::new(LiveSession { agent: agent.clone(), tasks })
            })
            .clone()
    }

    /// Ends the older sessions of an agent that has registered again: a new session always wins.
    pub(crate) fn supersede(&self, agent: &AgentId) {
        self.end(|live| live.agent == *agent);
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

// === impl LiveSession ===

impl LiveSession {
    /// The group that the session's channels run in.
    pub(crate) fn tasks(&self) -> &TaskGroup {
        &self.tasks
    }
}
