//! Watches: every change once, in order, from a resource version on.

use serde_json::{Value, json};

use crate::support::{
    Cause, JSON, MERGE, Server, config_map, failure, invalid, kinds_and_names, version, version_number, with,
};

facts![
    changes_come_once_and_in_order,
    events_carry_the_version_of_their_change,
    a_resumed_watch_misses_and_repeats_nothing,
    without_a_version_it_begins_with_what_there_is,
    objects_that_stop_matching_are_deleted,
    one_object_can_be_watched_by_name,
    other_namespaces_are_not_seen,
    all_namespaces_can_be_watched,
    a_watch_ends_after_its_timeout,
    a_version_from_the_future_waits,
    the_old_watch_paths_work,
    a_watch_of_tables_repeats_no_columns,
    bookmarks_are_only_for_who_asks,
    broken_watches_are_refused,
    nothing_can_be_watched_that_is_not_listed,
];

async fn now(server: &Server) -> anyhow::Result<String> {
    Ok(version(&server.get(server.core("configmaps")).ok().await?).to_owned())
}

async fn set(server: &Server, name: &str, value: &str) -> anyhow::Result<Value> {
    server.patch(MERGE, server.core(&format!("configmaps/{name}")), json!({"data": {"a": value}})).ok().await
}

async fn changes_come_once_and_in_order(server: &Server) -> anyhow::Result<()> {
    let mut watch = server.watch_config_maps(&format!("resourceVersion={}", now(server).await?)).await?;
    server.config_map("one").await?;
    server.config_map("two").await?;
    set(server, "one", "2").await?;
    set(server, "one", "2").await?; // which changes nothing
    server.delete(server.core("configmaps/one")).ok().await?;
    set(server, "two", "3").await?;
    let events = watch.take(5).await?;
    let expected = ["ADDED one", "ADDED two", "MODIFIED one", "DELETED one", "MODIFIED two"];
    assert_eq!(kinds_and_names(&events), expected);
    Ok(())
}

async fn events_carry_the_version_of_their_change(server: &Server) -> anyhow::Result<()> {
    let mut watch = server.watch_config_maps(&format!("resourceVersion={}", now(server).await?)).await?;
    let created = server.config_map("one").await?;
    let changed = set(server, "one", "2").await?;
    server.delete(server.core("configmaps/one")).ok().await?;
    let events = watch.take(3).await?;
    assert_eq!(events[0]["object"], created);
    assert_eq!(events[1]["object"], changed);
    let deleted = &events[2]["object"];
    assert_eq!(deleted["data"], json!({"a": "2"}), "the last state");
    assert!(version_number(deleted) > version_number(&changed), "deleting is a change of its own");
    Ok(())
}

async fn a_resumed_watch_misses_and_repeats_nothing(server: &Server) -> anyhow::Result<()> {
    let from = now(server).await?;
    for name in ["c0", "c1", "c2", "c3"] {
        server.config_map(name).await?;
    }
    let first = server.watch_config_maps(&format!("resourceVersion={from}")).await?.take(2).await?;
    assert_eq!(kinds_and_names(&first), ["ADDED c0", "ADDED c1"]);
    server.delete(server.core("configmaps/c0")).ok().await?;
    let query = format!("resourceVersion={}", version(&first[1]["object"]));
    let second = server.watch_config_maps(&query).await?.take(3).await?;
    assert_eq!(kinds_and_names(&second), ["ADDED c2", "ADDED c3", "DELETED c0"]);
    Ok(())
}

async fn without_a_version_it_begins_with_what_there_is(server: &Server) -> anyhow::Result<()> {
    server.config_map("one").await?;
    server.config_map("two").await?;
    for query in ["", "resourceVersion=0"] {
        let mut watch = server.watch_config_maps(query).await?;
        assert_eq!(kinds_and_names(&watch.take(2).await?), ["ADDED one", "ADDED two"], "{query}");
    }
    Ok(())
}

async fn objects_that_stop_matching_are_deleted(server: &Server) -> anyhow::Result<()> {
    let labelled = |name, parity| with(config_map(name), "/metadata/labels/parity", parity);
    for (name, parity) in [("c0", "even"), ("c1", "odd"), ("c2", "even")] {
        server.post(server.core("configmaps"), labelled(name, parity)).ok().await?;
    }
    let query = format!("labelSelector=parity=even&resourceVersion={}", now(server).await?);
    let mut watch = server.watch_config_maps(&query).await?;
    let label = async |name: &str, parity: &str| {
        let body = json!({"metadata": {"labels": {"parity": parity}}});
        server.patch(MERGE, server.core(&format!("configmaps/{name}")), body).ok().await
    };
    let left = label("c0", "odd").await?;
    label("c1", "even").await?;
    set(server, "c0", "unseen").await?;
    set(server, "c2", "2").await?;
    server.delete(server.core("configmaps/c2")).ok().await?;
    let events = watch.take(4).await?;
    assert_eq!(kinds_and_names(&events), ["DELETED c0", "ADDED c1", "MODIFIED c2", "DELETED c2"]);
    let deleted = &events[0]["object"];
    assert_eq!(deleted["metadata"]["labels"]["parity"], "even", "as it was when it matched last");
    assert_eq!(version(deleted), version(&left), "at the version of the change");
    Ok(())
}

async fn one_object_can_be_watched_by_name(server: &Server) -> anyhow::Result<()> {
    let query = format!("fieldSelector=metadata.name=two&resourceVersion={}", now(server).await?);
    let mut watch = server.watch_config_maps(&query).await?;
    server.config_map("one").await?;
    server.config_map("two").await?;
    set(server, "one", "2").await?;
    set(server, "two", "2").await?;
    assert_eq!(kinds_and_names(&watch.take(2).await?), ["ADDED two", "MODIFIED two"]);
    Ok(())
}

async fn other_namespaces_are_not_seen(server: &Server) -> anyhow::Result<()> {
    let mut watch = server.watch_config_maps(&format!("resourceVersion={}", now(server).await?)).await?;
    let elsewhere = json!({"metadata": {"generateName": "elsewhere-"}});
    server.post("/api/v1/namespaces/default/configmaps", elsewhere).ok().await?;
    server.config_map("here").await?;
    assert_eq!(kinds_and_names(&watch.take(1).await?), ["ADDED here"]);
    Ok(())
}

async fn all_namespaces_can_be_watched(server: &Server) -> anyhow::Result<()> {
    let mark = server.namespace();
    let query = format!("labelSelector=mark={mark}&resourceVersion={}", now(server).await?);
    let mut watch = server.watch("/api/v1/configmaps", &query).await?;
    let marked = json!({"metadata": {"generateName": "marked-", "labels": {"mark": mark}}});
    let elsewhere = server.post("/api/v1/namespaces/default/configmaps", marked.clone()).ok().await?;
    let here = server.post(server.core("configmaps"), marked).ok().await?;
    let events = watch.take(2).await?;
    assert_eq!(events[0]["object"], elsewhere);
    assert_eq!(events[1]["object"], here);
    Ok(())
}

async fn a_watch_ends_after_its_timeout(server: &Server) -> anyhow::Result<()> {
    server.config_map("one").await?;
    let events = server.watch_config_maps("timeoutSeconds=1").await?.rest().await?;
    assert_eq!(kinds_and_names(&events), ["ADDED one"]);
    Ok(())
}

async fn a_version_from_the_future_waits(server: &Server) -> anyhow::Result<()> {
    server.config_map("one").await?;
    let query = "timeoutSeconds=1&resourceVersion=99999999";
    assert_eq!(server.watch_config_maps(query).await?.rest().await?, Vec::<Value>::new());
    Ok(())
}

async fn the_old_watch_paths_work(server: &Server) -> anyhow::Result<()> {
    server.config_map("one").await?;
    server.config_map("two").await?;
    let namespace = server.namespace();
    for (rest, expected) in [("", vec!["ADDED one", "ADDED two"]), ("/two", vec!["ADDED two"])] {
        let path = format!("/api/v1/watch/namespaces/{namespace}/configmaps{rest}?timeoutSeconds=1");
        let text = server.get(path).answer().await?.text();
        let events: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(kinds_and_names(&events), expected);
    }
    Ok(())
}

async fn a_watch_of_tables_repeats_no_columns(server: &Server) -> anyhow::Result<()> {
    server.config_map("one").await?;
    server.config_map("two").await?;
    let path = server.core("configmaps?watch=1&timeoutSeconds=1");
    let call = server.get(path).accept("application/json;as=Table;g=meta.k8s.io;v=v1");
    let answer = call.answer().await?;
    assert_eq!(answer.header("content-type"), JSON);
    let text = answer.text();
    let events: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(events[0]["object"]["kind"], "Table");
    assert_eq!(events[0]["object"]["columnDefinitions"].as_array().unwrap().len(), 3);
    assert_eq!(events[0]["object"]["rows"][0]["cells"][0], "one");
    assert_eq!(events[1]["object"]["columnDefinitions"], Value::Null);
    assert_eq!(events[1]["object"]["rows"][0]["cells"][0], "two");
    Ok(())
}

async fn bookmarks_are_only_for_who_asks(server: &Server) -> anyhow::Result<()> {
    server.config_map("one").await?;
    let query = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&timeoutSeconds=2";
    let events = server.watch_config_maps(query).await?.rest().await?;
    assert_eq!(kinds_and_names(&events), ["ADDED one"]);
    Ok(())
}

async fn broken_watches_are_refused(server: &Server) -> anyhow::Result<()> {
    let refused =
        async |query: &str| server.get(server.core(&format!("configmaps?watch=1&{query}"))).refused().await;
    let message =
        "resourceVersion: Invalid value: \"abc\": strconv.ParseUint: parsing \"abc\": invalid syntax";
    assert_eq!(refused("resourceVersion=abc").await?, failure(500, "", message, Value::Null));
    let message = "strconv.ParseInt: parsing \"abc\": invalid syntax";
    assert_eq!(refused("timeoutSeconds=abc").await?, failure(400, "BadRequest", message, Value::Null));
    let cause = Cause(
        "FieldValueForbidden",
        "resourceVersionMatch",
        "Forbidden: resourceVersionMatch is forbidden when continue is provided",
    );
    assert_eq!(refused("continue=abc").await?, invalid("ListOptions.meta.k8s.io", "", cause));
    Ok(())
}

async fn nothing_can_be_watched_that_is_not_listed(server: &Server) -> anyhow::Result<()> {
    let created = server.config_map("one").await?;
    let read = server.get(server.core("configmaps/one?watch=1")).ok().await?;
    assert_eq!(read, created, "a path of one object is a read");
    Ok(())
}
