//! One watch engine per attached account.

use std::sync::Arc;

use spindrift_model::AccountName;
use spindrift_process::supervisor::{Panicked, Supervisor, TaskEvent};
use tokio::sync::mpsc;
use tracing::error;

use super::{Engine, EngineOptions};
use crate::{metrics::Metrics, status::AgentStatus, uplink::AttachedAccount};

/// Watches every account that is attached, until its attachment ends. Returns when the uplink has stopped.
pub async fn run(
    mut attached_rx: mpsc::Receiver<AttachedAccount>,
    status: AgentStatus,
    metrics: Arc<Metrics>,
) -> anyhow::Result<()> {
    // An account may be attached again before the engine of the attachment before has ended, so names alone are no keys.
    let mut engines: Supervisor<(AccountName, u64), ()> = Supervisor::new();
    let mut attachments = 0;
    loop {
        tokio::select! {
            biased;
            event = engines.next() => {
                // The uplink sees the end of the watches and attaches the account again, so this engine is not restarted.
                if let TaskEvent::Panicked(Panicked { key, message, .. }) = event {
                    error!(account = %key.0, error = message, "watch engine panicked");
                    engines.stop(&key).await;
                }
            }
            attached = attached_rx.recv() => {
                let Some(attached) = attached else { return Ok(()) };
                let AttachedAccount { account, wanted, resume_points, flow, detached, watching } = attached;
                attachments += 1;
                let key = (account.description.name.clone(), attachments);
                let options = EngineOptions { account, wanted, resume_points, flow };
                let engine = Engine::new(options, status.clone(), metrics.clone());
                engines.start(key, async move {
                    // Dropped after the engine and all its watches, also after a panic.
                    let _watching = watching;
                    detached.run_until_cancelled(Box::pin(engine.run())).await;
                });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use prometheus_client::registry::Registry;
    use tokio::time::timeout;
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::{
        testing::account,
        uplink::{Credit, FlowControl, FlowOptions, UsageGauges, WantedObjects},
    };

    #[tokio::test]
    async fn an_engine_runs_until_its_account_is_detached_and_all_end_with_the_uplink() {
        let status = AgentStatus::default();
        let metrics = Arc::new(Metrics::register(&mut Registry::default(), status.clone()));
        let (attached_tx, attached_rx) = mpsc::channel(1);
        let engines = run(attached_rx, status, metrics.clone());
        let account = Arc::new(account("main").await);
        let attach = || {
            let (detached, stopped) = (CancellationToken::new(), CancellationToken::new());
            let send_budget = Credit::new(1000, UsageGauges::default());
            let metrics = metrics.clone();
            let options = FlowOptions { credit_bytes: 1000, fingerprints: false, send_budget, metrics };
            let attached = AttachedAccount {
                account: account.clone(),
                wanted: WantedObjects::default(),
                resume_points: Vec::new(),
                flow: FlowControl::new(options).0,
                detached: detached.clone(),
                watching: stopped.clone().drop_guard(),
            };
            (attached, detached, stopped)
        };
        let attaching = async {
            let (first, detached, stopped) = attach();
            attached_tx.send(first).await.unwrap();
            let (second, _kept, second_stopped) = attach();
            attached_tx.send(second).await.unwrap();
            let still = timeout(Duration::from_millis(50), stopped.cancelled()).await;
            assert!(still.is_err(), "it is attached");
            detached.cancel();
            stopped.cancelled().await;
            assert!(!second_stopped.is_cancelled(), "the other attachment continues");
            drop(attached_tx);
            second_stopped
        };
        let (ended, second_stopped) = tokio::join!(engines, attaching);
        ended.unwrap();
        second_stopped.cancelled().await;
    }
}
