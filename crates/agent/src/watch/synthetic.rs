//! Synthetic Namespaces and CustomResourceDefinitions, declared in the configuration because the agent may not read them.
//!
//! Spinnaker needs them to offer them. They are reported like objects that were listed; when the real ones can be read,
//! these replace them.

use serde_json::{Value, json};
use spindrift_kubernetes::{Discovery, RawObject};
use spindrift_model::{Resource, ResourceVersion};

use super::stable_hash;
use crate::config::{AccountConfig, CustomResource, CustomResourceScope};

/// Annotation of synthetic objects.
const ANNOTATION: &str = "spindrift.io/synthetic";

/// Prefix of their resource versions, which no API server uses.
const VERSION_PREFIX: &str = "synthetic-";

/// Synthetic objects of a scope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SyntheticObjects {
    pub(crate) objects: Vec<RawObject>,
    /// Version of the list; changes if any object does.
    pub(crate) version: ResourceVersion,
}

// === impl SyntheticObjects ===

impl SyntheticObjects {
    /// Returns the objects that the account declares of this resource, if any.
    pub(crate) fn of(resource: &Resource, config: &AccountConfig, discovery: &Discovery) -> Option<Self> {
        let objects: Vec<_> = match (&*resource.group, &*resource.kind) {
            ("", "Namespace") => config.namespaces.iter().map(|name| namespace(name)).collect(),
            ("apiextensions.k8s.io", "CustomResourceDefinition") => {
                let declared = config.custom_resource_definitions.iter();
                declared.filter_map(|declared| definition(declared, discovery)).collect()
            }
            _ => return None,
        };
        let hash = stable_hash(objects.iter().map(|object| object.resource_version.as_str()));
        let version = format!("{VERSION_PREFIX}{hash}").into();
        (!objects.is_empty()).then_some(Self { objects, version })
    }

    /// Whether a version is synthetic, so that no watch can resume from it.
    pub(crate) fn is_version(version: &ResourceVersion) -> bool {
        version.as_str().starts_with(VERSION_PREFIX)
    }
}

fn namespace(name: &str) -> RawObject {
    let labels = json!({ "kubernetes.io/metadata.name": name });
    object("v1", "Namespace", name, &labels, json!({ "spec": {}, "status": { "phase": "Active" } }))
}

/// Returns none if it is not declared as `Kind.group`.
fn definition(declared: &CustomResource, discovery: &Discovery) -> Option<RawObject> {
    let (kind, group) = declared.kind.trim().split_once('.')?;
    // Discovery needs no permission, and prevails over the configuration.
    let served = discovery
        .resources
        .iter()
        .find(|served| *served.group == *group && served.kind.eq_ignore_ascii_case(kind));
    let (kind, plural, version, namespaced) = if let Some(served) = served {
        let Resource { version, kind, plural, namespaced, .. } = served;
        (kind.to_string(), plural.to_string(), version.to_string(), *namespaced)
    } else {
        let namespaced = declared.scope == CustomResourceScope::Namespaced;
        (kind.to_owned(), format!("{}s", kind.to_lowercase()), "v1".to_owned(), namespaced)
    };
    let spec = json!({
        "group": group,
        "names": {
            "kind": kind, "listKind": format!("{kind}List"), "plural": plural, "singular": kind.to_lowercase(),
        },
        "scope": if namespaced { "Namespaced" } else { "Cluster" },
        "versions": [{ "name": version, "served": true, "storage": true }],
    });
    let name = format!("{plural}.{group}");
    let rest = json!({ "spec": spec });
    Some(object("apiextensions.k8s.io/v1", "CustomResourceDefinition", &name, &json!({}), rest))
}

/// Builds an object whose uid and version are the same at every start; the version changes with the content.
fn object(api_version: &str, kind: &str, name: &str, labels: &Value, rest: Value) -> RawObject {
    let uid = format!("synthetic:{kind}:{name}");
    let version = stable_hash([name, &labels.to_string(), &rest.to_string()]).to_string();
    let mut object = json!({
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {
            "name": name,
            "uid": uid,
            "resourceVersion": version,
            "labels": labels,
            "annotations": { ANNOTATION: "true" },
        },
    });
    if let (Some(object), Value::Object(rest)) = (object.as_object_mut(), rest) {
        object.extend(rest);
    }
    RawObject {
        namespace: "".into(),
        name: name.into(),
        uid: uid.into(),
        resource_version: version.into(),
        body: object.to_string().into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resource(group: &str, kind: &str) -> Resource {
        Resource {
            group: group.into(),
            version: "v1".into(),
            kind: kind.into(),
            plural: format!("{}s", kind.to_lowercase()).into(),
            namespaced: false,
        }
    }

    fn config(yaml: Value) -> AccountConfig {
        serde_json::from_value(yaml).unwrap()
    }

    #[test]
    fn declared_namespaces_have_stable_uids_and_versions() {
        let config = config(json!({ "namespaces": ["shop", "stage"] }));
        let synthetic =
            || SyntheticObjects::of(&resource("", "Namespace"), &config, &Discovery::default()).unwrap();
        assert_eq!(synthetic(), synthetic());
        let [shop, _] = &synthetic().objects[..] else { panic!("two namespaces") };
        let body: Value = serde_json::from_slice(&shop.body).unwrap();
        assert_eq!(body["metadata"]["annotations"][ANNOTATION], "true");
        assert_eq!(body["status"]["phase"], "Active");
        assert_eq!(SyntheticObjects::of(&resource("", "Pod"), &config, &Discovery::default()), None);
    }

    #[test]
    fn declared_custom_resources_are_namespaced_by_default() {
        let crds = resource("apiextensions.k8s.io", "CustomResourceDefinition");
        let synthetic = |declared: Value| {
            let config = config(json!({ "customResourceDefinitions": [declared] }));
            SyntheticObjects::of(&crds, &config, &Discovery::default())
                .map(|found| serde_json::from_slice::<Value>(&found.objects[0].body).unwrap())
        };
        let cart = synthetic(json!({ "kind": "Cart.shop.example.com" })).unwrap();
        assert_eq!(cart["metadata"]["name"], "carts.shop.example.com");
        assert_eq!(cart["spec"]["scope"], "Namespaced");
        let wide = synthetic(json!({ "kind": "Till.shop.example.com", "scope": "Cluster" })).unwrap();
        assert_eq!(wide["spec"]["scope"], "Cluster");
        assert_eq!(synthetic(json!({ "kind": "NoGroup" })), None);
    }
}
