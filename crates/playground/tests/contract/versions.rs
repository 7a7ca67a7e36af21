//! Lists and reads at a resource version: at least, exactly, in the future.

use serde_json::{Value, json};

use crate::support::{Cause, Server, failure, invalid, names, version, version_number};

facts![
    each_change_has_a_larger_version,
    the_version_of_a_list_covers_its_items,
    zero_and_not_older_than_give_the_newest,
    exact_versions_give_the_past,
    a_limit_makes_a_version_exact,
    versions_from_the_future_time_out,
    rules_of_version_matching_are_enforced,
    broken_versions_are_refused,
];

/// Resource version of a list at which `one` exists and `two` does not.
async fn before_two(server: &Server) -> anyhow::Result<String> {
    let one = server.config_map("one").await?;
    server.config_map("two").await?;
    Ok(version(&one).to_owned())
}

async fn each_change_has_a_larger_version(server: &Server) -> anyhow::Result<()> {
    let one = server.config_map("one").await?;
    let two = server.config_map("two").await?;
    let changed = server
        .patch(crate::support::MERGE, server.core("configmaps/one"), json!({"data": {"a": "2"}}))
        .ok()
        .await?;
    assert!(version_number(&one) < version_number(&two));
    assert!(version_number(&two) < version_number(&changed));
    Ok(())
}

async fn the_version_of_a_list_covers_its_items(server: &Server) -> anyhow::Result<()> {
    let one = server.config_map("one").await?;
    let list = server.get(server.core("configmaps")).ok().await?;
    assert!(version_number(&list) >= version_number(&one));
    Ok(())
}

async fn zero_and_not_older_than_give_the_newest(server: &Server) -> anyhow::Result<()> {
    let before = before_two(server).await?;
    for query in [
        "resourceVersion=0".to_owned(),
        "resourceVersion=0&resourceVersionMatch=NotOlderThan".to_owned(),
        format!("resourceVersion={before}"),
        format!("resourceVersion={before}&resourceVersionMatch=NotOlderThan"),
    ] {
        // Any resource version satisfies `0`, so the object may appear late.
        let answer = server
            .until(
                "both are in the list",
                || server.get(server.core(&format!("configmaps?{query}"))).answer(),
                |answer| answer.json().is_ok_and(|list| names(&list) == ["one", "two"]),
            )
            .await;
        assert!(answer.json()?["metadata"]["resourceVersion"].is_string());
    }
    server.get(server.core("configmaps/one?resourceVersion=0")).ok().await?;
    Ok(())
}

async fn exact_versions_give_the_past(server: &Server) -> anyhow::Result<()> {
    let before = before_two(server).await?;
    let query = format!("configmaps?resourceVersion={before}&resourceVersionMatch=Exact");
    let list = server.get(server.core(&query)).ok().await?;
    assert_eq!(names(&list), ["one"]);
    assert_eq!(version(&list), before);
    Ok(())
}

async fn a_limit_makes_a_version_exact(server: &Server) -> anyhow::Result<()> {
    let before = before_two(server).await?;
    let list = server.get(server.core(&format!("configmaps?resourceVersion={before}&limit=10"))).ok().await?;
    assert_eq!(names(&list), ["one"]);
    assert_eq!(version(&list), before);
    Ok(())
}

async fn versions_from_the_future_time_out(server: &Server) -> anyhow::Result<()> {
    server.config_map("one").await?;
    for path in ["configmaps?resourceVersion=99999999", "configmaps/one?resourceVersion=99999999"] {
        let refused = server.get(server.core(path)).refused().await?;
        let message = refused["message"].as_str().unwrap();
        assert!(message.starts_with("Timeout: Too large resource version: 99999999, current: "), "{message}");
        let details = json!({
            "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
            "retryAfterSeconds": 1,
        });
        assert_eq!(refused, failure(504, "Timeout", message, details));
    }
    Ok(())
}

async fn rules_of_version_matching_are_enforced(server: &Server) -> anyhow::Result<()> {
    for (query, cause) in [
        (
            "resourceVersionMatch=Exact",
            Cause(
                "FieldValueForbidden",
                "resourceVersionMatch",
                "Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided",
            ),
        ),
        (
            "resourceVersion=0&resourceVersionMatch=Exact",
            Cause(
                "FieldValueForbidden",
                "resourceVersionMatch",
                "Forbidden: resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"",
            ),
        ),
        (
            "resourceVersion=1&resourceVersionMatch=Bogus",
            Cause(
                "FieldValueNotSupported",
                "resourceVersionMatch",
                "Unsupported value: \"Bogus\": supported values: \"Exact\", \"NotOlderThan\", \"\"",
            ),
        ),
        (
            "sendInitialEvents=true",
            Cause(
                "FieldValueForbidden",
                "sendInitialEvents",
                "Forbidden: sendInitialEvents is forbidden for list",
            ),
        ),
    ] {
        let refused = server.get(server.core(&format!("configmaps?{query}"))).refused().await?;
        assert_eq!(refused, invalid("ListOptions.meta.k8s.io", "", cause));
    }
    Ok(())
}

async fn broken_versions_are_refused(server: &Server) -> anyhow::Result<()> {
    let message = "invalid resource version: resourceVersion: Invalid value: \"abc\": strconv.ParseUint: \
                   parsing \"abc\": invalid syntax";
    let refused = server.get(server.core("configmaps?resourceVersion=abc")).refused().await?;
    assert_eq!(refused, failure(400, "BadRequest", message, Value::Null));
    Ok(())
}
