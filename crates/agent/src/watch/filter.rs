//! Filter of objects that are not sent: of namespaces that the account leaves out, and those that Spinnaker did not deploy.

use std::{borrow::Cow, collections::HashMap};

use serde::Deserialize;
use spindrift_kubernetes::RawObject;
use spindrift_model::{Resource, ScrubRevision};

use super::stable_hash;
use crate::config::AccountConfig;

/// Filter for the objects of one kind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ObjectFilter {
    /// Set if the objects are namespaces themselves.
    by_name: bool,
    only: Vec<String>,
    omitted: Vec<String>,
    /// Set if only objects are sent that have an application by annotation.
    only_managed: bool,
}

/// Annotation of every object that Spinnaker deployed.
const APPLICATION: &str = "moniker.spinnaker.io/application";

/// Part of an object that is read.
#[derive(Deserialize)]
struct AnnotatedObject<'a> {
    #[serde(borrow)]
    metadata: AnnotatedMetadata<'a>,
}

#[derive(Deserialize)]
struct AnnotatedMetadata<'a> {
    #[serde(borrow, default)]
    annotations: Option<HashMap<Cow<'a, str>, Option<Cow<'a, str>>>>,
}

// === impl ObjectFilter ===

impl ObjectFilter {
    pub(super) fn new(config: &AccountConfig, resource: &Resource, only_managed: bool) -> Self {
        let by_name = resource.group.is_empty() && &*resource.kind == "Namespace";
        // The hub needs namespaces and definitions, whoever made them.
        let is_definition = &*resource.group == "apiextensions.k8s.io";
        let only_managed = only_managed && !by_name && !is_definition;
        if !by_name && !resource.namespaced {
            return Self { only_managed, ..Self::default() };
        }
        // Other kinds are watched in these namespaces only.
        let only = if by_name { config.namespaces.clone() } else { Vec::new() };
        let watched_in_all = by_name || config.namespaces.is_empty();
        let omitted = if watched_in_all { config.omit_namespaces.clone() } else { Vec::new() };
        Self { by_name, only, omitted, only_managed }
    }

    /// Whether the object is sent to the hub.
    pub(super) fn admits(&self, object: &RawObject) -> bool {
        let namespace = if self.by_name { &*object.name } else { &*object.namespace };
        let among = |names: &[String]| names.iter().any(|name| name == namespace);
        (self.only.is_empty() || among(&self.only))
            && !among(&self.omitted)
            && (!self.only_managed || is_managed(&object.body))
    }

    /// Whether only objects are sent that Spinnaker deployed.
    pub(super) fn is_only_managed(&self) -> bool {
        self.only_managed
    }

    /// Returns the scrub revision with this filter. Another filter has another revision, so that the scope is listed again.
    pub(super) fn revise(&self, by_rules: ScrubRevision) -> ScrubRevision {
        if self.only.is_empty() && self.omitted.is_empty() && !self.only_managed {
            return by_rules;
        }
        let sorted = |names: &[String]| {
            let mut names = names.to_vec();
            names.sort();
            names.join(",")
        };
        let managed = if self.only_managed { "managed" } else { "" };
        let names = [sorted(&self.only), sorted(&self.omitted)];
        let parts = names.iter().map(String::as_str).chain(Some(managed).filter(|it| !it.is_empty()));
        let hash = stable_hash(parts);
        // The lower half is enough: two filters of one account have to differ, not all possible ones.
        let half = u32::try_from(hash & u64::from(u32::MAX)).unwrap_or_default();
        ScrubRevision(by_rules.0 ^ half)
    }
}

/// Whether Spinnaker deployed an object. Annotations may be quoted, as JSON.
fn is_managed(body: &[u8]) -> bool {
    let Ok(AnnotatedObject { metadata: AnnotatedMetadata { annotations } }) = serde_json::from_slice(body)
    else {
        return false;
    };
    let application = annotations.as_ref().and_then(|annotations| annotations.get(APPLICATION)?.as_deref());
    application.is_some_and(|application| !application.trim_matches('"').is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: ScrubRevision = ScrubRevision(7);

    fn resource(kind: &str, namespaced: bool) -> Resource {
        let plural = format!("{}s", kind.to_lowercase()).into();
        Resource { group: "".into(), version: "v1".into(), kind: kind.into(), plural, namespaced }
    }

    fn object(namespace: &str, name: &str) -> RawObject {
        RawObject {
            namespace: namespace.into(),
            name: name.into(),
            uid: "u".into(),
            resource_version: "1".into(),
            body: "{}".into(),
        }
    }

    fn omitting(names: &[&str]) -> AccountConfig {
        let omit_namespaces = names.iter().map(ToString::to_string).collect();
        AccountConfig { omit_namespaces, ..AccountConfig::default() }
    }

    #[test]
    fn an_omitted_namespace_is_omitted_with_all_that_is_in_it_and_nothing_else() {
        let config = omitting(&["kube-system"]);
        let pods = ObjectFilter::new(&config, &resource("Pod", true), false);
        assert!(!pods.admits(&object("kube-system", "a")) && pods.admits(&object("shop", "kube-system")));
        let namespaces = ObjectFilter::new(&config, &resource("Namespace", false), false);
        assert!(!namespaces.admits(&object("", "kube-system")) && namespaces.admits(&object("", "shop")));
        let nodes = ObjectFilter::new(&config, &resource("Node", false), false);
        assert!(nodes.admits(&object("", "kube-system")));
        assert_eq!(nodes.revise(RULES), RULES);
    }

    #[test]
    fn a_change_of_the_filter_is_a_change_of_the_revision_but_its_order_is_not() {
        let revision =
            |names: &[&str]| ObjectFilter::new(&omitting(names), &resource("Pod", true), false).revise(RULES);
        assert_eq!(revision(&[]), RULES);
        assert_eq!(revision(&["a", "b"]), revision(&["b", "a"]));
        assert_ne!(revision(&["a", "b"]), revision(&["a"]));
        assert_ne!(revision(&["a"]), RULES);
    }

    #[test]
    fn only_objects_with_an_application_pass_but_every_namespace_and_definition() {
        let config = AccountConfig::default();
        let filter = |resource: &Resource| ObjectFilter::new(&config, resource, true);
        let pods = filter(&resource("Pod", true));
        let annotated = |annotations: &str| RawObject {
            body: format!(r#"{{"metadata":{{"name":"a","annotations":{annotations}}}}}"#).into(),
            ..object("shop", "a")
        };
        for managed in [
            r#"{"moniker.spinnaker.io/application":"shop"}"#,
            r#"{"moniker.spinnaker.io/application":"\"shop\""}"#,
        ] {
            assert!(pods.admits(&annotated(managed)), "{managed}");
        }
        for foreign in [
            "{}",
            "null",
            r#"{"moniker.spinnaker.io/application":""}"#,
            r#"{"moniker.spinnaker.io/application":"\"\""}"#,
            r#"{"a":"b"}"#,
        ] {
            assert!(!pods.admits(&annotated(foreign)), "{foreign}");
        }
        assert!(filter(&resource("Namespace", false)).admits(&object("", "shop")));
        let definition =
            Resource { group: "apiextensions.k8s.io".into(), ..resource("CustomResourceDefinition", false) };
        assert!(filter(&definition).admits(&object("", "a")) && !filter(&definition).is_only_managed());
        assert!(!filter(&resource("Node", false)).admits(&object("", "a")));
        assert_ne!(pods.revise(RULES), RULES);
    }
}
