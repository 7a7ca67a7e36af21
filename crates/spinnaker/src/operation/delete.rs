//! Options of a deletion: propagation policy and grace period.

use std::collections::BTreeMap;

use serde_json::Value;

use super::DeleteManifest;
use crate::{Coordinates, Failure, FullName, Kind};

/// Treatment of the dependents of a deleted object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cascade {
    Background,
    Foreground,
    Orphan,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DeleteOptions {
    pub cascade: Option<Cascade>,
    pub grace_period_seconds: Option<i64>,
}

// === impl DeleteManifest ===

impl DeleteManifest {
    /// Objects to delete: one by name, or those of some kinds by label, which then have no name.
    pub fn targets(&self) -> Vec<Coordinates> {
        if let Some(name) = self.manifest_name.as_deref().filter(|name| !name.is_empty()) {
            return FullName::parse(name).map(|name| name.at(&*self.location)).into_iter().collect();
        }
        let kinds = self.kinds.iter().map(|kind| Kind::parse(kind));
        kinds.map(|kind| Coordinates::new(kind, &*self.location, "")).collect()
    }

    /// Checks that the request has a name or labels, not both; the messages are kubectl's.
    pub fn check(&self, target: &Coordinates) -> Result<(), &'static str> {
        match (target.name.is_empty(), self.label_selectors.is_empty()) {
            (false, false) => {
                Err("error: selectors and the all flag cannot be used when passing resource/name arguments\n")
            }
            (true, true) => Err("error: resource(s) were provided, but no name was specified\n"),
            _ => Ok(()),
        }
    }

    /// Failure for kubectl's message.
    pub fn failed(&self, target: &Coordinates, said: &str) -> Failure {
        let Coordinates { kind, namespace, name } = target;
        if name.is_empty() {
            let selectors = &self.label_selectors;
            return Failure::kubectl(format!("Failed to delete {selectors} from {namespace}: {said}"));
        }
        Failure::kubectl(format!("Failed to delete {kind}/{name} from {namespace}: {said}"))
    }
}

// === impl Cascade ===

impl Cascade {
    /// The API server's name.
    pub fn propagation_policy(self) -> &'static str {
        match self {
            Self::Background => "Background",
            Self::Foreground => "Foreground",
            Self::Orphan => "Orphan",
        }
    }
}

// === impl DeleteOptions ===

impl DeleteOptions {
    /// Parses a request's `options`: `orphanDependents` overrides `cascading`, and nulls count as absent. The error is
    /// kubectl's.
    pub fn parse(options: &BTreeMap<String, Value>) -> Result<Self, String> {
        let text = |key: &str| match options.get(key) {
            Some(Value::String(text)) => Some(text.clone()),
            Some(Value::Null) | None => None,
            Some(other) => Some(other.to_string()),
        };
        let cascade = match (text("orphanDependents"), text("cascading")) {
            (Some(orphan), _) if orphan.eq_ignore_ascii_case("true") => Some(Cascade::Orphan),
            (Some(_), _) => Some(Cascade::Background),
            (None, Some(cascading)) => Some(parse_cascading(&cascading)?),
            (None, None) => None,
        };
        // kubectl's shortest grace period is one second, unless it is forced.
        let grace_period = text("gracePeriodSeconds").and_then(|text| text.trim().parse::<i64>().ok());
        Ok(Self {
            cascade,
            grace_period_seconds: grace_period.map(|seconds| if seconds == 0 { 1 } else { seconds }),
        })
    }
}

fn parse_cascading(text: &str) -> Result<Cascade, String> {
    match text.to_lowercase().as_str() {
        "false" | "orphan" => Ok(Cascade::Orphan),
        "true" | "background" => Ok(Cascade::Background),
        "foreground" => Ok(Cascade::Foreground),
        _ => Err(format!(
            "error: invalid cascade value ({text}). Must be \"background\", \"foreground\", or \"orphan\"\n"
        )),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn delete_options_are_parsed_as_by_kubectl() {
        let options = |cascade, grace_period_seconds| DeleteOptions { cascade, grace_period_seconds };
        let table = [
            (json!({}), options(None, None)),
            (
                json!({"cascading": true, "gracePeriodSeconds": null}),
                options(Some(Cascade::Background), None),
            ),
            (json!({"cascading": false, "gracePeriodSeconds": 0}), options(Some(Cascade::Orphan), Some(1))),
            (json!({"cascading": "foreground"}), options(Some(Cascade::Foreground), None)),
            (json!({"cascading": null}), options(None, None)),
            (
                json!({"orphanDependents": "true", "cascading": "foreground"}),
                options(Some(Cascade::Orphan), None),
            ),
            (json!({"orphanDependents": "no"}), options(Some(Cascade::Background), None)),
            (json!({"orphanDependants": true}), options(None, None)),
            (json!({"gracePeriodSeconds": "30"}), options(None, Some(30))),
            (json!({"gracePeriodSeconds": "soon"}), options(None, None)),
        ];
        for (json, expected) in table {
            let options = serde_json::from_value(json.clone()).unwrap();
            assert_eq!(DeleteOptions::parse(&options).unwrap(), expected, "{json}");
        }
        let bogus = serde_json::from_value(json!({"cascading": "bogus"})).unwrap();
        assert_eq!(
            DeleteOptions::parse(&bogus).unwrap_err(),
            "error: invalid cascade value (bogus). Must be \"background\", \"foreground\", or \"orphan\"\n"
        );
    }

    #[test]
    fn an_object_is_named_or_labelled() {
        let delete = |json: Value| serde_json::from_value::<DeleteManifest>(json).unwrap();
        let selectors = json!({"selectors": [{"kind": "EXISTS", "key": "pick"}]});
        let labelled =
            delete(json!({"kinds": ["cm", "secret"], "location": "ns", "labelSelectors": selectors}));
        let targets: Vec<_> = labelled.targets().iter().map(ToString::to_string).collect();
        assert_eq!(
            targets,
            [
                "KubernetesCoordinates(kind=configMap, namespace=ns, name=)",
                "KubernetesCoordinates(kind=secret, namespace=ns, name=)"
            ]
        );
        assert_eq!(labelled.check(&labelled.targets()[0]), Ok(()));
        let failure = labelled.failed(&labelled.targets()[0], "no");
        assert_eq!(failure.message, "Failed to delete pick from ns: no");
        let neither = delete(json!({"kinds": ["cm"], "location": "ns"}));
        assert!(neither.check(&neither.targets()[0]).unwrap_err().contains("no name was specified"));
    }
}
