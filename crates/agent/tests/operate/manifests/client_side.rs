use serde_json::{Value, json};
use spindrift_kubernetes::LAST_APPLIED;

use super::pair::Pair;

fn deployment(spec: Value, strategy: Value) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": { "name": "web", "labels": { "app": "web" }, "annotations": { "html": "<a href=\"x\">&</a>" } },
        "spec": {
            "selector": { "matchLabels": { "app": "web" } },
            "strategy": strategy,
            "template": { "metadata": { "labels": { "app": "web" } }, "spec": spec },
        },
    })
}

fn config_map(name: &str, data: Value) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name }, "data": data })
}

fn service(ports: Value) -> Value {
    json!({ "apiVersion": "v1", "kind": "Service", "metadata": { "name": "dns" },
            "spec": { "selector": { "app": "dns" }, "ports": ports } })
}

#[tokio::test]
async fn a_deployment_becomes_what_kubectl_makes_of_it() -> anyhow::Result<()> {
    let pair = Pair::new("deployment").await?;
    let first = deployment(
        json!({
            "containers": [
                { "name": "main", "image": "main:1", "args": ["a", "b"],
                  "env": [{ "name": "X", "value": "1" }, { "name": "Y", "value": "2" }, { "name": "Z", "value": "3" }],
                  "ports": [{ "containerPort": 8080 }, { "containerPort": 443, "name": "https" }],
                  "volumeMounts": [{ "name": "v", "mountPath": "/v" }] },
                { "name": "sidecar", "image": "sidecar:1" },
            ],
            "volumes": [{ "name": "v", "emptyDir": {} }],
            "tolerations": [{ "key": "a", "operator": "Exists" }],
        }),
        json!({ "type": "RollingUpdate", "rollingUpdate": { "maxSurge": 2 } }),
    );
    let answer = pair.both_apply(&first, "").await?;
    assert_eq!(answer["action"], "created");
    assert_eq!(pair.both_apply(&first, "").await?["action"], "unchanged");

    // Another client scales it, injects a container, and sets a variable.
    pair.meanwhile(&["scale", "deployment/web", "--replicas=3"]).await?;
    let injected = r#"{"spec":{"template":{"spec":{"containers":[{"name":"injected","image":"injected:1"},
        {"name":"main","env":[{"name":"OTHER","value":"o"}]}]}}}}"#;
    pair.meanwhile(&["patch", "deployment/web", "-p", injected]).await?;

    let second = deployment(
        json!({
            "containers": [
                { "name": "new", "image": "new:1" },
                { "name": "main", "image": "main:2", "args": ["b"],
                  "env": [{ "name": "Z", "value": "3" }, { "name": "X", "valueFrom": { "fieldRef": { "fieldPath": "metadata.name" } } }],
                  "ports": [{ "containerPort": 443, "name": "tls" }],
                  "volumeMounts": [{ "name": "v", "mountPath": "/w" }] },
            ],
            "volumes": [{ "name": "v", "configMap": { "name": "c" } }],
            "tolerations": [{ "key": "b", "operator": "Exists" }],
            "nodeSelector": null,
        }),
        json!({ "type": "Recreate" }),
    );
    let answer = pair.both_apply(&second, "").await?;
    assert_eq!(answer["action"], "configured");
    let ours = pair.our("deployment/web").await?;
    assert_eq!(ours["spec"]["replicas"], 3, "others' changes stay");
    let pod = &ours["spec"]["template"]["spec"];
    let names: Vec<_> = pod["containers"].as_array().unwrap().iter().map(|c| c["name"].clone()).collect();
    assert_eq!(json!(names), json!(["injected", "new", "main"]));
    assert_eq!(pod["volumes"], json!([{ "name": "v", "configMap": { "name": "c", "defaultMode": 420 } }]));
    assert!(answer["object"]["metadata"].get("managedFields").is_none(), "nobody wants to read them");
    Ok(())
}

#[tokio::test]
async fn services_budgets_and_finalizers_become_what_kubectl_makes_of_them() -> anyhow::Result<()> {
    let pair = Pair::new("kinds").await?;
    let port =
        |name: &str, protocol: &str, port: u16| json!({ "name": name, "protocol": protocol, "port": port });
    pair.both_apply(
        &service(json!([port("udp", "UDP", 53), port("tcp", "TCP", 53), port("web", "TCP", 80)])),
        "",
    )
    .await?;
    // Ports of one number are one to the merge, as with kubectl.
    let swapped = service(json!([port("tcp", "TCP", 53), port("udp", "UDP", 53)]));
    let status =
        pair.refusal(json!({ "verb": "apply", "namespace": pair.ours, "manifest": swapped })).await?;
    assert_eq!((&status["code"], &status["reason"]), (&json!(422), &json!("Invalid")));
    let said = pair.kubectl_fails("apply -f -", &swapped).await?;
    for cause in status["details"]["causes"].as_array().unwrap() {
        assert!(said.contains(cause["message"].as_str().unwrap()), "{said} {cause}");
    }
    pair.both_apply(&service(json!([port("udp", "UDP", 53), port("web", "TCP", 81)])), "").await?;

    let budget = |minimum: u8| {
        json!({ "apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": { "name": "budget" },
                "spec": { "minAvailable": minimum, "selector": { "matchLabels": { "app": "web" } } } })
    };
    pair.both_apply(&budget(1), "").await?;
    // Its selector is replaced, so that the patch is never empty.
    assert_eq!(pair.both_apply(&budget(1), "").await?["action"], "configured");

    let mut guarded = config_map("guarded", json!({ "gone": "1", "kept": "<&>" }));
    guarded["metadata"]["finalizers"] = json!(["example.com/b", "example.com/a"]);
    pair.both_apply(&guarded, "").await?;
    pair.meanwhile(&[
        "patch",
        "configmap/guarded",
        "-p",
        r#"{"metadata":{"finalizers":["example.com/other"]}}"#,
    ])
    .await?;
    guarded["metadata"]["finalizers"] = json!(["example.com/b", "example.com/c"]);
    guarded["data"] = json!({ "kept": "<&>", "null": null });
    pair.both_apply(&guarded, "").await?;

    let job = |schedule: &str, limit: Value| {
        let pod = json!({ "restartPolicy": "Never", "containers": [{ "name": "c", "image": "i" }] });
        json!({ "apiVersion": "batch/v1", "kind": "CronJob", "metadata": { "name": "cron" },
                "spec": { "schedule": schedule, "failedJobsHistoryLimit": limit,
                          "jobTemplate": { "spec": { "template": { "spec": pod } } } } })
    };
    pair.both_apply(&job("* * * * *", json!(3.0)), "").await?;
    pair.both_apply(&job("1 * * * *", Value::Null), "").await?;
    Ok(())
}

#[tokio::test]
async fn custom_resources_are_merged_as_json() -> anyhow::Result<()> {
    let pair = Pair::new("custom").await?;
    let schema =
        json!({ "openAPIV3Schema": { "type": "object", "x-kubernetes-preserve-unknown-fields": true } });
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": "waves.apply.example.com" },
        "spec": { "group": "apply.example.com", "scope": "Namespaced",
                  "names": { "kind": "Wave", "plural": "waves", "singular": "wave" },
                  "versions": [{ "name": "v1", "served": true, "storage": true, "schema": schema }] },
    });
    let (code, answer) = pair.apply(&definition).await?;
    assert_eq!((code, &answer["action"]), (201, &json!("created")));
    assert!(answer["object"]["metadata"].get("namespace").is_none());
    pair.cluster.kubectl(&["wait", "--for=condition=Established", "crd/waves.apply.example.com"]).await?;
    let again = pair.apply(&definition).await?.1;
    assert_eq!(again["action"], "unchanged", "definitions are cluster-wide, and merged by their own keys");

    let wave = |spec: Value| json!({ "apiVersion": "apply.example.com/v1", "kind": "Wave", "metadata": { "name": "one" }, "spec": spec });
    pair.both_apply(&wave(json!({ "a": 1, "gone": { "x": 1 }, "list": [1, 2], "n": 1.5 })), "").await?;
    pair.meanwhile(&["patch", "wave/one", "--type=merge", "-p", r#"{"spec":{"other":true,"list":[9]}}"#])
        .await?;
    pair.both_apply(&wave(json!({ "a": 2.0, "list": [2, { "y": null }], "n": null, "new": {} })), "").await?;
    assert_eq!(pair.our("wave/one").await?["spec"]["other"], true);
    Ok(())
}

#[tokio::test]
async fn what_the_api_server_refuses_is_told_in_its_own_words() -> anyhow::Result<()> {
    let pair = Pair::new("refused").await?;
    let apply = |manifest: &Value| json!({ "verb": "apply", "namespace": pair.ours, "manifest": manifest });

    // Too much for the annotation, as kubectl finds, too.
    let large = config_map("large", json!({ "text": "x".repeat(262_144) }));
    let status = pair.refusal(apply(&large)).await?;
    assert_eq!((&status["code"], &status["reason"]), (&json!(422), &json!("Invalid")));
    let message = status["message"].as_str().unwrap();
    assert!(message.contains("metadata.annotations: Too long"), "{message}");
    assert!(pair.kubectl_fails("apply -f -", &large).await?.contains(message));
    assert_eq!(status["details"]["causes"][0]["field"], "metadata.annotations");

    let unknown =
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "unknown" }, "dta": {} });
    let status = pair.refusal(apply(&unknown)).await?;
    assert_eq!((&status["code"], &status["reason"]), (&json!(400), &json!("BadRequest")));
    assert!(status["message"].as_str().unwrap().contains("unknown field \"dta\""), "{status}");
    let mut lenient = apply(&unknown);
    lenient["validate"] = "Warn".into();
    let (_, answer) = pair.run(lenient).await?;
    assert_eq!(answer["warnings"], json!(["unknown field \"dta\""]));

    let status = pair
        .refusal(json!({ "verb": "apply", "namespace": "absent", "manifest": config_map("a", json!({})) }))
        .await?;
    assert_eq!((&status["code"], &status["reason"]), (&json!(404), &json!("NotFound")));

    let generated = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "generateName": "a-" } });
    let status = pair.refusal(apply(&generated)).await?;
    assert_eq!(status["message"], "from a-: cannot use generate name with apply");
    for (manifest, message) in [
        (json!({ "kind": "ConfigMap" }), "manifest.apiVersion: expected a text that is not empty"),
        (json!({ "apiVersion": "v1", "kind": "" }), "manifest.kind: expected a text that is not empty"),
        (
            json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": 1 }),
            "manifest.metadata: expected an object",
        ),
        (
            json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": {} }),
            "manifest.metadata.name: resource name may not be empty",
        ),
    ] {
        assert_eq!(pair.refusal(apply(&manifest)).await?["message"], message);
    }
    Ok(())
}

#[tokio::test]
async fn what_is_only_tried_changes_nothing() -> anyhow::Result<()> {
    let pair = Pair::new("tried").await?;
    let dry = |manifest: &Value, dry_run: &str| json!({ "verb": "apply", "namespace": pair.ours, "manifest": manifest, "dryRun": dry_run });
    let first = config_map("tried", json!({ "a": "1", "gone": "2" }));
    for dry_run in ["client", "server"] {
        let (code, answer) = pair.run(dry(&first, dry_run)).await?;
        assert_eq!((code, &answer["action"]), (201, &json!("created")), "{dry_run}");
        assert!(pair.our("configmap/tried").await.is_err(), "{dry_run}");
    }
    pair.apply(&first).await?;
    let before = pair.our("configmap/tried").await?;
    let second = config_map("tried", json!({ "a": "9" }));
    for dry_run in ["client", "server"] {
        let (_, answer) = pair.run(dry(&second, dry_run)).await?;
        assert_eq!(
            (&answer["action"], &answer["object"]["data"]),
            (&json!("configured"), &json!({ "a": "9" }))
        );
        assert_eq!(pair.our("configmap/tried").await?, before, "{dry_run}");
    }
    Ok(())
}

#[tokio::test]
async fn what_cannot_be_changed_in_place_is_recreated_if_forced() -> anyhow::Result<()> {
    let pair = Pair::new("forced").await?;
    let secret = |value: &str| {
        json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "fixed" }, "immutable": true,
                "stringData": { "key": value } })
    };
    let verb = |value: &str, force: bool| json!({ "verb": "apply", "namespace": pair.ours, "manifest": secret(value), "force": force });
    pair.run(verb("canary-1", false)).await?;
    let before = pair.our("secret/fixed").await?;
    let status = pair.refusal(verb("canary-2", false)).await?;
    assert_eq!((&status["code"], &status["reason"]), (&json!(422), &json!("Invalid")));

    let (_, answer) = pair.run(verb("canary-2", true)).await?;
    assert_eq!(answer["action"], "configured");
    assert!(!answer.to_string().contains("canary"), "a Secret's values stay where they are: {answer}");
    let after = pair.our("secret/fixed").await?;
    assert_ne!(after["metadata"]["uid"], before["metadata"]["uid"]);
    assert_eq!(after["data"]["key"], "Y2FuYXJ5LTI=");

    // If the new one cannot be created, the former one is restored.
    let mut broken = verb("canary-3", true);
    broken["manifest"]["type"] = "kubernetes.io/tls".into();
    let status = pair.refusal(broken).await?;
    assert_eq!(status["reason"], "Invalid");
    assert_eq!(pair.our("secret/fixed").await?["data"]["key"], "Y2FuYXJ5LTI=");
    Ok(())
}

#[tokio::test]
async fn an_object_of_others_is_warned_of_and_taken_over() -> anyhow::Result<()> {
    let pair = Pair::new("adopted").await?;
    pair.meanwhile(&["create", "configmap", "adopted", "--from-literal=theirs=1"]).await?;
    let manifest = config_map("adopted", json!({ "ours": "2" }));
    let answer = pair.both_apply(&manifest, "").await?;
    let warning = answer["warnings"][0].as_str().unwrap();
    assert!(
        warning.starts_with("resource configmaps/adopted is missing the kubectl.kubernetes.io/last-applied"),
        "{warning}"
    );
    let ours = pair.our("configmap/adopted").await?;
    assert_eq!(ours["data"], json!({ "ours": "2", "theirs": "1" }));
    assert!(ours["metadata"]["annotations"][LAST_APPLIED].is_string());
    Ok(())
}

#[tokio::test]
async fn all_who_apply_at_once_succeed() -> anyhow::Result<()> {
    let pair = Pair::new("at-once").await?;
    let applies: Vec<Value> = (0..8)
        .map(|i| {
            let manifest = config_map("shared", json!({ "same": "1", format!("k{i}"): "v" }));
            json!({ "verb": "apply", "namespace": pair.ours, "manifest": manifest })
        })
        .collect();
    let answers = pair.run_all(&applies).await;
    let created = answers.iter().filter(|answer| answer["action"] == "created").count();
    assert_eq!(created, 1, "one creates it, the others change it");
    let left = pair.our("configmap/shared").await?["data"].clone();
    assert_eq!(left, json!({ "same": "1", "k7": "v" }), "in the order in which they were asked for");
    Ok(())
}
