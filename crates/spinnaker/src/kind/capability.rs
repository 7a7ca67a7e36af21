//! Capabilities of kinds.

use std::fmt;

use super::Kind;
use crate::Coordinates;

/// Operation that only some kinds support.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Capability {
    Scale,
    Resize,
    PauseRollout,
    ResumeRollout,
    UndoRollout,
    RollingRestart,
}

/// Error for a kind that does not support a capability.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("Resource with {coordinates} does not support {capability}")]
pub struct Unsupported {
    pub coordinates: Coordinates,
    pub capability: Capability,
}

// === impl Capability ===

impl Capability {
    /// Checks that the object's kind supports it.
    pub fn check(self, coordinates: &Coordinates) -> Result<(), Unsupported> {
        if coordinates.kind.can(self) {
            return Ok(());
        }
        Err(Unsupported { coordinates: coordinates.clone(), capability: self })
    }
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Scale => "scale",
            Self::Resize => "resize",
            Self::PauseRollout => "pause rollout",
            Self::ResumeRollout => "resume rollout",
            Self::UndoRollout => "undo rollout",
            Self::RollingRestart => "rolling restart",
        })
    }
}

// === impl Kind ===

impl Kind {
    /// Whether objects of this kind can be scaled, paused and so on.
    pub fn can(&self, capability: Capability) -> bool {
        let kinds: &[&str] = match capability {
            Capability::Scale => &["deployment", "replicaSet", "statefulSet"],
            Capability::Resize => &["deployment", "replicaSet", "statefulSet", "daemonSet"],
            Capability::PauseRollout
            | Capability::ResumeRollout
            | Capability::UndoRollout
            | Capability::RollingRestart => &["deployment", "daemonSet", "statefulSet"],
        };
        self.is_one_of(kinds)
    }

    /// Whether load balancers can send traffic to it.
    pub fn can_receive_traffic(&self) -> bool {
        self.is_one_of(WORKLOADS) || self.is("pod")
    }

    /// Whether it sends traffic to others by their labels.
    pub fn can_load_balance(&self) -> bool {
        self.is("service")
    }

    /// Whether its pods are changed with it when traffic is turned on and off.
    pub fn has_pods_of_its_own(&self) -> bool {
        self.is("replicaSet")
    }

    /// Whether it has a pod template that artifacts are bound in.
    pub fn has_pod_template(&self) -> bool {
        self.is_one_of(WORKLOADS)
    }

    /// Whether `strategy.spinnaker.io/use-source-capacity` means anything for it.
    pub fn has_source_capacity(&self) -> bool {
        self.can(Capability::Scale)
    }

    fn is_one_of(&self, kinds: &[&str]) -> bool {
        kinds.iter().any(|kind| self.is(kind))
    }
}

const WORKLOADS: &[&str] = &["deployment", "replicaSet", "statefulSet", "daemonSet", "job", "cronJob"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unsupported_capability_is_rejected_with_the_coordinates() {
        let service = Coordinates::new(Kind::parse("service"), "account1-testns00", "shop-api");
        assert_eq!(
            Capability::Scale.check(&service).unwrap_err().to_string(),
            "Resource with KubernetesCoordinates(kind=service, namespace=account1-testns00, name=shop-api) does not \
             support scale"
        );
        assert!(Capability::Resize.check(&Coordinates::new(Kind::parse("ds"), "", "x")).is_ok());
        assert!(Capability::Scale.check(&Coordinates::new(Kind::parse("ds"), "", "x")).is_err());
        let foreign = Coordinates::new(Kind::parse("Deployment.example.com"), "", "x");
        assert!(Capability::Scale.check(&foreign).is_err(), "a custom kind of the same name");
    }
}
