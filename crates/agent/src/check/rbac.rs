//! Check of the permissions to list and watch, with the rule to add where one is missing.

use std::collections::BTreeMap;

use futures::{StreamExt, TryStreamExt, stream};
use spindrift_kubernetes::{Access, Api, Redactions};
use spindrift_model::{CacheKinds, DEFAULT_CACHE_KINDS, KindPattern, Resource};
use spindrift_process::{check::Section, report};

use crate::config::AccountConfig;

/// Verbs that a watch needs.
const VERBS: [&str; 2] = ["list", "watch"];

/// Concurrent reviews; each is small, and there are two per kind and namespace.
const QUESTIONS_AT_A_TIME: usize = 8;

/// The verbs that are missing, by namespace; the empty one stands for all.
type Missing = BTreeMap<String, Vec<&'static str>>;

pub(super) async fn check(config: &AccountConfig, api: &Api, user: &str, section: &mut Section) {
    let discovery = match api.discover().await {
        Ok(discovery) => discovery,
        Err(error) => {
            let remedy = format!("bind {user} to the ClusterRole system:discovery");
            section.wrong("kinds", report(&error), remedy);
            section.skip(&["rbac"], "it is not known what the API server serves");
            return;
        }
    };
    for group in &discovery.undiscovered_groups {
        let remedy = "repair the aggregated API behind it (kubectl get apiservices), or remove it";
        section.warn("kinds", format!("API group {group} does not answer"), remedy);
    }
    let redactions = Redactions::compile(&config.redact).unwrap_or_default();
    let redacted = redactions.unserved(&discovery).map(|kind| ("redact", kind));
    for (setting, kind) in config.unserved_kinds(&discovery).chain(redacted) {
        let remedy = format!("correct {setting} of account {}", config.name);
        section.warn("kinds", format!("the API server serves no kind {kind:?} ({setting})"), remedy);
    }
    let cached = |resource: &&Resource| is_cached(config, resource, discovery.short_names(resource));
    let kinds: Vec<_> = discovery.resources.iter().filter(cached).cloned().collect();
    if kinds.is_empty() {
        let remedy = format!("correct kinds and omitKinds of account {}", config.name);
        section.warn("kinds", "no kind is left to be cached", remedy);
        return;
    }
    let asked = stream::iter(&kinds)
        .map(|kind| Box::pin(async move { Ok::<_, String>((kind, missing(config, api, kind).await?)) }))
        .buffered(QUESTIONS_AT_A_TIME)
        .try_collect::<Vec<_>>();
    let denied = match asked.await {
        Ok(answers) => answers.into_iter().filter(|(_, missing)| !missing.is_empty()).collect::<Vec<_>>(),
        Err(error) => {
            section.skip(&["rbac"], &format!("the API server does not say what is allowed: {error}"));
            return;
        }
    };
    let allowed = kinds.len() - denied.len();
    if allowed > 0 {
        let place = if config.namespaces.is_empty() {
            "all namespaces".to_owned()
        } else {
            config.namespaces.join(", ")
        };
        section.ok("rbac", format!("may list and watch {allowed} kinds in {place}"));
    }
    for (kind, missing) in &denied {
        section.wrong("rbac", describe(kind, missing), rule(user, kind, missing));
    }
    cluster_uid(api, user, section).await;
}

/// Kinds that the hub caches by default, or those that the account names: the hub sends its own only to registered agents.
fn is_cached(config: &AccountConfig, resource: &Resource, short_names: &[String]) -> bool {
    let defaults = CacheKinds {
        kinds: DEFAULT_CACHE_KINDS.iter().map(|kind| KindPattern::parse(kind)).collect(),
        ..CacheKinds::default()
    };
    (resource.namespaced || !config.only_namespaced_resources)
        && config.admits(resource, short_names)
        && config.cached_kinds(&defaults).wants(resource, short_names)
}

async fn missing(config: &AccountConfig, api: &Api, resource: &Resource) -> Result<Missing, String> {
    let everywhere = [String::new()];
    let namespaces = if resource.namespaced && !config.namespaces.is_empty() {
        config.namespaces.as_slice()
    } else {
        &everywhere
    };
    let mut missing = Missing::new();
    for namespace in namespaces {
        for verb in VERBS {
            let within = Some(namespace.as_str()).filter(|namespace| !namespace.is_empty());
            let access = Access { verb, resource, namespace: within, name: None };
            if !api.may(access).await.map_err(|error| report(&error))? {
                missing.entry(namespace.clone()).or_default().push(verb);
            }
        }
    }
    Ok(missing)
}

fn describe(resource: &Resource, missing: &Missing) -> String {
    let Resource { plural, group, namespaced, .. } = resource;
    let full = if group.is_empty() { plural.to_string() } else { format!("{plural}.{group}") };
    let places: Vec<_> = missing
        .iter()
        .map(|(namespace, verbs)| {
            let verbs = verbs.join(" and ");
            match namespace.as_str() {
                "" if *namespaced => format!("{verbs} {full} in all namespaces"),
                "" => format!("{verbs} {full}"),
                namespace => format!("{verbs} {full} in namespace {namespace}"),
            }
        })
        .collect();
    format!("may not {}", places.join(", nor "))
}

fn rule(user: &str, resource: &Resource, missing: &Missing) -> String {
    let Resource { plural, group, .. } = resource;
    let rule = format!(
        "{{apiGroups: [\"{group}\"], resources: [\"{plural}\"], verbs: [\"get\", \"list\", \"watch\"]}}"
    );
    let namespaces: Vec<_> = missing.keys().filter(|namespace| !namespace.is_empty()).cloned().collect();
    if namespaces.is_empty() {
        format!("add the rule {rule} to a ClusterRole that a ClusterRoleBinding binds to {user}")
    } else {
        let places = namespaces.join(", ");
        format!("add the rule {rule} to a ClusterRole that a RoleBinding in {places} binds to {user}")
    }
}

/// Checks the identity by which the hub distinguishes clusters.
async fn cluster_uid(api: &Api, user: &str, section: &mut Section) {
    let resource = Resource::namespaces();
    let access = Access {
        verb: "get",
        resource: &resource,
        namespace: Some("kube-system"),
        name: Some("kube-system"),
    };
    match api.may(access).await {
        Ok(true) => section.ok("cluster", "its uid can be read"),
        Ok(false) => section.warn(
            "cluster",
            "its uid cannot be read: the hub will know it by its CA, which may change",
            format!("allow {user} to get the namespace kube-system: {{apiGroups: [\"\"], resources: [\"namespaces\"], resourceNames: [\"kube-system\"], verbs: [\"get\"]}}"),
        ),
        Err(_) => section.skip(&["cluster"], "the API server does not say what is allowed"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_missing_verb_is_named_with_the_rule_to_add() {
        let deployments = Resource {
            group: "apps".into(),
            version: "v1".into(),
            kind: "Deployment".into(),
            plural: "deployments".into(),
            namespaced: true,
        };
        let everywhere = Missing::from([(String::new(), vec!["list", "watch"])]);
        assert_eq!(
            describe(&deployments, &everywhere),
            "may not list and watch deployments.apps in all namespaces"
        );
        let rule_text = rule("eve", &deployments, &everywhere);
        assert!(rule_text.contains(r#"{apiGroups: ["apps"], resources: ["deployments"]"#), "{rule_text}");
        assert!(rule_text.contains("ClusterRoleBinding binds to eve"), "{rule_text}");
        let limited = Missing::from([("shop".to_owned(), vec!["watch"])]);
        assert_eq!(describe(&deployments, &limited), "may not watch deployments.apps in namespace shop");
        assert!(rule("eve", &deployments, &limited).contains("RoleBinding in shop"));
    }
}
