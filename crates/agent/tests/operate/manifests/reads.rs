use serde_json::{Value, json};

use super::pair::Pair;

fn secret(name: &str, value: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": name }, "stringData": { "key": value } })
}

fn config_map(name: &str, data: Value) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name }, "data": data })
}

#[tokio::test]
async fn a_difference_is_seen_before_it_is_made() -> anyhow::Result<()> {
    let pair = Pair::new("diff").await?;
    let diff = |manifest: &Value, mode: &str| json!({ "verb": "diff", "namespace": pair.ours, "manifest": manifest, "mode": mode });
    let first = config_map("seen", json!({ "a": "1", "gone": "2" }));
    let (_, answer) = pair.run(diff(&first, "client-side")).await?;
    assert_eq!((&answer["live"], &answer["merged"]["data"]), (&Value::Null, &first["data"]));

    pair.apply(&first).await?;
    pair.meanwhile(&["create", "configmap", "unrelated"]).await?;
    let before = pair.our("configmap/seen").await?;
    let second = config_map("seen", json!({ "a": "9" }));
    for mode in ["client-side", "server-side"] {
        let mut verb = diff(&second, mode);
        verb["forceConflicts"] = true.into();
        let (_, answer) = pair.run(verb).await?;
        assert_eq!(answer["live"]["data"], json!({ "a": "1", "gone": "2" }), "{mode}");
        assert_eq!(answer["merged"]["data"]["a"], "9", "{mode}");
    }
    let (_, answer) = pair.run(diff(&second, "client-side")).await?;
    assert_eq!(answer["merged"]["data"], json!({ "a": "9" }));
    let (_, same) = pair.run(diff(&first, "client-side")).await?;
    assert_eq!(same["live"], same["merged"]);
    assert_eq!(pair.our("configmap/seen").await?, before, "nothing was made");
    Ok(())
}

#[tokio::test]
async fn a_difference_of_secrets_shows_stars() -> anyhow::Result<()> {
    let pair = Pair::new("stars").await?;
    pair.apply(&secret("stars", "canary-1")).await?;
    let verb = json!({ "verb": "diff", "namespace": pair.ours, "manifest": secret("stars", "canary-2") });
    let (_, answer) = pair.run(verb).await?;
    assert_eq!(answer["live"]["data"]["key"], "*** (before)");
    assert_eq!(answer["merged"]["data"]["key"], "*** (after)");
    for canary in ["canary", "Y2FuYXJ5"] {
        assert!(!answer.to_string().contains(canary), "{answer}");
    }
    Ok(())
}

#[tokio::test]
async fn whether_two_are_the_same_is_told_without_showing_them() -> anyhow::Result<()> {
    let pair = Pair::new("matches").await?;
    let object =
        |name: &str| json!({ "apiVersion": "v1", "kind": "Secret", "namespace": pair.ours, "name": name });
    pair.apply(&secret("settings-v000", "canary-1")).await?;
    pair.apply(&secret("settings-v001", "canary-2")).await?;
    pair.run(
        json!({ "verb": "create", "namespace": pair.ours, "manifest": secret("settings-v002", "canary-1") }),
    )
    .await?;
    let matches = |name: &str, with: &str, what: Value| json!({ "verb": "matches", "target": object(name), with: what });

    for (name, value, expected) in [
        ("settings-v000", "canary-1", true),
        ("settings-v001", "canary-1", false),
        // Created, not applied: its data decides.
        ("settings-v002", "canary-1", true),
        ("settings-v002", "canary-2", false),
    ] {
        let (_, answer) = pair.run(matches(name, "manifest", secret("settings", value))).await?;
        assert_eq!(answer["matches"], expected, "{name} {value}");
        assert!(!answer.to_string().contains("canary"), "{answer}");
    }
    let (_, same) = pair.run(matches("settings-v000", "other", object("settings-v002"))).await?;
    let (_, other) = pair.run(matches("settings-v000", "other", object("settings-v001"))).await?;
    assert_eq!((&same["matches"], &other["matches"]), (&json!(true), &json!(false)));

    let status = pair.refusal(matches("settings-v009", "other", object("settings-v001"))).await?;
    assert_eq!((&status["code"], &status["reason"]), (&json!(404), &json!("NotFound")));
    let status = pair.refusal(json!({ "verb": "matches", "target": object("settings-v000") })).await?;
    assert_eq!(status["message"], "expected either manifest or other");
    Ok(())
}
