//! Operations that other hubs hand over, and those of hubs that are gone, or of this one before its restart.

use std::{convert::Infallible, sync::Arc, time::Duration};

use spindrift_model::{OperationId, Verb};
use spindrift_process::report;
use spindrift_protocol::ResultsDown;
use tokio::{
    sync::{OwnedSemaphorePermit, mpsc},
    time::Instant,
};
use tracing::{info, warn};

use super::{
    Shared,
    delivery::{Delivery, OperationSummary, Stage},
    running::{Arrival, OpenOperation},
};
use crate::store::{OperationRow, OperationState, StoreError};

/// Interval at which operations are adopted that other hubs hand over.
const NEXT: Duration = Duration::from_millis(100);

/// Interval at which other hubs, and operations of those that are gone, are looked for.
const LOOK_AROUND: Duration = Duration::from_secs(5);

/// Looks for operations that this hub has to deliver.
pub(super) struct Reconciler {
    shared: Arc<Shared>,
    /// Set if other hubs share the store: then it looks often.
    has_peers: bool,
}

// === impl Reconciler ===

impl Reconciler {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self { shared, has_peers: false }
    }

    pub(super) async fn run(mut self) -> Result<(), Infallible> {
        let token = self.shared.tasks.token();
        let mut looked_around: Option<Instant> = None;
        loop {
            if looked_around.is_none_or(|at| at.elapsed() >= LOOK_AROUND) {
                looked_around = Some(Instant::now());
                if let Err(error) = self.look_around().await {
                    warn!(error = %report(&error), "operations of other hubs could not be read");
                }
            }
            if let Err(error) = self.take_up().await {
                warn!(error = %report(&error), "operations of this hub could not be read");
            }
            let pause = if self.has_peers { NEXT } else { LOOK_AROUND };
            if token.run_until_cancelled(tokio::time::sleep(pause)).await.is_none() {
                return Ok(());
            }
        }
    }

    async fn look_around(&mut self) -> Result<(), StoreError> {
        let config = &self.shared.config;
        let hubs = self.shared.store.hubs(config.silence).await?;
        self.has_peers = hubs.iter().any(|hub| hub.id != config.hub);
        let taken = self.shared.store.adopt_operations(&config.tenant, &config.hub, config.silence).await?;
        if taken > 0 {
            info!(operations = taken, "adopted operations of a hub that is gone");
        }
        Ok(())
    }

    /// Delivers the operations of this hub, and cancels those that were cancelled at another one.
    pub(super) async fn take_up(&self) -> Result<(), StoreError> {
        let config = &self.shared.config;
        for row in self.shared.store.open_operations(&config.tenant, &config.hub).await? {
            // In this order: its delivery starts before it is no longer being submitted.
            let submitting = self.shared.submitting.lock().contains(&row.id);
            match self.shared.entry(row.id) {
                Some(entry) if row.cancelling => entry.cancel.cancel(),
                Some(_) => {}
                None if submitting => {}
                None => drop(self.shared.adopt(row.id, None)),
            }
        }
        Ok(())
    }
}

/// Delivers an operation that this hub did not accept itself, if the store has it and it has not ended.
pub(super) async fn adopt(
    shared: Arc<Shared>,
    entry: Arc<OpenOperation>,
    mut arrivals_rx: mpsc::UnboundedReceiver<Arrival>,
    permit: Option<OwnedSemaphorePermit>,
) -> Result<(), Infallible> {
    let found = shared.store.operation(&shared.config.tenant, entry.id).await;
    drop(permit);
    match found {
        Ok(Some(row)) if row.ended_at.is_none() || row.state == OperationState::Unknown => {
            if row.cancelling {
                entry.cancel.cancel();
            }
            let (events_tx, _) = mpsc::unbounded_channel();
            let deadline = Instant::now() + row.time_left();
            let sent = row.sent.as_ref().map(|(_, _, seat)| seat.clone());
            let stage = if sent.is_some() { Stage::Waiting(None) } else { Stage::Seeking };
            let channels = (arrivals_rx, events_tx);
            let delivery =
                Delivery::new(Arc::clone(&shared), entry, OperationSummary::of_row(&row), deadline, channels);
            let delivery =
                delivery.with_sent(sent).with_reader_elsewhere(row.received_by != shared.config.hub);
            return delivery.with_unknown(row.state == OperationState::Unknown).run(stage).await;
        }
        // It has ended, or the store never had it: the agent may drop it.
        Ok(_) => {
            shared.open.lock().remove(&entry.id);
            while let Ok(Arrival { part, down_tx, .. }) = arrivals_rx.try_recv() {
                down_tx.send(ResultsDown::Done(part.operation)).ok();
            }
        }
        // The agent sends it again in its next session.
        Err(error) => {
            shared.open.lock().remove(&entry.id);
            warn!(operation = %entry.id, error = %report(&error), "an operation could not be read");
        }
    }
    Ok(())
}

// === impl OperationSummary ===

impl OperationSummary {
    fn of_row(row: &OperationRow) -> Self {
        let verb = Verb::NAMES.into_iter().find(|name| *name == row.verb).unwrap_or("unknown");
        let OperationRow { id, account, target, mutation, .. } = row;
        let (id, account): (OperationId, _) = (*id, account.clone());
        // The reader of a stream was connected to the previous hub, so no stream is taken over.
        Self { id, account, verb, target: target.clone(), mutation: *mutation, is_stream: false }
    }
}
