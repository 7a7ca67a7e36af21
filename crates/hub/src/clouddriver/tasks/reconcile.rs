//! Resumes tasks of hubs that are gone, and of this hub's earlier incarnation.

use std::{convert::Infallible, sync::Arc, time::Duration};

use spindrift_process::report;
use tokio::time::interval;
use tracing::{info, warn};

use super::TasksShared;
use crate::store::StoreError;

/// Interval between two passes.
const INTERVAL: Duration = Duration::from_secs(5);

/// Resumes tasks that no hub runs. On shutdown, releases this hub's tasks to the others.
pub(super) async fn run(shared: Arc<TasksShared>) -> Result<(), Infallible> {
    let token = shared.group.token();
    let mut interval = interval(INTERVAL);
    while token.run_until_cancelled(interval.tick()).await.is_some() {
        if let Err(error) = resume_abandoned(&shared).await {
            warn!(error = %report(&error), "abandoned tasks could not be read");
        }
    }
    // So that other hubs need not wait until this one counts as gone.
    if let Err(error) = shared.store.release_tasks(&shared.config.tenant, &shared.config.hub).await {
        warn!(error = %report(&error), "tasks could not be released to other hubs");
    }
    Ok(())
}

async fn resume_abandoned(shared: &Arc<TasksShared>) -> Result<(), StoreError> {
    let config = &shared.config;
    shared.store.adopt_tasks(&config.tenant, &config.hub, &shared.owner, config.silence).await?;
    for row in shared.store.open_tasks(&config.tenant, Some(&config.hub)).await? {
        if let Some(attempt) = shared.register(row.id, row.attempt) {
            info!(task = %row.id, attempt = row.attempt, "resuming an abandoned task");
            shared.run(attempt, None);
        }
    }
    Ok(())
}
