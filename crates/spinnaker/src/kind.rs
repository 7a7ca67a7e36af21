//! Kinds as Spinnaker spells them, which is part of its API: `replicaSet`, `horizontalpodautoscaler`,
//! `CronTab.stable.example.com`.
//!
//! A built-in kind has one spelling, whatever the caller's; a kind of a group that is not Kubernetes' own carries its group;
//! others keep the spelling of the caller. Kinds are compared without case.

use std::{
    borrow::Cow,
    cmp::Ordering,
    fmt,
    hash::{Hash, Hasher},
    sync::Arc,
};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use built_in::{BUILT_IN, BuiltIn, NATIVE_GROUPS};

mod built_in;
mod capability;
mod rules;

pub use capability::{Capability, Unsupported};
use rules::DeployPriority;
pub use rules::{CustomResource, KindRules, NotDeployable};

/// Kind of Kubernetes objects in Spinnaker's terms.
#[derive(Clone)]
pub struct Kind(Spelling);

#[derive(Clone)]
enum Spelling {
    Known(&'static BuiltIn),
    /// The group is empty if it is one of Kubernetes' own.
    Other {
        name: Arc<str>,
        group: Arc<str>,
    },
}

/// Spinnaker's classification of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum SpinnakerKind {
    Configs,
    Instances,
    LoadBalancers,
    SecurityGroups,
    ServerGroups,
    ServerGroupManagers,
    Unclassified,
}

// === impl Kind ===

impl Kind {
    /// Parses `name` or `name.group`, in any case, by name or alias.
    pub fn parse(text: &str) -> Self {
        let (name, group) = text.split_once('.').unwrap_or((text, ""));
        Self::of_group(group, name)
    }

    /// Kind of a manifest's `apiVersion` and `kind`.
    pub fn of_manifest(api_version: &str, kind: &str) -> Self {
        Self::of_group(api_version.split_once('/').map_or("", |(group, _)| group), kind)
    }

    /// Kind of this name in an API group; empty for the core group.
    pub fn of_group(group: &str, name: &str) -> Self {
        if !NATIVE_GROUPS.iter().any(|native| native.eq_ignore_ascii_case(group)) {
            return Self(Spelling::Other { name: name.into(), group: group.to_lowercase().into() });
        }
        match BUILT_IN.iter().find(|known| known.is_called(name)) {
            Some(known) => Self(Spelling::Known(known)),
            None => Self(Spelling::Other { name: name.into(), group: "".into() }),
        }
    }

    /// Kinds that Spinnaker has rules for, sorted by name.
    pub fn handled() -> impl Iterator<Item = Self> {
        BUILT_IN.iter().filter(|known| known.handled).map(|known| Self(Spelling::Known(known)))
    }

    /// API group, if known, and kind as Kubernetes writes them, as in `involvedObject`.
    pub fn in_kubernetes(&self) -> (Option<&str>, &str) {
        match &self.0 {
            Spelling::Known(known) => (Some(known.group), known.manifest_kind),
            Spelling::Other { name, group } if group.is_empty() => (None, name),
            Spelling::Other { name, group } => (Some(group), name),
        }
    }

    /// Spinnaker's spelling, borrowed where possible.
    pub fn spelling(&self) -> Cow<'_, str> {
        match &self.0 {
            Spelling::Known(known) => Cow::Borrowed(known.name),
            Spelling::Other { name, group } if group.is_empty() => Cow::Borrowed(name),
            Spelling::Other { name, group } => Cow::Owned(format!("{name}.{group}")),
        }
    }

    /// Whether this is the built-in kind of this spelling.
    pub fn is(&self, spelling: &str) -> bool {
        matches!(&self.0, Spelling::Known(known) if known.name == spelling)
    }

    /// Whether it is built in.
    pub fn is_known(&self) -> bool {
        self.known().is_some()
    }

    fn known(&self) -> Option<&'static BuiltIn> {
        match self.0 {
            Spelling::Known(known) => Some(known),
            Spelling::Other { .. } => None,
        }
    }

    /// Name and group that are equal for all spellings of the same kind, except for case.
    fn identity(&self) -> (&str, &str) {
        match &self.0 {
            Spelling::Known(known) => (known.name, ""),
            Spelling::Other { name, group } => (name, group),
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, group) = self.identity();
        f.write_str(name)?;
        if group.is_empty() { Ok(()) } else { write!(f, ".{group}") }
    }
}

impl fmt::Debug for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Built-in kinds have one spelling; only the others are compared without case.
impl PartialEq for Kind {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Spelling::Known(known), Spelling::Known(other)) => known.name == other.name,
            (Spelling::Other { name, group }, Spelling::Other { name: other_name, group: other_group }) => {
                group == other_group && name.eq_ignore_ascii_case(other_name)
            }
            _ => false,
        }
    }
}

impl Eq for Kind {}

impl Hash for Kind {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match &self.0 {
            Spelling::Known(known) => known.name.hash(state),
            Spelling::Other { name, group } => (name.to_ascii_lowercase(), group).hash(state),
        }
    }
}

impl PartialOrd for Kind {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Kind {
    fn cmp(&self, other: &Self) -> Ordering {
        if self == other {
            return Ordering::Equal;
        }
        let ((name, group), (other_name, other_group)) = (self.identity(), other.identity());
        folded(name).cmp(folded(other_name)).then_with(|| group.cmp(other_group))
    }
}

fn folded(name: &str) -> impl Iterator<Item = u8> {
    name.bytes().map(|byte| byte.to_ascii_lowercase())
}

impl Serialize for Kind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.spelling())
    }
}

impl<'de> Deserialize<'de> for Kind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self::parse(&Cow::<'de, str>::deserialize(deserializer)?))
    }
}

// === impl SpinnakerKind ===

impl SpinnakerKind {
    /// Parses the name, in any case.
    pub fn parse(text: &str) -> Option<Self> {
        use SpinnakerKind::{
            Configs, Instances, LoadBalancers, SecurityGroups, ServerGroupManagers, ServerGroups,
            Unclassified,
        };
        [Configs, Instances, LoadBalancers, SecurityGroups, ServerGroups, ServerGroupManagers, Unclassified]
            .into_iter()
            .find(|kind| kind.as_str().eq_ignore_ascii_case(text))
    }

    /// Name as in `spinnakerKindMap`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Configs => "configs",
            Self::Instances => "instances",
            Self::LoadBalancers => "loadBalancers",
            Self::SecurityGroups => "securityGroups",
            Self::ServerGroups => "serverGroups",
            Self::ServerGroupManagers => "serverGroupManagers",
            Self::Unclassified => "unclassified",
        }
    }

    /// Whether its objects belong to an application.
    pub fn belongs_to_application(self) -> bool {
        matches!(
            self,
            Self::LoadBalancers | Self::SecurityGroups | Self::ServerGroups | Self::ServerGroupManagers
        )
    }

    /// Whether its objects make up clusters.
    pub fn belongs_to_cluster(self) -> bool {
        matches!(self, Self::ServerGroups | Self::ServerGroupManagers)
    }
}

impl fmt::Display for SpinnakerKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_spelled_as_spinnaker_spells_it() {
        let table = [
            ("Deployment", "deployment"),
            ("deploy", "deployment"),
            ("deployment.apps", "deployment"),
            ("REPLICASET", "replicaSet"),
            ("rs", "replicaSet"),
            ("HorizontalPodAutoscaler.autoscaling", "horizontalpodautoscaler"),
            ("hpa", "horizontalpodautoscaler"),
            ("crd", "customResourceDefinition"),
            ("networkpolicy", "networkPolicy"),
            ("netpol", "networkPolicy"),
            ("ReplicationController", "ReplicationController"),
            ("CronTab.stable.example.com", "CronTab.stable.example.com"),
            ("crontab.Stable.Example.com", "crontab.stable.example.com"),
            ("Lease.coordination.k8s.io", "Lease.coordination.k8s.io"),
            ("Deployment.example.com", "Deployment.example.com"),
            ("wibble", "wibble"),
        ];
        for (text, spelling) in table {
            assert_eq!(Kind::parse(text).to_string(), spelling, "{text}");
        }
    }

    #[test]
    fn a_manifest_names_its_kind_by_group() {
        let table = [
            ("apps/v1", "Deployment", "deployment"),
            ("v1", "ConfigMap", "configMap"),
            ("stable.example.com/v1", "CronTab", "CronTab.stable.example.com"),
            ("serving.knative.dev/v1", "Service", "Service.serving.knative.dev"),
            ("autoscaling/v2", "HorizontalPodAutoscaler", "horizontalpodautoscaler"),
        ];
        for (api_version, kind, spelling) in table {
            assert_eq!(Kind::of_manifest(api_version, kind).to_string(), spelling);
        }
    }

    #[test]
    fn kinds_are_the_same_whatever_their_case() {
        assert_eq!(Kind::parse("CronTab.stable.example.com"), Kind::parse("crontab.stable.example.com"));
        assert_eq!(Kind::parse("Wibble"), Kind::parse("wibble"));
        assert_ne!(Kind::parse("Service.serving.knative.dev"), Kind::parse("service"));
        assert_eq!(Kind::parse("po"), Kind::parse("Pod"));
    }

    #[test]
    fn kubernetes_names_are_known_where_spinnaker_spells_otherwise() {
        assert_eq!(Kind::parse("hpa").in_kubernetes(), (Some("autoscaling"), "HorizontalPodAutoscaler"));
        assert_eq!(Kind::parse("CronTab.x.com").in_kubernetes(), (Some("x.com"), "CronTab"));
        assert_eq!(Kind::parse("Node").in_kubernetes(), (None, "Node"));
    }
}
