use serde_json::{Value, json};
use spindrift_kubernetes::LAST_APPLIED;

use super::pair::Pair;

fn config_map(name: &str, data: Value) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name }, "data": data })
}

#[tokio::test]
async fn objects_are_created_once() -> anyhow::Result<()> {
    let pair = Pair::new("created").await?;
    let create = |manifest: &Value| json!({ "verb": "create", "namespace": pair.ours, "manifest": manifest });
    let manifest = config_map("one", json!({ "a": "1" }));
    pair.kubectl("create -f -", &manifest).await?;
    let (code, answer) = pair.run(create(&manifest)).await?;
    assert_eq!((code, &answer["action"]), (201, &json!("created")));
    pair.assert_same("configmap/one").await?;
    let status = pair.refusal(create(&manifest)).await?;
    assert_eq!((&status["code"], &status["reason"]), (&json!(409), &json!("AlreadyExists")));

    let generated =
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "generateName": "some-" } });
    let names: Vec<Value> = [pair.run(create(&generated)).await?, pair.run(create(&generated)).await?]
        .map(|(_, answer)| answer["object"]["metadata"]["name"].clone())
        .into();
    assert_ne!(names[0], names[1]);

    let saved = config_map("saved", json!({ "a": "1" }));
    let mut verb = create(&saved);
    verb["saveConfig"] = true.into();
    pair.run(verb).await?;
    pair.kubectl("create --save-config -f -", &saved).await?;
    pair.assert_same("configmap/saved").await?;
    Ok(())
}

#[tokio::test]
async fn objects_are_replaced_as_a_whole() -> anyhow::Result<()> {
    let pair = Pair::new("replaced").await?;
    let replace =
        |manifest: &Value| json!({ "verb": "replace", "namespace": pair.ours, "manifest": manifest });
    let first = config_map("whole", json!({ "a": "1" }));
    let status = pair.refusal(replace(&first)).await?;
    assert_eq!((&status["code"], &status["reason"]), (&json!(404), &json!("NotFound")));
    let mut verb = replace(&first);
    verb["orCreate"] = true.into();
    assert_eq!(pair.run(verb).await?.1["action"], "created");
    pair.kubectl("create -f -", &first).await?;
    pair.assert_same("configmap/whole").await?;

    pair.apply(&first).await?;
    pair.kubectl("apply -f -", &first).await?;
    let second = config_map("whole", json!({ "b": "2" }));
    let (code, answer) = pair.run(replace(&second)).await?;
    assert_eq!((code, &answer["action"]), (200, &json!("replaced")));
    pair.kubectl("replace -f -", &second).await?;
    let ours = pair.our("configmap/whole").await?;
    assert_eq!(ours["data"], json!({ "b": "2" }));
    assert!(ours["metadata"]["annotations"].get(LAST_APPLIED).is_none());
    assert_eq!(ours["data"], pair.their("configmap/whole").await?["data"]);

    let mut stale = second.clone();
    stale["metadata"]["resourceVersion"] = "1".into();
    let status = pair.refusal(replace(&stale)).await?;
    assert_eq!((&status["code"], &status["reason"]), (&json!(409), &json!("Conflict")));

    let mut verb = replace(&second);
    verb["force"] = true.into();
    assert_eq!(pair.run(verb).await?.1["action"], "replaced");
    assert_ne!(pair.our("configmap/whole").await?["metadata"]["uid"], ours["metadata"]["uid"]);
    Ok(())
}

#[tokio::test]
async fn patches_of_all_three_kinds_do_what_kubectls_do() -> anyhow::Result<()> {
    let pair = Pair::new("patched").await?;
    let spec = json!({ "containers": [{ "name": "a", "image": "a:1" }, { "name": "b", "image": "b:1" }] });
    let pod = json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "web" }, "spec": spec });
    pair.apply(&pod).await?;
    pair.kubectl("apply -f -", &pod).await?;
    let patch = |kind: &str, patch: &Value, dry_run: &str| {
        json!({ "verb": "patch", "type": kind, "patch": patch, "dryRun": dry_run,
                "target": { "apiVersion": "v1", "kind": "Pod", "namespace": pair.ours, "name": "web" } })
    };
    for (kind, body) in [
        ("strategic", json!({ "spec": { "containers": [{ "name": "b", "image": "b:2" }] } })),
        ("strategic", json!({ "spec": { "containers": [{ "name": "b", "image": "b:2" }] } })),
        ("merge", json!({ "metadata": { "labels": { "a": "1", "b": null } } })),
        ("json", json!([{ "op": "replace", "path": "/spec/containers/0/image", "value": "a:2" }])),
        ("strategic", json!({ "metadata": { "labels": { "$patch": "replace", "c": "2" } } })),
    ] {
        // A dry run has the same result.
        let (_, tried) = pair.run(patch(kind, &body, "client")).await?;
        let said = pair.kubectl(&format!("patch pod/web --type={kind} -p {body}"), &Value::Null).await?;
        let (code, answer) = pair.run(patch(kind, &body, "none")).await?;
        let action = answer["action"].as_str().unwrap();
        assert_eq!((code, said.trim_end()), (200, format!("pod/web {action}").as_str()), "{kind} {body}");
        assert_eq!(tried["object"]["spec"], answer["object"]["spec"], "{kind} {body}");
        assert_eq!(
            tried["object"]["metadata"]["labels"], answer["object"]["metadata"]["labels"],
            "{kind} {body}"
        );
        pair.assert_same("pod/web").await?;
    }
    // Spinnaker's whole numbers have a point, and kubectl fails over that.
    for (kind, body, expected) in [
        ("merge", json!({ "spec": { "activeDeadlineSeconds": 300.0 } }), 300),
        ("json", json!([{ "op": "replace", "path": "/spec/activeDeadlineSeconds", "value": 200.0 }]), 200),
    ] {
        let (code, answer) = pair.run(patch(kind, &body, "none")).await?;
        assert_eq!(
            (code, &answer["object"]["spec"]["activeDeadlineSeconds"]),
            (200, &json!(expected)),
            "{kind}"
        );
    }
    let bad = json!([{ "op": "test", "path": "/metadata/name", "value": "other" }]);
    let status = pair.refusal(patch("json", &bad, "none")).await?;
    assert_eq!(status["code"], 422, "{status}");
    let mut missing = patch("merge", &json!({}), "none");
    missing["target"]["name"] = "absent".into();
    assert_eq!(pair.refusal(missing).await?["message"], "pods \"absent\" not found");
    Ok(())
}
