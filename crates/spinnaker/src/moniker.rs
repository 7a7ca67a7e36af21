//! Monikers: application and cluster of an object.
//!
//! They come from annotations, and otherwise from the object's name. An invalid annotation counts as absent. Labels are
//! not used.

use serde::{Deserialize, Serialize};

use crate::{
    Kind,
    annotation::{self, unquoted},
    lenient,
};

mod parse;

pub use parse::NameParts;

/// Application, cluster and sequence of an object.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct Moniker {
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "lenient::text")]
    pub app: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "lenient::text")]
    pub cluster: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "lenient::text")]
    pub stack: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "lenient::text")]
    pub detail: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "lenient::integer")]
    pub sequence: Option<i64>,
}

// === impl Moniker ===

impl Moniker {
    /// Moniker of an object of this kind and name, whose annotations are looked up with `annotation`.
    pub fn read<'a>(kind: &Kind, name: &str, annotation: impl Fn(&str) -> Option<&'a str>) -> Self {
        use annotation::moniker::{APPLICATION, CLUSTER, DETAIL, SEQUENCE, STACK};
        let text =
            |key, named: Option<&str>| annotation(key).map_or_else(|| named.map(str::to_owned), unquoted);
        let number = |key, otherwise| {
            annotation(key).map_or(otherwise, |text| unquoted(text).and_then(|text| text.parse().ok()))
        };
        let parts = NameParts::parse(name);
        let is_replica_set = kind.is("replicaSet");
        let counted = if is_replica_set {
            number(annotation::DEPLOYMENT_REVISION, parts.sequence)
        } else {
            parts.sequence
        };
        Self {
            app: text(APPLICATION, parts.app),
            cluster: text(CLUSTER, parts.cluster),
            stack: text(STACK, None),
            detail: text(DETAIL, None),
            sequence: number(SEQUENCE, counted),
        }
    }

    /// Application, unless it is empty.
    pub fn application(&self) -> Option<&str> {
        self.app.as_deref().filter(|app| !app.is_empty())
    }

    /// Moniker with which a manifest is deployed: its cluster is its full name, unless the request names another, and its
    /// version is the sequence.
    #[must_use]
    pub fn for_deployment(&self, full_name: &str, version: Option<u32>) -> Self {
        let named = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
        Self {
            cluster: named(&self.cluster).or_else(|| Some(full_name.to_owned())),
            sequence: version.map(i64::from).or(self.sequence),
            ..self.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn moniker(kind: &str, name: &str, annotations: &[(&str, &str)]) -> Moniker {
        let annotations: BTreeMap<_, _> = annotations.iter().copied().collect();
        Moniker::read(&Kind::parse(kind), name, |key| annotations.get(key).copied())
    }

    #[test]
    fn annotations_win_over_the_name() {
        let read = moniker(
            "replicaSet",
            "shop-web-565d5b9787",
            &[
                ("moniker.spinnaker.io/application", "shop"),
                ("moniker.spinnaker.io/cluster", "deployment shop-web"),
                ("deployment.kubernetes.io/revision", "2"),
            ],
        );
        let json = serde_json::json!({"app": "shop", "cluster": "deployment shop-web", "sequence": 2});
        assert_eq!(serde_json::to_value(read).unwrap(), json);
    }

    #[test]
    fn a_moniker_without_annotations_comes_from_the_name() {
        let read = moniker("replicaSet", "plain-v003", &[]);
        let json = serde_json::json!({"app": "plain", "cluster": "plain", "sequence": 3});
        assert_eq!(serde_json::to_value(read).unwrap(), json);
        let read = moniker("deployment", "junk-web-blue", &[("deployment.kubernetes.io/revision", "1")]);
        let json = serde_json::json!({"app": "junk", "cluster": "junk-web-blue"});
        assert_eq!(serde_json::to_value(read).unwrap(), json, "only a replica set's revision is a sequence");
    }

    #[test]
    fn annotations_of_old_releases_are_json() {
        let read = moniker(
            "deployment",
            "x",
            &[
                ("moniker.spinnaker.io/application", "\"shop\""),
                ("moniker.spinnaker.io/stack", "\"as written"),
                ("moniker.spinnaker.io/detail", "\""),
                ("moniker.spinnaker.io/sequence", "\"7\""),
            ],
        );
        assert_eq!((read.app.as_deref(), read.sequence), (Some("shop"), Some(7)));
        assert_eq!((read.stack.as_deref(), read.detail.as_deref()), (Some("\"as written"), Some("\"")));
    }

    #[test]
    fn an_annotation_that_cannot_be_read_is_no_reason_to_ask_the_name() {
        let broken = "\"bro\"ken\"";
        let keys = ["application", "cluster", "stack", "detail", "sequence"];
        let keys = keys.map(|key| format!("moniker.spinnaker.io/{key}"));
        let annotations: Vec<_> = keys.iter().map(|key| (key.as_str(), broken)).collect();
        assert_eq!(moniker("deployment", "shop-web-v003", &annotations), Moniker::default());
        let revision = moniker("replicaSet", "shop-v003", &[("deployment.kubernetes.io/revision", "nine")]);
        assert_eq!((revision.app.as_deref(), revision.sequence), (Some("shop"), None));
    }

    #[test]
    fn a_deployment_is_clustered_under_its_full_name() {
        let request = Moniker { app: Some("shop".into()), ..Moniker::default() };
        let deployed = request.for_deployment("replicaSet shop-rs", Some(7));
        assert_eq!(deployed.cluster.as_deref(), Some("replicaSet shop-rs"));
        assert_eq!(deployed.sequence, Some(7));
        let named = Moniker { cluster: Some("mine".into()), ..request };
        assert_eq!(named.for_deployment("replicaSet shop-rs", None).cluster.as_deref(), Some("mine"));
    }
}
