//! Metrics of the agent, under the names of the Armory agent where it has them.

use std::{sync::atomic::AtomicU64, time::Duration};

use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric},
    metrics::{
        counter::Counter,
        family::Family,
        gauge::{ConstGauge, Gauge},
    },
    registry::Registry,
};
use spindrift_model::{Item, Outcome, Resource, Upsert};
use spindrift_protocol::Channel;

use crate::{
    status::{AgentStatus, WatchState},
    uplink::UsageGauges,
};

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Kind {
    event_kind: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Group {
    event_group: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Operated {
    verb: &'static str,
    outcome: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Reason {
    reason: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfChannel {
    channel: String,
}

/// Reason for which a scope is listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Relist {
    /// The hub has no state of it.
    First,
    /// The hub's state is older than `maxResumableResourceAgeMs`.
    Expired,
    /// The hub's state has another API version, or was made by other rules.
    Changed,
    /// The API server has no history from that version on (410).
    Gone,
    /// The cluster's etcd was restored from a backup.
    Restored,
    /// An event could not be parsed.
    Unreadable,
    /// The list before was interrupted.
    BrokeOff,
    /// It is allowed again.
    Allowed,
}

/// Metrics of the agent. Some counters of the Armory agent have no `_total` in their names; they are gauges here, since the
/// encoder would add it.
#[derive(Debug)]
pub struct Metrics {
    /// Connections made.
    pub connections: Gauge,
    /// Connections lost.
    pub disconnections: Counter,
    /// The same, under the name that the Armory agent's dashboard queries.
    disconnections_for_dashboard: Gauge,
    /// Round-trip time of the last ping.
    pub ping_seconds: Gauge<f64, AtomicU64>,
    heartbeats: Family<OfChannel, Counter>,
    /// Requests to API servers.
    pub kubernetes_requests: Gauge,
    /// Events that could not be parsed.
    pub unparseable_events: Counter,
    /// Objects that the hub's store rejected.
    pub rejected_objects: Counter,
    /// Complete lists.
    pub listings: Counter,
    /// Values that were cut or redacted.
    pub scrubbed_values: Counter,
    /// Objects of lists that the hub already had.
    pub mentioned_objects: Counter,
    /// Bytes of events before compression.
    pub raw_bytes: Counter,
    /// Bytes of events on the wire.
    pub wire_bytes: Counter,
    /// Items that were read and are not acknowledged.
    pub lag: UsageGauges,
    /// Items that were read and are not sent.
    pub queue: UsageGauges,
    /// Number of times a watch had to wait for credit.
    pub window_stalls: Counter,
    window_stall_seconds: Counter<f64, AtomicU64>,
    /// The same without the first of each scope, by reason.
    relists: Family<Reason, Counter>,
    /// Watches that were frozen, and were reopened.
    pub frozen_watches: Counter,
    events: Family<Kind, Counter>,
    bytes: Family<Group, Counter>,
    operations: Family<Operated, Counter>,
    operation_seconds: Family<Operated, Counter<f64, AtomicU64>>,
}

/// Collector of sizes, which reads the status at every scrape, so that they cannot drift.
#[derive(Debug)]
struct WatchCollector(AgentStatus);

// === impl Metrics ===

impl Metrics {
    /// Registers the agent's metrics.
    pub fn register(registry: &mut Registry, status: AgentStatus) -> Self {
        let metrics = Self {
            connections: Gauge::default(),
            disconnections: Counter::default(),
            disconnections_for_dashboard: Gauge::default(),
            ping_seconds: Gauge::default(),
            heartbeats: Family::default(),
            kubernetes_requests: Gauge::default(),
            unparseable_events: Counter::default(),
            rejected_objects: Counter::default(),
            listings: Counter::default(),
            scrubbed_values: Counter::default(),
            mentioned_objects: Counter::default(),
            raw_bytes: Counter::default(),
            wire_bytes: Counter::default(),
            lag: UsageGauges::default(),
            queue: UsageGauges::default(),
            window_stalls: Counter::default(),
            window_stall_seconds: Counter::default(),
            relists: Family::default(),
            frozen_watches: Counter::default(),
            events: Family::default(),
            bytes: Family::default(),
            operations: Family::default(),
            operation_seconds: Family::default(),
        };
        registry.register("kubesvc_connection_count", "Connections made", metrics.connections.clone());
        registry.register("kubesvc_disconnection", "Connections lost", metrics.disconnections.clone());
        registry.register(
            "kubesvc_disconnection_count",
            "Connections lost",
            metrics.disconnections_for_dashboard.clone(),
        );
        registry.register(
            "kubesvc_kubernetes_requests",
            "Requests to API servers",
            metrics.kubernetes_requests.clone(),
        );
        registry.register(
            "spindrift_agent_ping_seconds",
            "How long the hub took to answer the last ping",
            metrics.ping_seconds.clone(),
        );
        registry.register("kubesvc_events_sent", "Caching events sent", metrics.events.clone());
        registry.register("kubesvc_events_bytes_sent", "Bytes of caching events sent", metrics.bytes.clone());
        registry.register(
            "spindrift_agent_unparseable_events",
            "Events that could not be read",
            metrics.unparseable_events.clone(),
        );
        registry.register(
            "spindrift_agent_rejected_objects",
            "Objects that the hub would not store",
            metrics.rejected_objects.clone(),
        );
        registry.register("spindrift_agent_listings", "Complete listings", metrics.listings.clone());
        registry.register(
            "spindrift_agent_scrubbed_values",
            "Values that were cut or redacted before they left the cluster",
            metrics.scrubbed_values.clone(),
        );
        registry.register(
            "spindrift_agent_relists",
            "Complete listings after the first, by reason",
            metrics.relists.clone(),
        );
        registry.register(
            "spindrift_agent_frozen_watches",
            "Watches that fell silent and were taken up anew",
            metrics.frozen_watches.clone(),
        );
        registry.register(
            "spindrift_agent_operations",
            "Operations that ended, by verb and outcome",
            metrics.operations.clone(),
        );
        registry.register(
            "spindrift_agent_operation_seconds",
            "How long they took",
            metrics.operation_seconds.clone(),
        );
        registry.register_collector(Box::new(WatchCollector(status)));
        metrics.register_wire(registry);
        metrics
    }

    fn register_wire(&self, registry: &mut Registry) {
        registry.register(
            "spindrift_agent_heartbeats",
            "Heartbeats that the hub answered, by channel",
            self.heartbeats.clone(),
        );
        let counters = [
            ("mentioned_objects", "Objects of listings that the hub had already", &self.mentioned_objects),
            ("raw_bytes", "Bytes of events before compression", &self.raw_bytes),
            ("wire_bytes", "Bytes of events on the wire", &self.wire_bytes),
            ("window_stalls", "How often a watch waited for credit of the hub", &self.window_stalls),
        ];
        for (name, help, counter) in counters {
            registry.register(format!("spindrift_agent_{name}"), help, counter.clone());
        }
        let seconds = self.window_stall_seconds.clone();
        registry.register(
            "spindrift_agent_window_stall_seconds",
            "How long watches waited for credit",
            seconds,
        );
        let gauges = [
            ("lag_items", "Items that were read and are not acknowledged", &self.lag.items),
            ("lag_bytes", "Bytes that were read and are not acknowledged", &self.lag.bytes),
            ("queue_items", "Items that were read and are not sent", &self.queue.items),
            ("queue_bytes", "Bytes that were read and are not sent", &self.queue.bytes),
        ];
        for (name, help, gauge) in gauges {
            registry.register(format!("spindrift_agent_{name}"), help, gauge.clone());
        }
    }

    /// Records that a watch had to wait for credit.
    pub fn stalled(&self, waited: Duration) {
        self.window_stalls.inc();
        self.window_stall_seconds.inc_by(waited.as_secs_f64());
    }

    /// Records that the hub answered a heartbeat.
    pub fn heartbeat(&self, channel: Channel) {
        self.heartbeats.get_or_create(&OfChannel { channel: channel.to_string() }).inc();
    }

    /// Records that the connection to the hub was lost.
    pub fn disconnected(&self) {
        self.disconnections.inc();
        self.disconnections_for_dashboard.inc();
    }

    /// Records the end of an operation.
    pub fn operated(&self, verb: &'static str, outcome: &Outcome, took: Duration) {
        let operated = Operated { verb, outcome: outcome.word() };
        self.operations.get_or_create(&operated).inc();
        self.operation_seconds.get_or_create(&operated).inc_by(took.as_secs_f64());
    }

    /// Records the begin of a list.
    pub fn listed(&self, why: Relist) {
        self.listings.inc();
        if why != Relist::First {
            self.relists.get_or_create(&Reason { reason: why.label() }).inc();
        }
    }

    /// Records an item that is sent to the hub.
    pub fn sent(&self, resource: &Resource, item: &Item) {
        let bytes = match item {
            Item::Upsert(Upsert { body, .. }) => body.len() as u64,
            Item::Delete { .. } => 0,
            _ => return,
        };
        self.events.get_or_create(&Kind { event_kind: resource.kind.to_string() }).inc();
        self.bytes.get_or_create(&Group { event_group: resource.group.to_string() }).inc_by(bytes);
    }
}

// === impl Relist ===

impl Relist {
    fn label(self) -> &'static str {
        match self {
            Self::First => "first",
            Self::Expired => "expired",
            Self::Changed => "changed",
            Self::Gone => "gone",
            Self::Restored => "restored",
            Self::Unreadable => "unreadable",
            Self::BrokeOff => "broke-off",
            Self::Allowed => "allowed",
        }
    }
}

// === impl WatchCollector ===

impl Collector for WatchCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        let watches = self.0.watch_counts();
        let count = |state| watches.get(&state).copied().unwrap_or_default();
        for (name, help, count) in [
            ("kubesvc_watches", "Live watches", count(WatchState::Watching)),
            ("kubesvc_resource_agent_total", "Watched resources", watches.values().sum()),
            (
                "spindrift_agent_watches_queued",
                "Watches whose turn to be listed comes",
                count(WatchState::Queued),
            ),
            ("spindrift_agent_watches_denied", "Watches without permission", count(WatchState::Denied)),
            ("spindrift_agent_watches_waiting", "Watches that failed and wait", count(WatchState::Waiting)),
            ("spindrift_agent_accounts_failed", "Accounts that cannot be used now", self.0.failed_accounts()),
        ] {
            let gauge = ConstGauge::new(i64::try_from(count).unwrap_or(i64::MAX));
            gauge.encode(encoder.encode_descriptor(name, help, None, gauge.metric_type())?)?;
        }
        Ok(())
    }
}
