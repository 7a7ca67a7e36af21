//! What a verb is about: for people, for the order of mutations, and for the namespaces of an account.

use serde::Deserialize;
use serde_json::Value;
use spindrift_model::{Manifest, ObjectRef, Verb};

/// What a verb is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct About {
    /// `Deployment shop/web`.
    pub(super) target: String,
    /// Where, if the request says so.
    pub(super) namespace: Option<String>,
    /// Whether values of a Secret are asked for.
    pub(super) reveals: bool,
}

/// What an account was announced with, as far as it limits operations.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Limits {
    namespaces: Vec<String>,
    omit_namespaces: Vec<String>,
}

/// A column's width; names are shorter, but who knows what a manifest says.
const LONGEST_TARGET: usize = 512;

// === impl About ===

impl About {
    pub(super) fn of(verb: &Verb) -> Self {
        let mut about = match verb {
            Verb::Apply(apply) => Self::manifest(&apply.manifest, apply.namespace.as_deref()),
            Verb::Create(create) => Self::manifest(&create.manifest, create.namespace.as_deref()),
            Verb::Replace(replace) => Self::manifest(&replace.manifest, replace.namespace.as_deref()),
            Verb::Diff(diff) => Self::manifest(&diff.manifest, diff.namespace.as_deref()),
            Verb::Patch(patch) => Self::object(&patch.target),
            Verb::Scale(scale) => Self::object(&scale.target),
            Verb::Rollout(rollout) => Self::object(&rollout.target),
            Verb::Get(get) => Self::object(&get.target),
            Verb::Logs(logs) => Self::object(&logs.target),
            Verb::Matches(matches) => Self::object(&matches.target),
            Verb::Delete(delete) => {
                let selector = delete.label_selector.as_deref().or(delete.field_selector.as_deref());
                let name = delete.name.as_deref().or(selector).unwrap_or("*");
                Self::named(&delete.kind, delete.namespace.as_deref(), name)
            }
            Verb::List(list) => {
                let selector = list.label_selector.as_deref().or(list.field_selector.as_deref());
                Self::named(&list.kind, list.namespace.as_deref(), selector.unwrap_or("*"))
            }
            Verb::Top(top) => {
                let name = top.name.as_deref().or(top.label_selector.as_deref()).unwrap_or("*");
                Self::named(&top.kind, top.namespace.as_deref(), name)
            }
            Verb::Discover {} => Self::named("resources", None, "*"),
        };
        about.reveals = matches!(verb, Verb::Get(get) if get.reveal);
        about
    }

    fn object(ObjectRef { api_version: _, kind, namespace, name }: &ObjectRef) -> Self {
        Self::named(kind, namespace.as_deref(), name)
    }

    fn manifest(Manifest(manifest): &Manifest, namespace: Option<&str>) -> Self {
        let text = |pointer| manifest.pointer(pointer).and_then(Value::as_str);
        let name = text("/metadata/name").or_else(|| text("/metadata/generateName"));
        let namespace = text("/metadata/namespace").or(namespace);
        Self::named(text("/kind").unwrap_or("?"), namespace, name.unwrap_or("?"))
    }

    fn named(kind: &str, namespace: Option<&str>, name: &str) -> Self {
        let target = match namespace {
            Some(namespace) => format!("{kind} {namespace}/{name}"),
            None => format!("{kind} {name}"),
        };
        Self {
            target: target.chars().filter(|c| !c.is_control()).take(LONGEST_TARGET).collect(),
            namespace: namespace.map(str::to_owned),
            reveals: false,
        }
    }

    /// The namespace that the account's configuration does not allow, by the properties that it was announced with.
    /// What the request does not say, the agent finds out.
    pub(super) fn forbidden_namespace(&self, properties: &str) -> Option<&str> {
        let namespace = self.namespace.as_deref().filter(|namespace| !namespace.is_empty())?;
        let Limits { namespaces, omit_namespaces } = serde_json::from_str(properties).unwrap_or_default();
        let allowed = namespaces.is_empty() || namespaces.iter().any(|allowed| allowed == namespace);
        let omitted = omit_namespaces.iter().any(|omitted| omitted == namespace);
        (!allowed || omitted).then_some(namespace)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn about(json: &str) -> About {
        About::of(&serde_json::from_str(json).unwrap())
    }

    #[test]
    fn targets_are_what_people_would_call_them() {
        for (verb, target) in [
            (
                r#"{"verb":"apply","manifest":{"kind":"Deployment","metadata":{"name":"web"}},"namespace":"shop"}"#,
                "Deployment shop/web",
            ),
            (
                r#"{"verb":"create","manifest":{"kind":"Job","metadata":{"generateName":"run-","namespace":"a"}},"namespace":"b"}"#,
                "Job a/run-",
            ),
            (
                r#"{"verb":"delete","kind":"pods","namespace":"shop","labelSelector":"app=web"}"#,
                "pods shop/app=web",
            ),
            (r#"{"verb":"list","kind":"nodes"}"#, "nodes *"),
            (r#"{"verb":"get","target":{"kind":"po","name":"x"}}"#, "po x"),
        ] {
            assert_eq!(about(verb).target, target);
        }
    }

    #[test]
    fn a_namespace_is_forbidden_if_the_account_is_limited_to_others_or_omits_it() {
        let web = about(r#"{"verb":"get","target":{"kind":"po","namespace":"shop","name":"x"}}"#);
        let node = about(r#"{"verb":"get","target":{"kind":"no","name":"x"}}"#);
        for (properties, forbidden) in [
            ("{}", None),
            ("", None),
            (r#"{"namespaces":["shop","other"],"permissions":{}}"#, None),
            (r#"{"namespaces":["other"]}"#, Some("shop")),
            (r#"{"namespaces":[],"omitNamespaces":["shop"]}"#, Some("shop")),
        ] {
            assert_eq!(web.forbidden_namespace(properties), forbidden, "{properties}");
            assert_eq!(node.forbidden_namespace(properties), None);
        }
    }
}
