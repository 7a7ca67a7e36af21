//! Metrics of the hub.

mod database;

use prometheus_client::{
    metrics::{counter::Counter, family::Family, gauge::Gauge, histogram::Histogram},
    registry::{Registry, Unit},
};
use serde::Deserialize;
use spindrift_model::{Ending, FailedState, Outcome};

use tracing::warn;

pub use database::DatabaseConnections;

use crate::{
    ingest::AccountLags,
    store::{AccountWrite, UnreadableObject},
};

/// The hub's own counters. Labels are from small sets; names of accounts are labels of two series, up to a bound.
#[derive(Debug)]
pub struct Metrics {
    /// Control channels that are open.
    pub sessions: Gauge,
    /// Accounts that are attached to this hub.
    pub attachments: Gauge,
    /// Accounts that a connected agent is configured for and cannot serve.
    pub unavailable_accounts: Gauge,
    /// Registrations that were accepted.
    pub registrations: Counter,
    /// Registrations and channels that were refused.
    pub refusals: Counter,
    /// Batches that were committed.
    pub batches_committed: Counter,
    /// Batches of an attachment that was over.
    pub batches_stale: Counter,
    /// Batches that broke the protocol's rules.
    pub violations: Counter,
    /// Objects written, changed or not.
    pub objects_upserted: Counter,
    /// Objects deleted one by one.
    pub objects_deleted: Counter,
    /// Objects that the store would not take.
    pub objects_rejected: Counter,
    /// Bytes of object bodies handed to the store.
    pub bytes_committed: Counter,
    /// Transactions that were tried again.
    pub commit_retries: Counter,
    /// Durations of commits of batches, attempts that failed included.
    pub commit_time: Histogram,
    /// Times of the attached accounts.
    pub account_lags: AccountLags,
    /// Durations until the head of a response, by method and route.
    pub request_time: Family<[(&'static str, String); 2], Histogram>,
    /// Accounts in one transaction.
    pub commit_group_accounts: Histogram,
    /// Readers of the change feed.
    pub watchers: Gauge,
    /// Bytes that readers of REST may hold now, of those reserved for all of them.
    pub read_buffer_bytes: Gauge,
    /// Readers of REST that were disconnected because they took nothing for too long.
    pub slow_readers: Counter,
    /// Stored objects that could not be read, counted at each attempt.
    pub objects_unreadable: Counter,
    /// Operations that ended, by verb and outcome.
    pub operations: Family<[(&'static str, &'static str); 2], Counter>,
    /// Their durations, by result: the outcome, or the reason of a refusal.
    pub process_time: Family<[(&'static str, String); 1], Histogram>,
    /// Longest `result` that is shown (`kubesvc.ops.processTime.metric.result.maxLength`).
    longest_result: usize,
}

/// From a call on a warm connection to a deletion that waits.
const PROCESS_TIMES: [f64; 10] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 2.5, 10.0, 30.0];

/// From a small batch on a local disk to a database that hardly answers.
const COMMIT_TIMES: [f64; 10] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 2.5, 10.0];

/// Kubernetes has few reasons; a text of another form comes from a proxy, and could be anything.
fn reason_of(status: &[u8]) -> String {
    #[derive(Deserialize)]
    struct Status {
        reason: String,
    }
    let reason = serde_json::from_slice(status).map(|Status { reason }| reason).unwrap_or_default();
    let fits =
        !reason.is_empty() && reason.len() <= 64 && reason.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if fits { reason } else { "failed".to_owned() }
}

// === impl Metrics ===

impl Metrics {
    /// Registers the hub's metrics as `spindrift_hub_…`.
    pub fn register(registry: &mut Registry, longest_result: usize) -> Self {
        let group_sizes = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0];
        let metrics = Self {
            sessions: Gauge::default(),
            attachments: Gauge::default(),
            unavailable_accounts: Gauge::default(),
            registrations: Counter::default(),
            refusals: Counter::default(),
            batches_committed: Counter::default(),
            batches_stale: Counter::default(),
            violations: Counter::default(),
            objects_upserted: Counter::default(),
            objects_deleted: Counter::default(),
            objects_rejected: Counter::default(),
            bytes_committed: Counter::default(),
            commit_retries: Counter::default(),
            commit_time: Histogram::new(COMMIT_TIMES),
            account_lags: AccountLags::default(),
            request_time: Family::new_with_constructor(|| Histogram::new(PROCESS_TIMES)),
            commit_group_accounts: Histogram::new(group_sizes),
            watchers: Gauge::default(),
            read_buffer_bytes: Gauge::default(),
            slow_readers: Counter::default(),
            objects_unreadable: Counter::default(),
            operations: Family::default(),
            process_time: Family::new_with_constructor(|| Histogram::new(PROCESS_TIMES)),
            longest_result,
        };
        // As the original's timer `kubesvc.ops.processTime` is scraped.
        let help = "How long operations took";
        registry.register_with_unit(
            "kubesvc_ops_processTime",
            help,
            Unit::Seconds,
            metrics.process_time.clone(),
        );
        registry.register_collector(Box::new(metrics.account_lags.clone()));
        let registry = registry.sub_registry_with_prefix("spindrift_hub");
        let gauges = [
            ("sessions", "Agents with an open Control channel", &metrics.sessions),
            ("attachments", "Accounts attached to this hub", &metrics.attachments),
            (
                "unavailable_accounts",
                "Accounts that a connected agent is configured for and cannot serve, of all hubs on this store",
                &metrics.unavailable_accounts,
            ),
            ("watchers", "Readers of the change feed", &metrics.watchers),
            ("read_buffer_bytes", "Bytes reserved for readers of REST", &metrics.read_buffer_bytes),
        ];
        for (name, help, gauge) in gauges {
            registry.register(name, help, gauge.clone());
        }
        let counters = [
            ("registrations", "Registrations accepted", &metrics.registrations),
            ("refusals", "Registrations and channels refused", &metrics.refusals),
            ("batches_committed", "Batches committed", &metrics.batches_committed),
            ("batches_stale", "Batches of an attachment that was over", &metrics.batches_stale),
            ("violations", "Batches that broke the rules of the protocol", &metrics.violations),
            ("objects_upserted", "Objects handed to the store", &metrics.objects_upserted),
            ("objects_deleted", "Objects deleted", &metrics.objects_deleted),
            ("objects_rejected", "Objects that the store would not take", &metrics.objects_rejected),
            ("committed_bytes", "Bytes of object bodies handed to the store", &metrics.bytes_committed),
            ("commit_retries", "Transactions tried again", &metrics.commit_retries),
            ("slow_readers", "Readers disconnected because they were too slow", &metrics.slow_readers),
            ("objects_unreadable", "Stored objects that could not be read", &metrics.objects_unreadable),
        ];
        for (name, help, counter) in counters {
            registry.register(name, help, counter.clone());
        }
        registry.register(
            "commit_group_accounts",
            "Accounts in one transaction",
            metrics.commit_group_accounts.clone(),
        );
        registry.register("operations", "Operations that ended", metrics.operations.clone());
        let help = "Durations of commits of batches, failed attempts included";
        registry.register_with_unit("commit", help, Unit::Seconds, metrics.commit_time.clone());
        let help = "Durations until the head of a response";
        registry.register_with_unit("rest_request", help, Unit::Seconds, metrics.request_time.clone());
        metrics
    }

    /// Counts a transaction over this many accounts.
    pub(crate) fn group(&self, accounts: usize) {
        self.commit_group_accounts.observe(u32::try_from(accounts).unwrap_or(u32::MAX).into());
    }

    /// Counts an operation that ended. A stream such as `logs -f` lasts as long as its reader wants, so its duration is not
    /// one of processing.
    pub(crate) fn operation(&self, verb: &'static str, is_stream: bool, ending: &Ending) {
        self.operations.get_or_create(&[("verb", verb), ("outcome", ending.outcome.word())]).inc();
        if is_stream {
            return;
        }
        let mut result = match &ending.outcome {
            Outcome::Failed(error) if error.state() == FailedState::Failed => reason_of(&error.status),
            ended => ended.word().to_owned(),
        };
        result.truncate(self.longest_result);
        self.process_time.get_or_create(&[("result", result)]).observe(ending.took.as_secs_f64());
    }

    /// Counts and names a stored object that cannot be read; readers get the others.
    pub(crate) fn unreadable(&self, object: &UnreadableObject) {
        let UnreadableObject { account, key, reason } = object;
        warn!(%account, object = %key, reason, "a stored object cannot be read and is left out");
        self.objects_unreadable.inc();
    }

    /// Counts a committed write.
    pub(crate) fn committed(&self, write: &AccountWrite) {
        self.batches_committed.inc();
        self.objects_upserted.inc_by(write.upserts.len() as u64);
        self.objects_deleted.inc_by(write.deletes.len() as u64);
        self.bytes_committed.inc_by(write.upserts.iter().map(|object| object.body.len() as u64).sum());
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use prometheus_client::encoding::text::encode;

    use super::*;

    #[test]
    fn a_stream_is_counted_and_not_timed() {
        let mut registry = Registry::default();
        let metrics = Metrics::register(&mut registry, 64);
        let ending = Ending { outcome: Outcome::Succeeded { code: 200 }, took: Duration::from_hours(8) };
        metrics.operation("logs", true, &ending);
        metrics.operation("logs", false, &ending);
        let mut text = String::new();
        encode(&mut text, &registry).unwrap();
        for line in [
            r#"spindrift_hub_operations_total{verb="logs",outcome="completed"} 2"#,
            r#"kubesvc_ops_processTime_seconds_count{result="completed"} 1"#,
        ] {
            assert!(text.contains(line), "{line} is missing in {text}");
        }
    }
}
