//! A request of each verb, as examples in the description of the API.

use serde_json::{Value, json};
use utoipa::openapi::{RefOr, example::Example};

/// Requests by the name of their verb.
pub(in crate::rest) fn examples() -> impl Iterator<Item = (String, RefOr<Example>)> {
    requests().into_iter().map(|request| {
        let verb = request["verb"].as_str().unwrap_or_default().to_owned();
        let mut example = Example::new();
        example.value = Some(request);
        (verb, RefOr::T(example))
    })
}

fn requests() -> Vec<Value> {
    let web = json!({ "kind": "Deployment", "namespace": "shop", "name": "web" });
    let settings = json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": { "namespace": "shop", "name": "settings" },
        "data": { "theme": "dark" },
    });
    vec![
        json!({ "verb": "apply", "manifest": settings, "mode": "server-side" }),
        json!({ "verb": "create", "manifest": settings }),
        json!({ "verb": "replace", "manifest": settings, "orCreate": true }),
        json!({ "verb": "patch", "target": web, "type": "merge", "patch": { "spec": { "paused": true } } }),
        json!({ "verb": "delete", "kind": "ConfigMap", "namespace": "shop", "name": "settings" }),
        json!({ "verb": "scale", "target": web, "replicas": 3 }),
        json!({ "verb": "rollout", "target": web, "action": "undo", "toRevision": 2 }),
        json!({ "verb": "get", "target": web }),
        json!({ "verb": "list", "kind": "pods", "namespace": "shop", "labelSelector": "app=web" }),
        json!({ "verb": "logs", "target": web, "tailLines": 100 }),
        json!({ "verb": "top", "kind": "pods", "namespace": "shop" }),
        json!({ "verb": "discover" }),
        json!({ "verb": "diff", "manifest": settings }),
        json!({ "verb": "matches", "target": { "kind": "ConfigMap", "namespace": "shop", "name": "settings" }, "manifest": settings }),
    ]
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use spindrift_model::Verb;

    use super::*;

    #[test]
    fn every_verb_has_an_example_that_parses() {
        let mut named = BTreeSet::new();
        for request in requests() {
            let verb: Verb =
                serde_json::from_value(request.clone()).unwrap_or_else(|error| panic!("{request}: {error}"));
            named.insert(verb.name());
        }
        assert_eq!(named, BTreeSet::from(Verb::NAMES));
    }
}
