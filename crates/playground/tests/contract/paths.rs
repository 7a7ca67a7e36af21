//! Paths are decoded before they are split.

use serde_json::json;

use crate::support::{Server, config_map};

facts![an_encoded_slash_separates_segments, other_encoded_characters_are_part_of_a_name];

async fn an_encoded_slash_separates_segments(server: &Server) -> anyhow::Result<()> {
    server.post(server.core("configmaps"), config_map("one")).ok().await?;
    let path = format!("/api/v1/namespaces/{}%2Fconfigmaps%2fone", server.namespace());
    assert_eq!(server.get(path.clone()).ok().await?["metadata"]["name"], "one");
    server.delete(path).ok().await?;
    let gone = server.get(server.core("configmaps/one")).refused().await?;
    assert_eq!(gone["code"], 404);
    Ok(())
}

async fn other_encoded_characters_are_part_of_a_name(server: &Server) -> anyhow::Result<()> {
    let missing = server.get(server.core("configmaps/a%3Fb%20c")).refused().await?;
    assert_eq!((&missing["code"], &missing["details"]["name"]), (&json!(404), &json!("a?b c")));
    Ok(())
}
