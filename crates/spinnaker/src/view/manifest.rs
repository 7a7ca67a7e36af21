//! `/manifests`: an object read live, with its Spinnaker status, artifacts and moniker.

use serde::Serialize;
use serde_json::Value;

use super::ContainerMetrics;
use crate::{Artifact, Coordinates, Manifest, Moniker, Status, UnsupportedVersion, extract, gson, status};

/// Manifest that Orca polls until it is stable, and that Deck shows. It has no nulls, and all its numbers are floats.
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
    /// Always empty: Orca and Clouddriver disagree on the format.
    warnings: [(); 0],
    metrics: Vec<ContainerMetrics>,
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

/// Field selector for the events of an object; the kind must be spelled as in Kubernetes.
pub fn event_selector(object: &Coordinates) -> String {
    let (_, kind) = object.kind.in_kubernetes();
    format!("involvedObject.name={},involvedObject.kind={kind}", object.name)
}

/// Sorts events, oldest first, by last timestamp, else by first; those without come last.
pub fn sort_events(mut events: Vec<Value>) -> Vec<Value> {
    events.sort_by_cached_key(|event| {
        let text = |key: &str| event.get(key).and_then(Value::as_str).map(str::to_owned);
        text("lastTimestamp").or_else(|| text("firstTimestamp")).unwrap_or_else(|| "n/a".to_owned())
    });
    events
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FullName;

    #[test]
    fn events_are_selected_by_the_kubernetes_kind() {
        let selector = |name: &str| event_selector(&FullName::parse(name).unwrap().at("ns"));
        assert_eq!(
            selector("hpa shop"),
            "involvedObject.name=shop,involvedObject.kind=HorizontalPodAutoscaler"
        );
        assert_eq!(selector("CronTab.x.com a"), "involvedObject.name=a,involvedObject.kind=CronTab");
    }
}
