//! Selection of old versions to delete when a manifest limits their number.

use crate::{Artifact, Kind, Manifest, StrategyAnnotations};

/// Versions of an object to clean up: those of its kind in the location of its artifact.
#[derive(Debug, Clone, PartialEq)]
pub struct Cleanup {
    pub kind: Kind,
    pub namespace: String,
    artifact: String,
    keep: usize,
}

/// Version to delete.
#[derive(Debug, Clone, PartialEq)]
pub struct Outdated {
    pub name: String,
    /// Artifact for the task's history.
    pub artifact: Artifact,
}

// === impl Cleanup ===

impl Cleanup {
    /// Clean-up that a deployed object requests in its annotations.
    pub fn of(object: &Manifest) -> Option<Self> {
        let keep = StrategyAnnotations::of(object).max_version_history?;
        let artifact = Artifact::deployed(object)?;
        Some(Self {
            kind: object.kind().clone(),
            namespace: artifact.location.unwrap_or_default(),
            artifact: artifact.name?,
            // A negative number is ignored.
            keep: usize::try_from(keep).ok()?,
        })
    }

    /// Oldest objects of this kind beyond the number to keep.
    pub fn outdated(&self, live: &[Manifest], account: &str) -> Vec<Outdated> {
        let mut versions: Vec<_> = live
            .iter()
            .filter_map(|object| Some((object, Artifact::deployed(object)?)))
            .filter(|(_, artifact)| artifact.name.as_deref() == Some(&self.artifact))
            .collect();
        versions.sort_by(|(one, _), (other, _)| one.created().cmp(other.created()));
        let surplus = versions.len().saturating_sub(self.keep);
        let outdated = |(_, mut artifact): (&Manifest, Artifact)| {
            let version = artifact.version.as_deref().filter(|version| !version.is_empty());
            let name = match version {
                Some(version) => format!("{}-{version}", self.artifact),
                None => self.artifact.clone(),
            };
            artifact.metadata.insert("account".into(), account.into());
            Outdated { name, artifact }
        };
        versions.into_iter().take(surplus).map(outdated).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn replica_set(name: &str, version: &str, created: &str, history: &str) -> Manifest {
        json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {
            "name": format!("{name}-{version}"), "namespace": "ns", "creationTimestamp": created,
            "annotations": {"artifact.spinnaker.io/type": "kubernetes/replicaSet", "artifact.spinnaker.io/name": name,
                "artifact.spinnaker.io/version": version, "artifact.spinnaker.io/location": "ns",
                "strategy.spinnaker.io/max-version-history": history}}})
        .try_into()
        .unwrap()
    }

    #[test]
    fn the_oldest_versions_of_the_same_artifact_go() {
        let live = [
            replica_set("traffic-rs", "v002", "2026-11-15T20:40:00Z", "2"),
            replica_set("traffic-rs", "v000", "2026-11-15T20:38:35Z", "2"),
            replica_set("other", "v000", "2026-11-15T20:38:00Z", "2"),
            replica_set("traffic-rs", "v001", "2026-11-15T20:38:37Z", "2"),
        ];
        let cleanup = Cleanup::of(&live[0]).unwrap();
        assert_eq!((cleanup.kind.to_string().as_str(), cleanup.namespace.as_str()), ("replicaSet", "ns"));
        let outdated = cleanup.outdated(&live, "account1");
        let names: Vec<_> = outdated.iter().map(|outdated| outdated.name.as_str()).collect();
        assert_eq!(names, ["traffic-rs-v000"]);
        assert!(outdated[0].artifact.to_string().contains("metadata={account=account1}"));
    }

    #[test]
    fn without_a_limit_all_versions_are_kept() {
        for history in ["many", "-1"] {
            assert!(Cleanup::of(&replica_set("x", "v000", "", history)).is_none(), "{history}");
        }
        assert!(
            Cleanup::of(
                &json!({"kind": "Pod", "apiVersion": "v1", "metadata": {"annotations":
            {"strategy.spinnaker.io/max-version-history": "2"}}})
                .try_into()
                .unwrap()
            )
            .is_none()
        );
    }
}
