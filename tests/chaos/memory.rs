//! No agent exceeds its memory limit under any fault.

use std::{sync::Arc, time::Duration};

use parking_lot::Mutex;
use tokio::{task::JoinSet, time::sleep};

use crate::world::World;

/// Megabytes. Objects of up to a megabyte and a half are under way, several at once; a debug build is itself large (44 MB
/// in twenty minutes were the most).
const BOUND: f64 = if cfg!(debug_assertions) { 64.0 } else { 40.0 };

/// The kernel keeps the peak of each process, so that it is enough to ask before the process ends.
const PAUSE: Duration = Duration::from_millis(50);

/// The most that an agent ever held, over all its lives.
#[derive(Debug, Clone)]
pub(crate) struct Peak {
    pub(crate) agent: String,
    pub(crate) megabytes: f64,
    pub(crate) bound: f64,
}

pub(crate) struct MemoryWatch {
    peaks: Arc<Mutex<Vec<Peak>>>,
    _task: JoinSet<()>,
}

// === impl MemoryWatch ===

impl MemoryWatch {
    pub(crate) fn start(world: &Arc<World>) -> Self {
        let peak = |stack: &crate::world::Stack| Peak {
            agent: format!("agent-{}", stack.name),
            megabytes: 0.0,
            bound: BOUND,
        };
        let peaks = Arc::new(Mutex::new(world.stacks.iter().map(peak).collect::<Vec<_>>()));
        let mut task = JoinSet::new();
        task.spawn(watch(Arc::clone(world), Arc::clone(&peaks)));
        Self { peaks, _task: task }
    }

    pub(crate) fn peaks(&self) -> Vec<Peak> {
        self.peaks.lock().clone()
    }

    pub(crate) fn check(&self) {
        for Peak { agent, megabytes, bound } in self.peaks() {
            assert!(megabytes <= bound, "{agent} held {megabytes:.1} MB, more than {bound}");
        }
    }
}

async fn watch(world: Arc<World>, peaks: Arc<Mutex<Vec<Peak>>>) {
    loop {
        for (number, stack) in world.stacks.iter().enumerate() {
            // The holder of the lock is killing or freezing the agent.
            let Ok(agent) = stack.agent.try_lock() else { continue };
            let Ok(bytes) = agent.daemon().peak_rss_bytes() else { continue };
            let megabytes = f64::from(u32::try_from(bytes / 1000).unwrap_or(u32::MAX)) / 1000.0;
            let peak = &mut peaks.lock()[number].megabytes;
            *peak = peak.max(megabytes);
        }
        sleep(PAUSE).await;
    }
}
