//! Expired history: 410, and how clients continue from there.

use serde_json::Value;

use crate::support::{Server, failure, kinds_and_names, names, version};

facts![alone: forgotten_versions_are_gone];

/// One fact instead of four, since the real server takes seconds to compact.
async fn forgotten_versions_are_gone(server: &Server) -> anyhow::Result<()> {
    let one = server.config_map("one").await?;
    let old = version(&one).to_owned();
    server.config_map("two").await?;
    server.config_map("three").await?;
    let page = server.get(server.core("configmaps?limit=1")).ok().await?;
    assert_eq!(names(&page), ["one"]);
    // So that the oldest available resource version is a newer one.
    server.delete(server.core("configmaps/three")).ok().await?;
    server.config_map("four").await?;
    server.forget_history().await?;

    a_watch_says_so_in_its_stream(server, &old).await?;
    an_exact_list_is_refused(server, &old).await?;
    let resume =
        an_expired_page_brings_a_new_token(server, page["metadata"]["continue"].as_str().unwrap()).await?;
    the_new_token_goes_on_with_what_there_is_now(server, &resume).await?;
    a_new_list_is_a_place_to_watch_from(server).await
}

async fn a_watch_says_so_in_its_stream(server: &Server, old: &str) -> anyhow::Result<()> {
    let events = server.watch_config_maps(&format!("resourceVersion={old}")).await?.rest().await?;
    assert_eq!(kinds_and_names(&events), ["ERROR"]);
    let status = &events[0]["object"];
    let message = status["message"].as_str().unwrap();
    assert!(message.starts_with(&format!("too old resource version: {old} (")), "{message}");
    assert_eq!(status, &failure(410, "Expired", message, Value::Null));
    Ok(())
}

async fn an_exact_list_is_refused(server: &Server, old: &str) -> anyhow::Result<()> {
    let path = server.core(&format!("configmaps?resourceVersion={old}&resourceVersionMatch=Exact"));
    let message = "The resourceVersion for the provided list is too old.";
    assert_eq!(server.get(path).refused().await?, failure(410, "Expired", message, Value::Null));
    Ok(())
}

async fn an_expired_page_brings_a_new_token(server: &Server, token: &str) -> anyhow::Result<String> {
    let refused = server.get(server.core(&format!("configmaps?limit=1&continue={token}"))).refused().await?;
    let resume = refused["metadata"]["continue"].as_str().unwrap().to_owned();
    let message = "The provided continue parameter is too old to display a consistent list result. You can start a \
                   new list without the continue parameter, or use the continue token in this response to retrieve \
                   the remainder of the results. Continuing with the provided token results in an inconsistent list \
                   - objects that were created, modified, or deleted between the time the first chunk was returned \
                   and now may show up in the list.";
    let mut expected = failure(410, "Expired", message, Value::Null);
    expected["metadata"]["continue"] = resume.clone().into();
    assert_eq!(refused, expected);
    Ok(resume)
}

async fn the_new_token_goes_on_with_what_there_is_now(server: &Server, resume: &str) -> anyhow::Result<()> {
    let rest = server.get(server.core(&format!("configmaps?continue={resume}"))).ok().await?;
    assert_eq!(names(&rest), ["two"], "`four` sorts before, `three` is deleted");
    Ok(())
}

async fn a_new_list_is_a_place_to_watch_from(server: &Server) -> anyhow::Result<()> {
    let list = server.get(server.core("configmaps")).ok().await?;
    assert_eq!(names(&list), ["four", "one", "two"]);
    let mut watch = server.watch_config_maps(&format!("resourceVersion={}", version(&list))).await?;
    server.config_map("five").await?;
    assert_eq!(kinds_and_names(&watch.take(1).await?), ["ADDED five"]);
    Ok(())
}
