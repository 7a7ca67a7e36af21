//! Tasks that hubs left behind, this one's earlier life among them.

use std::{convert::Infallible, sync::Arc, time::Duration};

use spindrift_process::report;
use tokio::time::interval;
use tracing::{info, warn};

use super::Shared;
use crate::store::StoreError;

/// How often it is looked for them.
const LOOK_AROUND: Duration = Duration::from_secs(5);

/// Takes up what nobody is at work on, and leaves all to others when the hub stops.
pub(super) async fn run(shared: Arc<Shared>) -> Result<(), Infallible> {
    let token = shared.group.token();
    let mut interval = interval(LOOK_AROUND);
    while token.run_until_cancelled(interval.tick()).await.is_some() {
        if let Err(error) = look_around(&shared).await {
            warn!(error = %report(&error), "tasks that were left behind were not looked for");
        }
    }
    // Others need not wait until they think that this hub is dead.
    if let Err(error) = shared.store.release_tasks(&shared.config.tenant, &shared.config.hub).await {
        warn!(error = %report(&error), "tasks were not left to other hubs");
    }
    Ok(())
}

async fn look_around(shared: &Arc<Shared>) -> Result<(), StoreError> {
    let config = &shared.config;
    shared.store.adopt_tasks(&config.tenant, &config.hub, &shared.owner, config.silence).await?;
    for row in shared.store.open_tasks(&config.tenant, Some(&config.hub)).await? {
        if let Some(at_work) = shared.at_work(row.id, row.attempt) {
            info!(task = %row.id, attempt = row.attempt, "a task that was left behind is taken up");
            shared.run(at_work, None);
        }
    }
    Ok(())
}
