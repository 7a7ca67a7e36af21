//! Objects and kinds that Spinnaker names, as references that an agent resolves.

use spindrift_model::ObjectRef;
use spindrift_spinnaker::{Coordinates, Kind};

/// Namespace that Kubernetes uses if none is given; it also holds the events of cluster-scoped objects.
pub(super) const DEFAULT_NAMESPACE: &str = "default";

/// Reference to an object.
pub(super) fn object_ref(object: &Coordinates) -> ObjectRef {
    let Coordinates { kind, namespace, name } = object;
    let (api_version, kind) = api_version_and_kind(kind);
    ObjectRef { api_version, kind, namespace: non_empty(namespace), name: name.clone() }
}

/// `apiVersion` and kind of a reference. Core kinds have one version, and share their names with kinds of other groups;
/// for the others the group is given and the API server chooses the version it prefers.
pub(super) fn api_version_and_kind(kind: &Kind) -> (Option<String>, String) {
    match kind.in_kubernetes() {
        (Some(""), kind) => (Some("v1".to_owned()), kind.to_owned()),
        (Some(group), kind) => (None, format!("{kind}.{group}")),
        (None, kind) => (None, kind.to_owned()),
    }
}

pub(super) fn non_empty(namespace: &str) -> Option<String> {
    (!namespace.is_empty()).then(|| namespace.to_owned())
}

#[cfg(test)]
mod tests {
    use spindrift_spinnaker::FullName;

    use super::*;

    #[test]
    fn kinds_are_named_with_their_group() {
        let table = [
            ("deploy web", None, "Deployment.apps"),
            ("pod web", Some("v1"), "Pod"),
            ("crontab.stable.example.com web", None, "crontab.stable.example.com"),
            ("wibble web", None, "wibble"),
        ];
        for (name, api_version, kind) in table {
            let reference = object_ref(&FullName::parse(name).unwrap().at("shop"));
            assert_eq!((reference.api_version.as_deref(), reference.kind.as_str()), (api_version, kind));
            assert_eq!((reference.namespace.as_deref(), reference.name.as_str()), (Some("shop"), "web"));
        }
        assert_eq!(object_ref(&FullName::parse("crd x").unwrap().at("")).namespace, None);
    }
}
