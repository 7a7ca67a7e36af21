//! Redacted fields never leave the cluster, and new rules apply to objects that were sent before.

use serde_json::{Value, json};
use spindrift_testkit::{Cluster, Database, eventually};

use crate::support::{LONG, Stack, widget, widget_crd};

/// The one object of this kind and name, as the hub has it.
async fn stored(stack: &Stack, namespace: &str, kind: &str, name: &str) -> Option<Value> {
    let query = [("account", "main"), ("kind", kind), ("namespace", namespace)];
    let objects = stack.hub.objects(&query).await.ok()?;
    objects.into_iter().find(|object| object.name == name).map(|object| object.object)
}

async fn listings(stack: &Stack) -> Option<u32> {
    let metrics = stack.agent.text("/metrics").await.ok()?;
    metrics.lines().find_map(|line| line.strip_prefix("spindrift_agent_listings_total "))?.parse().ok()
}

#[tokio::test(flavor = "multi_thread")]
async fn new_rules_send_again_what_they_touch_and_nothing_else() {
    let cluster = Cluster::shared().await.unwrap();
    let namespace = &cluster.namespace("redact").await.unwrap();
    let literals = ["--from-literal=password=one", "--from-literal=note=two"];
    let create = ["-n", namespace, "create", "configmap", "settings"];
    cluster.kubectl(&[&create[..], &literals].concat()).await.unwrap();
    cluster.kubectl(&["-n", namespace, "create", "serviceaccount", "robot"]).await.unwrap();

    let account = json!([{
        "name": "main",
        "kubeconfigFile": cluster.kubeconfig(),
        "namespaces": [namespace],
        "redact": [{ "kind": "configmaps", "paths": ["data.password"] }],
    }]);
    let kinds = ["ConfigMap", "ServiceAccount"];
    let mut stack = Stack::with_accounts(Database::sqlite().unwrap(), &kinds, account).await;
    stack.synced("main").await;
    let data = |map: Option<Value>| map.map(|map| map["data"].clone());
    eventually!("the password is redacted", LONG, {
        data(stored(&stack, namespace, "ConfigMap", "settings").await)
            == Some(json!({ "password": "REDACTED", "note": "two" }))
    });
    assert_eq!(listings(&stack).await, Some(2));

    // Nothing changes in the cluster; only the rules do, here for all accounts.
    stack.agent.configure(|settings| {
        settings["kubernetes"]["redact"] = json!([{ "kind": "ConfigMap", "paths": ["data.note"] }]);
    });
    stack.agent.restart().unwrap();
    eventually!("the note is redacted too", LONG, {
        data(stored(&stack, namespace, "ConfigMap", "settings").await)
            == Some(json!({ "password": "REDACTED", "note": "REDACTED" }))
    });
    stack.synced("main").await;
    assert_eq!(listings(&stack).await, Some(1), "the other kind is resumed");
    assert!(stored(&stack, namespace, "ServiceAccount", "robot").await.is_some());
    let scrubbed = stack.agent.text("/metrics").await.unwrap();
    assert!(scrubbed.contains("spindrift_agent_scrubbed_values_total"), "{scrubbed}");

    // Without rules, all of it is sent.
    stack.agent.configure(|settings| {
        settings["kubernetes"]["redact"] = json!([]);
        settings["kubernetes"]["accounts"][0]["redact"] = json!([]);
    });
    stack.agent.restart().unwrap();
    eventually!("nothing is redacted", LONG, {
        data(stored(&stack, namespace, "ConfigMap", "settings").await)
            == Some(json!({ "password": "one", "note": "two" }))
    });

    // An account with invalid rules sends nothing, and reports why.
    stack.agent.configure(|settings| {
        settings["kubernetes"]["redact"] = json!([{ "kind": "ConfigMap", "paths": ["data[0]"] }]);
    });
    stack.agent.restart().unwrap();
    eventually!("the rule is named", LONG, {
        let accounts = stack.agent.text("/accounts").await.unwrap_or_default();
        accounts.contains("redact rule 1, for ConfigMap")
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_applies_to_every_name_of_a_kind_and_one_without_effect_is_reported() {
    let cluster = Cluster::shared().await.unwrap();
    let namespace = &cluster.namespace("named").await.unwrap();
    let group = "named.example.com";
    let mut crd = widget_crd(group);
    crd["spec"]["names"]["shortNames"] = json!(["nwg"]);
    cluster.kubectl_stdin(&["apply", "-f", "-"], &crd.to_string()).await.unwrap();
    let made = widget(group, namespace, "made", 4711).to_string();
    eventually!("the kind is served", LONG, cluster.kubectl_stdin(&["create", "-f", "-"], &made).await);

    let account = json!([{
        "name": "main",
        "kubeconfigFile": cluster.kubeconfig(),
        "namespaces": [namespace],
        "omitKinds": ["Sercet"],
        "redact": [
            { "kind": "NWG", "paths": ["spec.size"] },
            { "kind": "Wigdet", "paths": ["spec"] },
        ],
    }]);
    let kinds = ["Widget.named.example.com"];
    let stack = Stack::with_accounts(Database::sqlite().unwrap(), &kinds, account).await;
    let stored = eventually!("the widget arrives", LONG, stored(&stack, namespace, "Widget", "made").await);
    assert_eq!(stored["spec"], json!({ "size": null }));
    let problems = stack.agent.get("/accounts").await.unwrap()[0]["Problems"].to_string();
    for unserved in [r#"no kind \"Wigdet\" (redact)"#, r#"no kind \"Sercet\" (omitKinds)"#] {
        assert!(problems.contains(unserved), "{problems}");
    }
    assert!(!problems.contains("NWG"), "{problems}");
}
