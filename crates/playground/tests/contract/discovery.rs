//! Discovery documents and the ways in which clients request them.

use serde_json::{Value, json};

use crate::support::{JSON, Server, failure};

facts![
    core_has_one_version,
    groups_name_their_versions_preferred_first,
    a_group_can_be_asked_alone,
    resources_of_a_group_come_with_their_subresources,
    core_resources_have_kubectls_short_names_and_categories,
    aggregated_discovery_tells_it_all_at_once,
    aggregated_discovery_falls_back_for_versions_it_does_not_know,
    unknown_groups_are_no_pages,
    unknown_versions_and_resources_are_statuses,
    a_version_of_kubernetes_is_told,
    health_is_told_to_everybody,
    openapi_lists_its_documents_by_group_version,
];

const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

const ALL_VERBS: [&str; 8] =
    ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];

/// The resources of a list without `storageVersionHash`, by which the API servers of one cluster compare their storage.
async fn resources(server: &Server, path: &str) -> anyhow::Result<Vec<Value>> {
    let mut list = server.get(path).ok().await?;
    let resources = list["resources"].as_array_mut().unwrap();
    for resource in &mut *resources {
        resource.as_object_mut().unwrap().remove("storageVersionHash");
    }
    Ok(resources.clone())
}

fn find<'a>(resources: &'a [Value], name: &str) -> &'a Value {
    let found = resources.iter().find(|resource| resource["name"] == name);
    found.unwrap_or_else(|| panic!("{name} is not served"))
}

async fn core_has_one_version(server: &Server) -> anyhow::Result<()> {
    let versions = server.get("/api").ok().await?;
    assert_eq!(versions["kind"], "APIVersions");
    assert_eq!(versions["versions"], json!(["v1"]));
    Ok(())
}

async fn groups_name_their_versions_preferred_first(server: &Server) -> anyhow::Result<()> {
    let list = server.get("/apis").ok().await?;
    assert_eq!((&list["kind"], &list["apiVersion"]), (&json!("APIGroupList"), &json!("v1")));
    let groups = list["groups"].as_array().unwrap();
    for name in [
        "apps",
        "batch",
        "networking.k8s.io",
        "policy",
        "rbac.authorization.k8s.io",
        "storage.k8s.io",
        "apiextensions.k8s.io",
        "coordination.k8s.io",
        "discovery.k8s.io",
        "events.k8s.io",
        "authorization.k8s.io",
        "authentication.k8s.io",
        "apiregistration.k8s.io",
    ] {
        let version = json!({"groupVersion": format!("{name}/v1"), "version": "v1"});
        let group = json!({"name": name, "versions": [version], "preferredVersion": version});
        assert!(groups.contains(&group), "{group} is not among {groups:?}");
    }
    let autoscaling = groups.iter().find(|group| group["name"] == "autoscaling").unwrap();
    assert_eq!(autoscaling["versions"][0]["version"], "v2");
    assert_eq!(autoscaling["versions"][1]["version"], "v1");
    assert_eq!(autoscaling["preferredVersion"]["groupVersion"], "autoscaling/v2");
    Ok(())
}

async fn a_group_can_be_asked_alone(server: &Server) -> anyhow::Result<()> {
    let version = json!({"groupVersion": "apps/v1", "version": "v1"});
    let group = json!({
        "kind": "APIGroup", "apiVersion": "v1", "name": "apps",
        "versions": [version], "preferredVersion": version,
    });
    assert_eq!(server.get("/apis/apps").ok().await?, group);
    Ok(())
}

async fn resources_of_a_group_come_with_their_subresources(server: &Server) -> anyhow::Result<()> {
    let list = server.get("/apis/apps/v1").ok().await?;
    assert_eq!(list["kind"], "APIResourceList");
    assert_eq!(list["apiVersion"], "v1");
    assert_eq!(list["groupVersion"], "apps/v1");
    let resources = resources(server, "/apis/apps/v1").await?;
    let names: Vec<&str> = resources.iter().map(|resource| resource["name"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        [
            "controllerrevisions",
            "daemonsets",
            "daemonsets/status",
            "deployments",
            "deployments/scale",
            "deployments/status",
            "replicasets",
            "replicasets/scale",
            "replicasets/status",
            "statefulsets",
            "statefulsets/scale",
            "statefulsets/status",
        ]
    );
    let deployments = json!({
        "name": "deployments", "singularName": "deployment", "namespaced": true, "kind": "Deployment",
        "verbs": ALL_VERBS, "shortNames": ["deploy"], "categories": ["all"],
    });
    let scale = json!({
        "name": "deployments/scale", "singularName": "", "namespaced": true,
        "group": "autoscaling", "version": "v1", "kind": "Scale", "verbs": ["get", "patch", "update"],
    });
    let status = json!({
        "name": "deployments/status", "singularName": "", "namespaced": true, "kind": "Deployment",
        "verbs": ["get", "patch", "update"],
    });
    assert_eq!(find(&resources, "deployments"), &deployments);
    assert_eq!(find(&resources, "deployments/scale"), &scale);
    assert_eq!(find(&resources, "deployments/status"), &status);
    Ok(())
}

async fn core_resources_have_kubectls_short_names_and_categories(server: &Server) -> anyhow::Result<()> {
    let resources = resources(server, "/api/v1").await?;
    for (name, kind, short_name) in [
        ("configmaps", "ConfigMap", "cm"),
        ("endpoints", "Endpoints", "ep"),
        ("events", "Event", "ev"),
        ("persistentvolumeclaims", "PersistentVolumeClaim", "pvc"),
        ("resourcequotas", "ResourceQuota", "quota"),
        ("serviceaccounts", "ServiceAccount", "sa"),
    ] {
        let expected = json!({
            "name": name, "singularName": kind.to_lowercase(), "namespaced": true, "kind": kind,
            "verbs": ALL_VERBS, "shortNames": [short_name],
        });
        assert_eq!(find(&resources, name), &expected);
    }
    assert_eq!(find(&resources, "pods")["categories"], json!(["all"]));
    assert_eq!(find(&resources, "services")["categories"], json!(["all"]));
    assert_eq!(find(&resources, "secrets")["shortNames"], Value::Null);
    assert_eq!(find(&resources, "nodes")["namespaced"], false);
    let namespaces = json!(["create", "delete", "get", "list", "patch", "update", "watch"]);
    assert_eq!(find(&resources, "namespaces")["verbs"], namespaces, "they cannot be deleted all at once");
    let eviction = json!({
        "name": "pods/eviction", "singularName": "", "namespaced": true,
        "group": "policy", "version": "v1", "kind": "Eviction", "verbs": ["create"],
    });
    assert_eq!(find(&resources, "pods/eviction"), &eviction);
    let log =
        json!({"name": "pods/log", "singularName": "", "namespaced": true, "kind": "Pod", "verbs": ["get"]});
    assert_eq!(find(&resources, "pods/log"), &log);
    Ok(())
}

async fn aggregated_discovery_tells_it_all_at_once(server: &Server) -> anyhow::Result<()> {
    // As kubectl and client-go request it: aggregated discovery, with the legacy documents as the fallback.
    let answer = server.get("/apis").accept(&format!("{AGGREGATED},{JSON}")).answer().await?;
    assert_eq!(answer.header("content-type"), AGGREGATED);
    let list = answer.json()?;
    assert_eq!(list["kind"], "APIGroupDiscoveryList");
    assert_eq!(list["apiVersion"], "apidiscovery.k8s.io/v2");
    let items = list["items"].as_array().unwrap();
    let apps = items.iter().find(|item| item["metadata"]["name"] == "apps").unwrap();
    let version = &apps["versions"][0];
    assert_eq!((&version["version"], &version["freshness"]), (&json!("v1"), &json!("Current")));
    let resources = version["resources"].as_array().unwrap();
    let deployments = resources.iter().find(|resource| resource["resource"] == "deployments").unwrap();
    let response_kind = |group, version, kind| json!({"group": group, "version": version, "kind": kind});
    let expected = json!({
        "resource": "deployments", "responseKind": response_kind("", "", "Deployment"),
        "scope": "Namespaced", "singularResource": "deployment", "verbs": ALL_VERBS,
        "shortNames": ["deploy"], "categories": ["all"],
        "subresources": [
            {
                "subresource": "scale", "responseKind": response_kind("autoscaling", "v1", "Scale"),
                "verbs": ["get", "patch", "update"],
            },
            {
                "subresource": "status", "responseKind": response_kind("", "", "Deployment"),
                "verbs": ["get", "patch", "update"],
            },
        ],
    });
    assert_eq!(deployments, &expected);

    let core = server.get("/api").accept(AGGREGATED).ok().await?;
    assert_eq!(core["items"][0]["metadata"], json!({}));
    assert_eq!(core["items"][0]["versions"][0]["version"], "v1");
    Ok(())
}

async fn aggregated_discovery_falls_back_for_versions_it_does_not_know(
    server: &Server,
) -> anyhow::Result<()> {
    let unknown = "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList";
    let answer = server.get("/apis").accept(&format!("{unknown},{JSON}")).answer().await?;
    assert_eq!(answer.header("content-type"), JSON);
    assert_eq!(answer.json()?["kind"], "APIGroupList");
    Ok(())
}

async fn unknown_groups_are_no_pages(server: &Server) -> anyhow::Result<()> {
    for path in ["/apis/absent.example", "/apis/absent.example/v1/things", "/absent"] {
        let answer = server.get(path).answer().await?;
        assert_eq!((answer.code, answer.text().as_str()), (404, "404 page not found\n"), "{path}");
        assert_eq!(answer.header("content-type"), "text/plain; charset=utf-8");
    }
    Ok(())
}

async fn unknown_versions_and_resources_are_statuses(server: &Server) -> anyhow::Result<()> {
    let expected = failure(404, "NotFound", "the server could not find the requested resource", json!({}));
    for path in ["/apis/apps/v9", "/api/v1/things", "/apis/apps/v1/things"] {
        assert_eq!(server.get(path).refused().await?, expected, "{path}");
    }
    Ok(())
}

async fn a_version_of_kubernetes_is_told(server: &Server) -> anyhow::Result<()> {
    let version = server.get("/version").ok().await?;
    let (major, minor) = (version["major"].as_str().unwrap(), version["minor"].as_str().unwrap());
    assert!(version["gitVersion"].as_str().unwrap().starts_with(&format!("v{major}.{minor}.")), "{version}");
    for field in ["platform", "goVersion", "compiler", "buildDate", "gitCommit", "gitTreeState"] {
        assert!(version[field].is_string(), "{field} of {version}");
    }
    Ok(())
}

async fn health_is_told_to_everybody(server: &Server) -> anyhow::Result<()> {
    for path in ["/healthz", "/livez", "/readyz"] {
        let answer = server.get(path).by_user("nobody").answer().await?;
        assert_eq!((answer.code, answer.text().as_str()), (200, "ok"), "{path}");
        assert_eq!(answer.header("content-type"), "text/plain; charset=utf-8");
    }
    Ok(())
}

async fn openapi_lists_its_documents_by_group_version(server: &Server) -> anyhow::Result<()> {
    let index = server.get("/openapi/v3").ok().await?;
    for group_version in ["api/v1", "apis/apps/v1", "apis/batch/v1"] {
        let url = index["paths"][group_version]["serverRelativeURL"].as_str().unwrap();
        let document = server.get(url).ok().await?;
        assert!(document["openapi"].as_str().unwrap().starts_with("3."), "{group_version}");
        assert!(document["paths"].is_object(), "{group_version}");
    }
    Ok(())
}
