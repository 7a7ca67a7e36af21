//! An object as the cluster has it now, with what Spinnaker makes of it: `/manifests`.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use crate::{Artifact, Manifest, Moniker, Status, UnsupportedVersion, extract, gson, status};

/// What Orca polls until it is stable, and what Deck shows. Nothing in it is null, and all its numbers are floats.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ManifestView<'a> {
    account: &'a str,
    name: String,
    location: String,
    moniker: Moniker,
    manifest: Value,
    status: Status,
    artifacts: Vec<Artifact>,
    events: Vec<Value>,
    /// Always empty: Orca and Clouddriver do not agree on what is in there.
    warnings: [(); 0],
    metrics: Vec<ContainerMetrics>,
}

/// What a container uses, under kubectl's headings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ContainerMetrics {
    pub container_name: String,
    pub metrics: BTreeMap<String, String>,
}

// === impl ManifestView ===

impl<'a> ManifestView<'a> {
    pub fn new(
        account: &'a str,
        object: &Manifest,
        events: Vec<Value>,
        metrics: Vec<ContainerMetrics>,
    ) -> Result<Self, UnsupportedVersion> {
        Ok(Self {
            account,
            name: object.full_name().to_string(),
            location: object.namespace().to_owned(),
            moniker: object.moniker(),
            status: status(object)?,
            artifacts: extract(object),
            manifest: object.shown(),
            events: sort_events(events).into_iter().map(gson::with_floats).collect(),
            warnings: [],
            metrics,
        })
    }
}

/// Oldest first, by when they were seen last, else first; those that say neither come last.
pub fn sort_events(mut events: Vec<Value>) -> Vec<Value> {
    events.sort_by_cached_key(|event| {
        let text = |key: &str| event.get(key).and_then(Value::as_str).map(str::to_owned);
        text("lastTimestamp").or_else(|| text("firstTimestamp")).unwrap_or_else(|| "n/a".to_owned())
    });
    events
}
