//! Lists and details from the store: at once, whatever the state of a cluster, and marked where they are old.

use serde_json::{Value, json};
use spindrift_testkit::{Cluster, Database, eventually};

use super::{ClouddriverAnswer, get};
use crate::support::{LONG, Stack};

/// Kinds that Spinnaker shows.
const KINDS: [&str; 6] = [
    "Deployment.apps",
    "ReplicaSet.apps",
    "Pod",
    "Service",
    "Ingress.networking.k8s.io",
    "NetworkPolicy.networking.k8s.io",
];

/// An application in a namespace of a cluster where nothing acts by itself, so that all of it is as it was written.
async fn bazaar(cluster: &Cluster, namespace: &str) {
    let annotated = |kind: &str, name: &str, of: &str| {
        json!({ "name": name, "namespace": namespace, "labels": { "app": "bazaar" }, "annotations": {
            "moniker.spinnaker.io/application": "bazaar", "moniker.spinnaker.io/cluster": format!("{kind} {of}") } })
    };
    let containers = json!({ "containers": [{ "name": "main", "image": "bazaar:1" }] });
    let template = json!({ "metadata": { "labels": { "app": "bazaar" } }, "spec": containers });
    let spec = |replicas: u32| json!({ "replicas": replicas, "selector": { "matchLabels": { "app": "bazaar" } }, "template": template });
    let ports = json!([{ "port": 80, "protocol": "TCP" }]);
    let items = [
        json!({ "apiVersion": "apps/v1", "kind": "Deployment", "metadata": annotated("deployment", "bazaar", "bazaar"), "spec": spec(2) }),
        json!({ "apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": annotated("replicaSet", "bazaar-v000", "bazaar"), "spec": spec(1) }),
        json!({ "apiVersion": "v1", "kind": "Service", "metadata": annotated("service", "bazaar", "bazaar"),
            "spec": { "selector": { "app": "bazaar" }, "ports": ports } }),
        json!({ "apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": annotated("networkPolicy", "bazaar", "bazaar"),
            "spec": { "podSelector": {}, "ingress": [{ "ports": ports }] } }),
    ];
    let list = json!({ "apiVersion": "v1", "kind": "List", "items": items }).to_string();
    cluster.kubectl_stdin(&["create", "-f", "-"], &list).await.unwrap();
    let uid = ["get", "rs", "bazaar-v000", "-n", namespace, "-o", "jsonpath={.metadata.uid}"];
    let uid = cluster.kubectl(&uid).await.unwrap();
    let mut metadata = annotated("replicaSet", "bazaar-v000-x", "bazaar");
    metadata["ownerReferences"] =
        json!([{ "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "bazaar-v000", "uid": uid.trim() }]);
    let pod =
        json!({ "apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": containers }).to_string();
    cluster.kubectl_stdin(&["create", "-f", "-"], &pod).await.unwrap();
}

/// An answer that is complete, and marked so.
async fn shown(stack: &Stack, path: &str) -> Value {
    let answer = get(&stack.hub, path).await;
    assert_eq!((answer.status, answer.stale()), (200, None), "{path}: {answer:?}");
    answer.json()
}

async fn stack(cluster: &Cluster, database: Database, namespace: &str) -> Stack {
    let account =
        json!({ "name": "main", "kubeconfigFile": cluster.kubeconfig(), "namespaces": [namespace] });
    let stack = Stack::with_accounts(database, &KINDS, json!([account])).await;
    stack.synced("main").await;
    eventually("all of the application is in the store", LONG, || async {
        let found = get(
            &stack.hub,
            "/search?q=bazaar&type=instances,serverGroups,loadBalancers,securityGroups,serverGroupManagers",
        )
        .await;
        let direct = found.json()[0]["results"].as_array().map_or(0, Vec::len);
        // Each is found by its name, and all but the pod by its application once more.
        (direct == 9 && found.stale().is_none()).then_some(()).ok_or(found.text)
    })
    .await;
    stack
}

#[tokio::test(flavor = "multi_thread")]
async fn an_application_is_shown_with_all_its_parts() {
    let cluster = Cluster::shared().await.unwrap();
    let namespace = &cluster.namespace("bazaar").await.unwrap();
    bazaar(cluster, namespace).await;
    let database = Database::postgres().await.unwrap();
    let stack = stack(cluster, database, namespace).await;
    let names = json!({ "main": ["deployment bazaar", "replicaSet bazaar"] });
    let applications = shown(&stack, "/applications?restricted=false&expand=true").await;
    assert_eq!(
        applications,
        json!([{ "name": "bazaar", "clusterNames": names, "attributes": { "name": "bazaar" } }])
    );
    assert_eq!(shown(&stack, "/applications/bazaar/clusters").await, names);
    assert_eq!(shown(&stack, "/applications/bazaar").await["attributes"]["cloudProviders"], "kubernetes");

    let groups = shown(&stack, "/applications/bazaar/serverGroups").await;
    let group = &groups[0];
    assert_eq!(groups.as_array().unwrap().len(), 1);
    assert_eq!(
        (&group["name"], &group["region"], &group["cluster"], &group["capacity"]["desired"]),
        (&json!("replicaSet bazaar-v000"), &json!(namespace), &json!("replicaSet bazaar"), &json!(1))
    );
    assert_eq!(group["loadBalancers"], json!(["service bazaar"]));
    assert_eq!(group["instances"][0]["name"], "pod bazaar-v000-x");
    let expanded = shown(&stack, "/applications/bazaar/serverGroups?expand=true").await;
    assert_eq!(
        (&expanded[0]["accountName"], &expanded[0]["application"]),
        (&json!("main"), &json!("bazaar"))
    );
    for (query, count) in [
        ("clusters=main%3AreplicaSet%20bazaar", 1),
        ("clusters=main%3Adeployment%20bazaar,other:x", 0),
        ("cloudProvider=aws", 0),
        ("cloudProvider=kubernetes", 1),
        ("cloudProvider=Kubernetes", 1),
        ("clusters=main%3AreplicaSet%20bazaar&cloudProvider=aws", 1),
        ("expand=maybe", 1),
    ] {
        let groups = shown(&stack, &format!("/applications/bazaar/serverGroups?{query}")).await;
        assert_eq!(groups.as_array().unwrap().len(), count, "{query}");
    }
    let id = format!("main:{namespace}:replicaSet bazaar-v000");
    assert_eq!(
        shown(&stack, &format!("/serverGroups?ids={id},main:{namespace}:replicaSet nope")).await,
        groups
    );
    assert_eq!(shown(&stack, "/serverGroups?applications=bazaar,nope").await, groups);
    assert_eq!(shown(&stack, &format!("/serverGroups?ids={id}&cloudProvider=aws")).await, groups);
    assert_eq!(shown(&stack, "/serverGroups?applications=bazaar&cloudProvider=aws").await, json!([]));

    let details = format!("/serverGroups/main/{namespace}/replicaset%20bazaar-v000");
    let details = shown(&stack, &details).await;
    let by_application =
        format!("/applications/any/serverGroups/main/{namespace}/rs%20bazaar-v000?includeDetails=true");
    assert_eq!(shown(&stack, &by_application).await, details);
    assert_eq!((&details["kind"], &details["disabled"]), (&json!("replicaSet"), &json!(false)));
    assert_eq!(details["instances"][0]["humanReadableName"], "pod bazaar-v000-x");
    let instance = shown(&stack, &format!("/instances/main/{namespace}/pod%20bazaar-v000-x")).await;
    assert_eq!(instance, details["instances"][0]);

    let manager = shown(&stack, &format!("/serverGroups/main/{namespace}/deployment%20bazaar")).await;
    assert_eq!(
        (&manager["capacity"]["desired"], &manager["buildInfo"], &manager["loadBalancers"]),
        (&json!(2), &json!({ "images": ["bazaar:1"] }), &json!([]))
    );

    let cluster = "/applications/bazaar/clusters/main/replicaSet%20bazaar";
    let by_type = shown(&stack, &format!("{cluster}/kubernetes")).await;
    assert_eq!(by_type["serverGroups"], json!([details]));
    assert_eq!(shown(&stack, cluster).await, json!([by_type]));
    assert_eq!(shown(&stack, &format!("{cluster}/kubernetes/serverGroups")).await, json!([details]));
    assert_eq!(shown(&stack, &format!("{cluster}/kubernetes/serverGroups?region=x")).await, json!([]));
    let bare = shown(&stack, &format!("{cluster}/kubernetes?expand=false")).await;
    assert_eq!((&bare["serverGroups"], &bare["loadBalancers"]), (&json!([]), &json!([])));
    assert_eq!(get(&stack.hub, &format!("{cluster}/aws")).await.status, 404);
    let of_account = shown(&stack, "/applications/bazaar/clusters/main").await;
    assert_eq!(of_account[1]["serverGroups"], json!(["replicaSet bazaar-v000"]));

    let managers = shown(&stack, "/applications/bazaar/serverGroupManagers").await;
    assert_eq!(managers[0]["name"], "deployment bazaar");
    let balancers = shown(&stack, "/applications/bazaar/loadBalancers").await;
    assert_eq!(balancers[0]["serverGroups"][0]["instances"][0]["name"], "pod bazaar-v000-x");
    let balancer = format!("/kubernetes/loadBalancers/main/{namespace}/service%20bazaar");
    assert_eq!(shown(&stack, &balancer).await, balancers);

    let policy = json!([{ "name": "networkPolicy bazaar", "id": "networkPolicy bazaar", "moniker": {} }]);
    let by_namespace = json!({ namespace: policy });
    for (path, expected) in [
        ("", json!({ "main": { "kubernetes": by_namespace } })),
        ("/main", json!({ "kubernetes": by_namespace })),
        (&*format!("/main?region={namespace}"), json!({ "kubernetes": policy })),
        ("/main?region=nope", json!({})),
        ("/main/kubernetes", by_namespace.clone()),
        (&*format!("/main/kubernetes?region={namespace}"), policy.clone()),
        ("/main/kubernetes/netpol%20bazaar", by_namespace.clone()),
        ("/main/aws", json!({})),
    ] {
        assert_eq!(shown(&stack, &format!("/securityGroups{path}")).await, expected, "{path}");
    }
    let policy =
        shown(&stack, &format!("/securityGroups/main/kubernetes/{namespace}/networkPolicy%20bazaar")).await;
    assert_eq!(policy["inboundRules"][0]["portRanges"], json!([{ "startPort": 80, "endPort": 80 }]));

    let raw = shown(&stack, "/applications/bazaar/rawResources").await;
    let mut raw: Vec<_> = raw.as_array().unwrap().iter().map(|raw| raw["name"].as_str().unwrap()).collect();
    raw.sort_unstable();
    assert_eq!(
        raw,
        ["deployment bazaar", "networkPolicy bazaar", "replicaSet bazaar-v000", "service bazaar"]
    );
    let found = shown(&stack, "/search?q=BAZAAR-v000&type=replicaSet&pageSize=1&platform=kubernetes").await;
    assert_eq!((&found[0]["totalMatches"], &found[0]["platform"]), (&json!(1), &json!("kubernetes")));
    assert_eq!(found[0]["results"][0]["serverGroup"], "replicaSet bazaar-v000");
    for (query, platform) in [
        ("type=unclassified", "aws"),
        ("type=serverGroups&page=0", "aws"),
        ("type=serverGroups&page=-1&pageSize=-5", "aws"),
        ("type=serverGroups&platform=nope", "aws"),
        ("q=nope&type=serverGroups&platform=kubernetes", "kubernetes"),
    ] {
        let found = shown(&stack, &format!("/search?{query}")).await;
        assert_eq!(
            (&found[0]["results"], &found[0]["totalMatches"], &found[0]["platform"]),
            (&json!([]), &json!(0), &json!(platform)),
            "{query}"
        );
    }
    let found = shown(&stack, "/search?q=bazaar&type=applications&type=clusters").await;
    assert_eq!(found[0]["results"][0]["group"], "clusters", "{found}");
    let agents = shown(&stack, "/cache/introspection").await;
    assert_eq!((&agents[0]["id"], &agents[0]["totalAdditions"]), (&json!("main/agent-a"), &json!(5)));
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_are_answered_while_an_agent_is_away_and_say_so() {
    let cluster = Cluster::shared().await.unwrap();
    let namespace = &cluster.namespace("away").await.unwrap();
    bazaar(cluster, namespace).await;
    let mut stack = stack(cluster, Database::sqlite().unwrap(), namespace).await;
    let lists = [
        "/applications",
        "/applications/bazaar",
        "/applications/bazaar/clusters",
        "/applications/bazaar/clusters/main",
        "/applications/bazaar/serverGroups",
        "/applications/bazaar/serverGroupManagers",
        "/applications/bazaar/loadBalancers",
        "/applications/bazaar/rawResources",
        "/securityGroups",
        "/search?q=bazaar&type=instances",
        "/serverGroups?applications=bazaar",
    ];
    let mut before = Vec::new();
    for path in lists {
        before.push(shown(&stack, path).await);
    }
    stack.agent.kill();
    eventually("the account is named", LONG, || async {
        let answer = get(&stack.hub, "/applications").await;
        (answer.stale() == Some("main")).then_some(()).ok_or(answer.text)
    })
    .await;
    for (path, before) in std::iter::zip(lists, before) {
        let answer = get(&stack.hub, path).await;
        assert_eq!((answer.status, answer.stale()), (200, Some("main")), "{path}");
        assert_eq!(answer.json(), before, "{path} is as it was");
    }
    let details = format!("/serverGroups/main/{namespace}/replicaSet%20bazaar-v000");
    assert_eq!(get(&stack.hub, &details).await.stale(), Some("main"));
    assert_eq!(get(&stack.hub, "/securityGroups/other").await.stale(), None, "it is not about that account");
    let accounts = get(&stack.hub, "/credentials?expand=true").await;
    assert_eq!((accounts.status, &accounts.json()[0]["name"]), (200, &json!("main")));
    stack.agent.restart().unwrap();
    eventually("all is well again", LONG, || async {
        let ClouddriverAnswer { headers, .. } = get(&stack.hub, "/applications").await;
        headers.get("x-spindrift-stale").is_none().then_some(()).ok_or("it is still named")
    })
    .await;
}
