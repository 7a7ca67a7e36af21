//! Writes the moniker of a manifest into its annotations, for Spinnaker, and into its labels, for other tools.

use crate::{
    Existing, Manifest, Moniker,
    annotation::{MANAGED_BY_LABEL, NAME_LABEL, moniker as key},
};

/// Settings of the labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Labelling<'a> {
    /// `kubernetes.v2.apply-app-labels`.
    pub enabled: bool,
    /// `kubernetes.v2.managed-by-suffix`.
    pub suffix: &'a str,
}

// === impl Labelling ===

impl Labelling<'_> {
    pub(super) fn apply(self, manifest: &mut Manifest, moniker: &Moniker, skip_pods: bool) {
        let sequence = moniker.sequence.map(|sequence| sequence.to_string());
        let annotations = [
            (key::CLUSTER, moniker.cluster.as_deref()),
            (key::APPLICATION, moniker.app.as_deref()),
            (key::STACK, moniker.stack.as_deref()),
            (key::DETAIL, moniker.detail.as_deref()),
            (key::SEQUENCE, sequence.as_deref()),
        ];
        for (key, value) in annotations {
            if let Some(value) = value {
                manifest.annotate_with_pods(key, value);
            }
        }
        if !self.enabled {
            return;
        }
        let managed_by = match self.suffix {
            "" => "spinnaker".to_owned(),
            suffix => format!("spinnaker-{suffix}"),
        };
        let labels = [
            (NAME_LABEL, moniker.app.as_deref(), Existing::Keep),
            (MANAGED_BY_LABEL, Some(managed_by.as_str()), Existing::Overwrite),
            (key::SEQUENCE, sequence.as_deref(), Existing::Overwrite),
        ];
        for (key, value, existing) in labels {
            let Some(value) = value.filter(|value| !value.is_empty()) else { continue };
            manifest.label_with(key, value, existing);
            if !skip_pods {
                manifest.label_pods(key, value, existing);
            }
        }
    }
}

impl Default for Labelling<'_> {
    fn default() -> Self {
        Self { enabled: true, suffix: "" }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn labelled(labelling: Labelling<'_>, skip_pods: bool) -> Value {
        let mut manifest: Manifest = json!({"apiVersion": "apps/v1", "kind": "ReplicaSet",
            "metadata": {"name": "x",
                "labels": {"app.kubernetes.io/name": "mine", "app.kubernetes.io/managed-by": "helm"}},
            "spec": {"template": {"metadata": {"labels": {"app": "x"}}}}})
        .try_into()
        .unwrap();
        let moniker = Moniker {
            app: Some("shop".into()),
            stack: Some("blue".into()),
            sequence: Some(0),
            ..Moniker::default()
        };
        labelling.apply(&mut manifest, &moniker, skip_pods);
        manifest.into()
    }

    #[test]
    fn the_users_name_is_kept_and_the_manager_is_not() {
        let manifest = labelled(Labelling { enabled: true, suffix: "east" }, false);
        assert_eq!(
            manifest["metadata"]["labels"],
            json!({"app.kubernetes.io/name": "mine", "app.kubernetes.io/managed-by": "spinnaker-east",
                "moniker.spinnaker.io/sequence": "0"})
        );
        assert_eq!(
            manifest["spec"]["template"]["metadata"]["labels"],
            json!({"app": "x", "app.kubernetes.io/name": "shop", "app.kubernetes.io/managed-by": "spinnaker-east",
                "moniker.spinnaker.io/sequence": "0"})
        );
        let annotations = json!({"moniker.spinnaker.io/application": "shop", "moniker.spinnaker.io/stack": "blue",
            "moniker.spinnaker.io/sequence": "0"});
        assert_eq!(manifest["spec"]["template"]["metadata"]["annotations"], annotations);
    }

    #[test]
    fn labels_can_be_kept_off_pods_or_everywhere() {
        let manifest = labelled(Labelling::default(), true);
        assert_eq!(manifest["spec"]["template"]["metadata"]["labels"], json!({"app": "x"}));
        let manifest = labelled(Labelling { enabled: false, suffix: "" }, false);
        assert_eq!(manifest["metadata"]["labels"]["app.kubernetes.io/managed-by"], "helm");
        assert_eq!(manifest["metadata"]["annotations"]["moniker.spinnaker.io/application"], "shop");
    }
}
