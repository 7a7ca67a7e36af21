//! Differences from the real server, as `docs/playground.md` lists them. If a test fails here, the playground has
//! improved: remove the line from the page, and turn the test into a fact.

use serde_json::{Value, json};

use crate::support::{Server, config_map, failure, names, pod, with};

#[tokio::test]
async fn some_groups_and_resources_are_not_served() -> anyhow::Result<()> {
    let server = Server::playground().await?;
    for path in [
        "/apis/resource.k8s.io",
        "/apis/flowcontrol.apiserver.k8s.io",
        "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies",
        "/api/v1/componentstatuses",
        "/metrics",
    ] {
        assert_eq!(server.get(path).answer().await?.code, 404, "{path}");
    }
    Ok(())
}

#[tokio::test]
async fn nothing_reaches_into_containers() -> anyhow::Result<()> {
    let server = Server::playground().await?;
    server.post(server.core("pods"), with(pod("main"), "/spec/nodeName", "node-1")).ok().await?;
    let absent = failure(404, "NotFound", "the server could not find the requested resource", json!({}));
    for subresource in ["exec", "attach", "portforward", "proxy", "ephemeralcontainers", "resize"] {
        let path = server.core(&format!("pods/main/{subresource}"));
        assert_eq!(server.get(path).refused().await?, absent, "{subresource}");
    }
    Ok(())
}

#[tokio::test]
async fn answers_are_json_or_yaml() -> anyhow::Result<()> {
    let server = Server::playground().await?;
    server.config_map("one").await?;
    for accept in ["application/vnd.kubernetes.protobuf", "application/cbor"] {
        let refused = server.get(server.core("configmaps/one")).accept(accept).refused().await?;
        assert_eq!(refused["code"], 406, "{accept}");
    }
    Ok(())
}

#[tokio::test]
async fn quotas_and_limit_ranges_are_only_kept() -> anyhow::Result<()> {
    let server = Server::playground().await?;
    let quota = json!({"metadata": {"name": "none"}, "spec": {"hard": {"pods": "0"}}});
    server.post(server.core("resourcequotas"), quota).ok().await?;
    let limits = json!({
        "metadata": {"name": "default"}, "spec": {"limits": [{"type": "Container", "default": {"cpu": "1"}}]},
    });
    server.post(server.core("limitranges"), limits).ok().await?;
    let created = server.post(server.core("pods"), pod("main")).ok().await?;
    assert_eq!(created["spec"]["containers"][0]["resources"], json!({}));
    Ok(())
}

#[tokio::test]
async fn many_rules_of_built_in_kinds_are_not_checked() -> anyhow::Result<()> {
    let server = Server::playground().await?;
    let container = "/spec/containers/0";
    for object in [
        with(pod("main"), &format!("{container}/ports"), json!([{"containerPort": 99_999}])),
        with(
            pod("main"),
            &format!("{container}/volumeMounts"),
            json!([{"name": "absent", "mountPath": "/x"}]),
        ),
    ] {
        server.post(server.core("pods?dryRun=All"), object).ok().await?;
    }
    let ingress = json!({"metadata": {"name": "empty"}, "spec": {}});
    server.post(server.named("networking.k8s.io/v1", "ingresses"), ingress).ok().await?;
    Ok(())
}

#[tokio::test]
async fn some_words_of_schemas_are_not_understood() -> anyhow::Result<()> {
    let server = Server::playground().await?;
    let group = format!("{}.example.com", server.namespace());
    let spec = json!({
        "type": "object",
        "x-kubernetes-validations": [{"rule": "self.size < 5"}],
        "properties": {
            "size": {"type": "integer"},
            "word": {"type": "string", "pattern": "^a", "maxLength": 3},
            "list": {"type": "array", "items": {"type": "string"}, "maxItems": 1},
        },
    });
    let schema = json!({"type": "object", "properties": {"spec": spec}});
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("rules.{group}")},
        "spec": {
            "group": group, "scope": "Namespaced", "names": {"plural": "rules", "singular": "rule", "kind": "Rule"},
            "versions": [{
                "name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema},
                "selectableFields": [{"jsonPath": ".spec.size"}],
            }],
        },
    });
    server.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition).ok().await?;
    let path = server.named(&format!("{group}/v1"), "rules");
    let rule = json!({
        "apiVersion": format!("{group}/v1"), "kind": "Rule", "metadata": {"name": "one"},
        "spec": {"size": 9, "word": "bbbb", "list": ["a", "b"]},
    });
    server.post(path.clone(), rule).ok().await?;
    let refused = server.get(format!("{path}?fieldSelector=spec.size=9")).refused().await?;
    assert_eq!(refused["message"], "field label not supported: spec.size");
    Ok(())
}

#[tokio::test]
async fn the_past_is_counted_in_changes() -> anyhow::Result<()> {
    let server = Server::playground().await?;
    let first = server.config_map("first").await?;
    // The default of `ClusterOptions`; the real server keeps five minutes, whatever the number of changes.
    for number in 0..2_100 {
        let object = with(config_map("many"), "/metadata/namespace", server.namespace());
        let object = with(object, "/metadata/name", format!("many-{number}"));
        server.playground_cluster().create(object)?;
    }
    let query = format!("resourceVersion={}", first["metadata"]["resourceVersion"].as_str().unwrap());
    let events = server.watch_config_maps(&query).await?.rest().await?;
    assert_eq!(events[0]["object"]["reason"], "Expired");
    assert_eq!(names(&server.get(server.core("configmaps")).ok().await?).len(), 2_101);
    Ok(())
}

#[tokio::test]
async fn the_managers_of_plain_writes_own_no_maps() -> anyhow::Result<()> {
    let server = Server::playground().await?;
    let created = server.config_map("one").await?;
    let fields = &created["metadata"]["managedFields"][0]["fieldsV1"];
    assert_eq!(fields["f:data"]["."], Value::Null, "the real server notes the map itself, too");
    Ok(())
}
