//! Streaming lists: a watch that begins with the existing objects, and marks their end by a bookmark.

use serde_json::{Value, json};

use crate::support::{
    Cause, MERGE, Server, config_map, failure, invalid, kinds_and_names, version, version_number, with,
};

facts![
    initial_events_end_with_an_annotated_bookmark,
    changes_follow_the_initial_events,
    an_empty_collection_has_only_the_bookmark,
    the_bookmark_is_a_place_to_resume_from,
    initial_events_obey_the_selector,
    initial_events_are_not_older_than_asked,
    metadata_can_be_streamed,
    rules_of_streaming_are_enforced,
    versions_from_the_future_time_out_within_the_stream,
];

const STREAM: &str = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";

async fn initial_events_end_with_an_annotated_bookmark(server: &Server) -> anyhow::Result<()> {
    let two = server.config_map("two").await?;
    let one = server.config_map("one").await?;
    let mut watch = server.watch_config_maps(STREAM).await?;
    let events = watch.initial().await?;
    assert_eq!(kinds_and_names(&events), ["ADDED one", "ADDED two", "BOOKMARK"]);
    assert_eq!(events[0]["object"], one, "the whole object, with its kind");
    assert_eq!(events[1]["object"], two);
    let bookmark = &events[2]["object"];
    let expected = json!({
        "kind": "ConfigMap", "apiVersion": "v1",
        "metadata": {
            "resourceVersion": version(bookmark),
            "annotations": {"k8s.io/initial-events-end": "true"},
        },
    });
    assert_eq!(bookmark, &expected);
    assert!(version_number(bookmark) >= version_number(&one));
    Ok(())
}

async fn changes_follow_the_initial_events(server: &Server) -> anyhow::Result<()> {
    server.config_map("one").await?;
    let mut watch = server.watch_config_maps(STREAM).await?;
    watch.initial().await?;
    server.config_map("two").await?;
    server.patch(MERGE, server.core("configmaps/one"), json!({"data": {"a": "2"}})).ok().await?;
    server.delete(server.core("configmaps/two")).ok().await?;
    let events = watch.take(3).await?;
    assert_eq!(kinds_and_names(&events), ["ADDED two", "MODIFIED one", "DELETED two"]);
    Ok(())
}

async fn an_empty_collection_has_only_the_bookmark(server: &Server) -> anyhow::Result<()> {
    let mut watch = server.watch_config_maps(STREAM).await?;
    assert_eq!(kinds_and_names(&watch.initial().await?), ["BOOKMARK"]);
    Ok(())
}

async fn the_bookmark_is_a_place_to_resume_from(server: &Server) -> anyhow::Result<()> {
    server.config_map("one").await?;
    let bookmark = server.watch_config_maps(STREAM).await?.initial().await?.pop().unwrap();
    server.config_map("two").await?;
    let query = format!("resourceVersion={}", version(&bookmark["object"]));
    let mut watch = server.watch_config_maps(&query).await?;
    assert_eq!(kinds_and_names(&watch.take(1).await?), ["ADDED two"]);
    Ok(())
}

async fn initial_events_obey_the_selector(server: &Server) -> anyhow::Result<()> {
    for (name, parity) in [("c0", "even"), ("c1", "odd"), ("c2", "even")] {
        let object = with(config_map(name), "/metadata/labels/parity", parity);
        server.post(server.core("configmaps"), object).ok().await?;
    }
    let mut watch = server.watch_config_maps(&format!("{STREAM}&labelSelector=parity=even")).await?;
    assert_eq!(kinds_and_names(&watch.initial().await?), ["ADDED c0", "ADDED c2", "BOOKMARK"]);
    let mut watch = server.watch_config_maps(&format!("{STREAM}&fieldSelector=metadata.name=c1")).await?;
    assert_eq!(kinds_and_names(&watch.initial().await?), ["ADDED c1", "BOOKMARK"]);
    Ok(())
}

async fn initial_events_are_not_older_than_asked(server: &Server) -> anyhow::Result<()> {
    let one = server.config_map("one").await?;
    let query = format!("{STREAM}&resourceVersion={}", version(&one));
    let events = server.watch_config_maps(&query).await?.initial().await?;
    assert_eq!(kinds_and_names(&events), ["ADDED one", "BOOKMARK"]);
    assert!(version_number(&events[1]["object"]) >= version_number(&one));
    Ok(())
}

async fn metadata_can_be_streamed(server: &Server) -> anyhow::Result<()> {
    server.config_map("one").await?;
    let path = server.core(&format!("configmaps?watch=1&timeoutSeconds=1&{STREAM}"));
    let accept = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
    let text = server.get(path).accept(accept).answer().await?.text();
    let events: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    // Another bookmark may follow before the end.
    assert_eq!(kinds_and_names(&events[..2]), ["ADDED one", "BOOKMARK"]);
    for event in &events {
        assert_eq!(event["object"]["kind"], "PartialObjectMetadata");
        assert_eq!(event["object"]["apiVersion"], "meta.k8s.io/v1");
        assert_eq!(event["object"]["data"], Value::Null);
    }
    Ok(())
}

async fn rules_of_streaming_are_enforced(server: &Server) -> anyhow::Result<()> {
    let requires = "Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
    for (query, message) in [
        ("sendInitialEvents=true", requires),
        ("sendInitialEvents=false", requires),
        (
            "resourceVersion=1&resourceVersionMatch=NotOlderThan",
            "Forbidden: resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
        ),
    ] {
        let refused = server.get(server.core(&format!("configmaps?watch=1&{query}"))).refused().await?;
        let cause = Cause("FieldValueForbidden", "resourceVersionMatch", message);
        assert_eq!(refused, invalid("ListOptions.meta.k8s.io", "", cause));
    }
    Ok(())
}

async fn versions_from_the_future_time_out_within_the_stream(server: &Server) -> anyhow::Result<()> {
    let query = format!("{STREAM}&timeoutSeconds=10&resourceVersion=99999999");
    let events = server.watch_config_maps(&query).await?.rest().await?;
    assert_eq!(kinds_and_names(&events), ["ERROR"]);
    let status = &events[0]["object"];
    let message = status["message"].as_str().unwrap();
    assert!(message.starts_with("Timeout: Too large resource version: 99999999, current: "), "{message}");
    let details = json!({
        "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
        "retryAfterSeconds": 1,
    });
    assert_eq!(status, &failure(504, "Timeout", message, details));
    Ok(())
}
