//! Properties that all answers have in common.

use reqwest::Method;
use serde_json::json;
use spindrift_testkit::{Cluster, Database};

use super::{get, send};
use crate::support::Stack;

const JSON: &str = "application/json;charset=UTF-8";
const PROBLEM: &str = "application/problem+json";

#[tokio::test(flavor = "multi_thread")]
async fn requests_that_make_no_sense_are_answered_as_clouddrivers_framework_does() {
    let cluster = Cluster::shared().await.unwrap();
    let stack = Stack::start(cluster, Database::sqlite().unwrap(), &["ConfigMap"]).await;
    stack.synced("main").await;
    let hub = &stack.hub;
    let problem = |title: &str, status: u16, detail: &str, instance: &str| json!({ "type": "about:blank", "title": title, "status": status, "detail": detail, "instance": instance });
    let table = [
        ("GET", "/nope/nope", problem("Not Found", 404, "No static resource nope/nope.", "/nope/nope")),
        ("GET", "/", problem("Not Found", 404, "No static resource .", "/")),
        (
            "GET",
            "/search?q=shop",
            problem("Bad Request", 400, "Required parameter 'type' is not present.", "/search"),
        ),
        (
            "DELETE",
            "/applications/shop/clusters",
            problem(
                "Method Not Allowed",
                405,
                "Method 'DELETE' is not supported.",
                "/applications/shop/clusters",
            ),
        ),
        (
            "GET",
            "/credentials?expand=maybe",
            problem("Bad Request", 400, "Failed to convert 'expand' with value: 'maybe'", "/credentials"),
        ),
        (
            "GET",
            "/manifests/main/default/rs/cluster/shop/replicaSet%20shop/dynamic/middle",
            problem(
                "Bad Request",
                400,
                "Failed to convert 'criteria' with value: 'middle'",
                "/manifests/main/default/rs/cluster/shop/replicaSet%20shop/dynamic/middle",
            ),
        ),
    ];
    let no_name = "A name has no null character in it.";
    let table = table.into_iter().chain([
        ("GET", "/applications/%00", problem("Bad Request", 400, no_name, "/applications/%00")),
        ("GET", "/search?type=pod&q=%00", problem("Bad Request", 400, no_name, "/search")),
    ]);
    for (method, path, expected) in table {
        let answer = send(hub, method.parse().unwrap(), path, &[], "").await;
        assert_eq!(json!(answer.status), expected["status"], "{path}: {answer:?}");
        assert_eq!(answer.header("content-type"), Some(PROBLEM), "{path}");
        assert_eq!(answer.json(), expected, "{path}");
    }
    let refused = send(hub, Method::DELETE, "/applications/shop/clusters", &[], "").await;
    assert_eq!(refused.header("allow"), Some("GET,HEAD"), "every GET has a HEAD");
    let ours = get(hub, "/v1/nope").await;
    assert_eq!((ours.status, ours.json()["message"].is_string()), (404, true), "what is ours stays ours");
}

#[tokio::test(flavor = "multi_thread")]
async fn refusals_are_in_clouddrivers_words() {
    let cluster = Cluster::shared().await.unwrap();
    let stack = Stack::start(cluster, Database::sqlite().unwrap(), &["ConfigMap"]).await;
    stack.synced("main").await;
    let no_definitions =
        "Cannot use AccountDefinitionService endpoints without enabling AccountDefinitionService bean";
    let targets = "/applications/shop/clusters/main/replicaSet%20shop/kubernetes/default/serverGroups/target";
    let none = "No server groups found (account: main, location: default, cluster: replicaSet shop, type: KUBERNETES)";
    let (previous, bogus) = (format!("{targets}/previous_asg_dynamic"), format!("{targets}/bogus"));
    let both = "Provide either 'applications' or 'ids' parameter (but not both)";
    let table = [
        ("GET", "/credentials/nope", 404, "Account does not exist (name: nope)"),
        ("GET", "/credentials/type/kubernetes", 400, no_definitions),
        ("PUT", "/credentials", 400, no_definitions),
        ("DELETE", "/credentials/main", 400, no_definitions),
        ("GET", "/applications/nope", 404, "Application does not exist (name: nope)"),
        (
            "GET",
            "/applications/nope/clusters/main",
            404,
            "No clusters found (application: nope, account: main)",
        ),
        (
            "GET",
            "/applications/nope/clusters/main/deployment%20x",
            404,
            "Cluster not found (application: nope, account: main, name: deployment x)",
        ),
        (
            "GET",
            "/applications/nope/clusters/main/deployment%20x/kubernetes",
            404,
            "No clusters found (application: nope, account: main, type: kubernetes)",
        ),
        (
            "GET",
            "/applications/nope/clusters/main/deployment%20x/aws/serverGroups",
            404,
            "No cluster provider of type: aws found that can handle cluster: deployment x in application: nope, account: main",
        ),
        ("GET", &previous, 404, none),
        ("GET", &bogus, 404, "Target not found (target: bogus)"),
        ("GET", "/serverGroups", 400, both),
        ("GET", "/serverGroups?applications=a&ids=b:c:d", 400, both),
        ("GET", "/serverGroups?applications=a&ids=b:c:d&cloudProvider=aws", 400, both),
        (
            "GET",
            "/serverGroups?ids=foo,a:b:c",
            400,
            "Expected ids in the format <account>:<region>:<name> but got invalid ids: foo",
        ),
        (
            "GET",
            "/serverGroups/main/default/replicaSet%20nope",
            404,
            "Server group not found (account: main, region: default, name: replicaSet nope)",
        ),
        ("GET", "/nope/loadBalancers", 400, "No cloud provider named nope found"),
        ("GET", "/kubernetes/loadBalancers/service%20x", 400, "Not a valid operation"),
        ("GET", "/securityGroups/main/kubernetes/default/shop", 404, "Security group 'shop' does not exist"),
        (
            "GET",
            "/manifests/main/default/unicorn%20x",
            404,
            "Manifest (account: main, location: default, name: unicorn x) not found: the server doesn't have a \
             resource type \"unicorn\" in group \"\", in account main",
        ),
        ("GET", "/instances/main/default/pod%20nope", 404, "Instance not found (id: pod nope)"),
        ("GET", "/instances/nope/default/pod%20x/console", 404, "Instance not found (id: pod x)"),
        (
            "DELETE",
            "/applications/shop/jobs/main/default/job%20x",
            400,
            "cancelJob is not implemented for the Kubernetes provider",
        ),
        (
            "GET",
            "/applications/shop/jobs/main/default/shop",
            404,
            "Job not found (account: main, location: default, id: shop)",
        ),
    ];
    for (method, path, status, message) in table {
        let answer = send(&stack.hub, method.parse().unwrap(), path, &[], "{}").await;
        assert_eq!(answer.status, status, "{method} {path}: {answer:?}");
        let body = answer.json();
        assert_eq!((&body["message"], &body["status"]), (&json!(message), &json!(status)), "{method} {path}");
        assert!(body["exception"].is_string() && body["error"].is_string(), "{body}");
        assert_eq!(answer.header("content-type"), Some(JSON), "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_is_known_is_not_sent_again() {
    let cluster = Cluster::shared().await.unwrap();
    let stack = Stack::start(cluster, Database::sqlite().unwrap(), &["ConfigMap"]).await;
    stack.synced("main").await;
    let hub = &stack.hub;
    let first = get(hub, "/credentials").await;
    assert_eq!((first.status, first.header("content-type")), (200, Some(JSON)));
    let tag = first.header("etag").unwrap();
    assert!(tag.starts_with("\"0"), "it is a strong one: {tag}");
    let second = send(hub, Method::GET, "/credentials/", &[("If-None-Match", tag)], "").await;
    assert_eq!((second.status, second.text.as_str(), second.header("etag")), (304, "", Some(tag)));
    let other = send(hub, Method::GET, "/credentials", &[("If-None-Match", "\"x\"")], "").await;
    assert_eq!((other.status, &other.text), (200, &first.text));
    let head = send(hub, Method::HEAD, "/credentials", &[("Accept", "application/xml")], "").await;
    assert_eq!((head.status, head.header("content-type"), head.text.as_str()), (200, Some(JSON), ""));
}

#[tokio::test(flavor = "multi_thread")]
async fn concepts_without_a_kubernetes_equivalent_are_empty_and_not_missing() {
    let cluster = Cluster::shared().await.unwrap();
    let stack = Stack::start(cluster, Database::sqlite().unwrap(), &["ConfigMap"]).await;
    for path in [
        "/networks/kubernetes",
        "/subnets",
        "/subnets/aws",
        "/vpcs",
        "/keyPairs",
        "/instanceTypes",
        "/certificates",
        "/certificates/aws",
        "/functions",
        "/applications/shop/functions",
        "/tags",
        "/tags?entityId=x",
        "/installedPlugins",
        "/storage",
        "/reports/reservation",
        "/elasticIps/main",
        "/cache/kubernetes/manifest",
        "/kubernetes/loadBalancers",
        "/applications/nope/serverGroups",
        "/applications/nope/serverGroupManagers",
        "/applications/nope/loadBalancers",
        "/applications/nope/rawResources",
        "/applications/nope/serverGroups?clusters=",
    ] {
        let answer = get(&stack.hub, path).await;
        assert_eq!((answer.status, answer.text.as_str()), (200, "[]"), "{path}");
    }
    for path in ["/networks", "/securityGroups", "/securityGroups/nope", "/applications/nope/clusters"] {
        let answer = get(&stack.hub, path).await;
        assert_eq!((answer.status, answer.text.as_str()), (200, "{}"), "{path}");
    }
    for path in
        ["/tags/x", "/installedPlugins/x", "/projects/x/clusters", "/artifacts/content-address/shop/abc"]
    {
        assert_eq!(get(&stack.hub, path).await.status, 404, "{path}");
    }
    let refreshed = send(&stack.hub, Method::POST, "/cache/kubernetes/manifest", &[], "{}").await;
    assert_eq!(refreshed.json(), json!({ "cachedIdentifiersByType": {} }));
    let stages = get(&stack.hub, "/features/stages").await.json();
    assert_eq!(stages.as_array().unwrap().len(), 13);
    assert!(stages.as_array().unwrap().contains(&json!({ "name": "deployManifest", "enabled": true })));
}
