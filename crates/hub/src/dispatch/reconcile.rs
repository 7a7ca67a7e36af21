//! What other hubs hand over, and what hubs left behind that died, this one's earlier life among them.

use std::{convert::Infallible, sync::Arc, time::Duration};

use spindrift_model::{OperationId, Verb};
use spindrift_process::report;
use spindrift_protocol::ResultsDown;
use tokio::{sync::mpsc, time::Instant};
use tracing::{info, warn};

use super::{
    Shared,
    driver::{Driver, Stage, Task},
    running::{Arrival, Entry},
};
use crate::store::{OperationRow, OperationState, StoreError};

/// How soon an operation is taken up that another hub hands over.
const NEXT: Duration = Duration::from_millis(100);

/// How often it is looked whether there are other hubs, and what those left that have died.
const LOOK_AROUND: Duration = Duration::from_secs(5);

/// Looks for operations that are this hub's to carry on.
pub(super) struct Reconciler {
    shared: Arc<Shared>,
    /// Whether other hubs share the store: then it is looked often.
    company: bool,
}

// === impl Reconciler ===

impl Reconciler {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self { shared, company: false }
    }

    pub(super) async fn run(mut self) -> Result<(), Infallible> {
        let token = self.shared.tasks.token();
        let mut looked_around: Option<Instant> = None;
        loop {
            if looked_around.is_none_or(|at| at.elapsed() >= LOOK_AROUND) {
                looked_around = Some(Instant::now());
                if let Err(error) = self.look_around().await {
                    warn!(error = %report(&error), "operations of other hubs were not looked for");
                }
            }
            if let Err(error) = self.take_up().await {
                warn!(error = %report(&error), "operations that wait for this hub were not read");
            }
            let pause = if self.company { NEXT } else { LOOK_AROUND };
            if token.run_until_cancelled(tokio::time::sleep(pause)).await.is_none() {
                return Ok(());
            }
        }
    }

    async fn look_around(&mut self) -> Result<(), StoreError> {
        let config = &self.shared.config;
        let hubs = self.shared.store.hubs(config.silence).await?;
        self.company = hubs.iter().any(|hub| hub.id != config.hub);
        let taken = self.shared.store.adopt_operations(&config.tenant, &config.hub, config.silence).await?;
        if taken > 0 {
            info!(operations = taken, "operations of a hub that is gone were taken over");
        }
        Ok(())
    }

    /// Carries on what is this hub's, and calls off what others asked to be called off.
    pub(super) async fn take_up(&self) -> Result<(), StoreError> {
        let config = &self.shared.config;
        for row in self.shared.store.open_operations(&config.tenant, &config.hub).await? {
            // In this order: it is driven before it is no longer being submitted.
            let submitting = self.shared.submitting.lock().contains(&row.id);
            match self.shared.entry(row.id) {
                Some(entry) if row.cancelling => entry.cancel.cancel(),
                Some(_) => {}
                None if submitting => {}
                None => drop(self.shared.adopt(row.id)),
            }
        }
        Ok(())
    }
}

/// Carries on an operation that this hub did not take on itself, if the store knows it and it has not ended.
pub(super) async fn adopt(
    shared: Arc<Shared>,
    entry: Arc<Entry>,
    mut arrivals_rx: mpsc::UnboundedReceiver<Arrival>,
) -> Result<(), Infallible> {
    match shared.store.operation(&shared.config.tenant, entry.id).await {
        Ok(Some(row)) if row.ended_at.is_none() || row.state == OperationState::Unknown => {
            if row.cancelling {
                entry.cancel.cancel();
            }
            let (events_tx, _) = mpsc::unbounded_channel();
            let deadline = Instant::now() + row.time_left();
            let sent = row.sent.as_ref().map(|(_, _, seat)| seat.clone());
            let stage = if sent.is_some() { Stage::Waiting(None) } else { Stage::Seeking };
            let channels = (arrivals_rx, events_tx);
            let driver = Driver::new(Arc::clone(&shared), entry, Task::of(&row), deadline, channels);
            let driver = driver.with_sent(sent).with_reader_elsewhere(row.received_by != shared.config.hub);
            return driver.with_doubt(row.state == OperationState::Unknown).run(stage).await;
        }
        // What has ended is of no interest any more, and what was never known neither: the agent may forget it.
        Ok(_) => {
            shared.open.lock().remove(&entry.id);
            while let Ok(Arrival { part, down_tx, .. }) = arrivals_rx.try_recv() {
                down_tx.send(ResultsDown::Done(part.operation)).ok();
            }
        }
        // The agent sends it again in its next session.
        Err(error) => {
            shared.open.lock().remove(&entry.id);
            warn!(operation = %entry.id, error = %report(&error), "an operation could not be looked up");
        }
    }
    Ok(())
}

// === impl Task ===

impl Task {
    fn of(row: &OperationRow) -> Self {
        let verb = Verb::NAMES.into_iter().find(|name| *name == row.verb).unwrap_or("unknown");
        let OperationRow { id, account, target, mutation, .. } = row;
        let (id, account): (OperationId, _) = (*id, account.clone());
        Self { id, account, verb, target: target.clone(), mutation: *mutation }
    }
}
