//! Dry runs: the complete response, and no effect.

use serde_json::{Value, json};

use crate::support::{APPLY, Cause, MERGE, Server, config_map, invalid, names, plain, version, with};

facts![
    nothing_is_created,
    nothing_is_updated,
    nothing_is_applied,
    nothing_is_deleted,
    refusals_are_those_of_the_real_run,
    there_is_only_one_kind_of_dry_run,
];

async fn unchanged(server: &Server, created: &Value) -> anyhow::Result<()> {
    assert_eq!(&server.get(server.core("configmaps/one")).ok().await?, created);
    Ok(())
}

async fn nothing_is_created(server: &Server) -> anyhow::Result<()> {
    let answer = server.post(server.core("configmaps?dryRun=All"), config_map("one")).answer().await?;
    assert_eq!(answer.code, 201);
    let object = answer.json()?;
    assert_eq!(plain(&object), config_map("one"));
    assert!(object["metadata"]["uid"].is_string());
    assert_eq!(object["metadata"]["resourceVersion"], Value::Null);
    assert_eq!(names(&server.get(server.core("configmaps")).ok().await?), Vec::<&str>::new());
    Ok(())
}

async fn nothing_is_updated(server: &Server) -> anyhow::Result<()> {
    let created = server.config_map("one").await?;
    let changed = with(config_map("one"), "/data/a", "2");
    let path = server.core("configmaps/one?dryRun=All");
    let put = server.put(path.clone(), changed.clone()).ok().await?;
    assert_eq!(plain(&put), changed);
    assert_eq!(version(&put), version(&created));
    let patched = server.patch(MERGE, path, json!({"data": {"a": "2"}})).ok().await?;
    assert_eq!(plain(&patched), changed);
    unchanged(server, &created).await
}

async fn nothing_is_applied(server: &Server) -> anyhow::Result<()> {
    let path = server.core("configmaps/one?fieldManager=me&dryRun=All");
    let answer = server.patch(APPLY, path, config_map("one")).answer().await?;
    assert_eq!(answer.code, 201);
    assert_eq!(plain(&answer.json()?), config_map("one"));
    assert_eq!(server.get(server.core("configmaps/one")).refused().await?["code"], 404);
    Ok(())
}

async fn nothing_is_deleted(server: &Server) -> anyhow::Result<()> {
    let created = server.config_map("one").await?;
    let success = server.delete(server.core("configmaps/one?dryRun=All")).ok().await?;
    assert_eq!(success["status"], "Success");
    server.delete(server.core("configmaps/one")).json(&json!({"dryRun": ["All"]})).ok().await?;
    server.delete(server.core("configmaps?dryRun=All")).ok().await?;
    unchanged(server, &created).await
}

async fn refusals_are_those_of_the_real_run(server: &Server) -> anyhow::Result<()> {
    server.config_map("one").await?;
    let dry = server.post(server.core("configmaps?dryRun=All"), config_map("one")).refused().await?;
    let real = server.post(server.core("configmaps"), config_map("one")).refused().await?;
    assert_eq!(dry, real);
    Ok(())
}

async fn there_is_only_one_kind_of_dry_run(server: &Server) -> anyhow::Result<()> {
    let refused = server.post(server.core("configmaps?dryRun=Some"), config_map("one")).refused().await?;
    let cause =
        Cause("FieldValueNotSupported", "dryRun", "Unsupported value: [\"Some\"]: supported values: \"All\"");
    assert_eq!(refused, invalid("CreateOptions.meta.k8s.io", "", cause));
    Ok(())
}
