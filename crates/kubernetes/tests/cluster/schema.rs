//! The shipped merge strategies are those of a real API server.

use std::{env, fs, sync::Arc};

use anyhow::Context;
use serde_json::Value;
use spindrift_kubernetes::{Schema, Schemas};
use spindrift_testkit::Cluster;

use crate::support::connect;

const TABLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/merge/schema/builtin.txt");

const HEADER: &str = "\
# How the fields of Kubernetes' own kinds are merged, as its API server tells it: `make merge-keys` writes this file.
# Lines of a type are fields: merge or replace, retainKeys, the merge key, and the type of the field or of its elements.
";

/// The group versions that the server describes, such as `apps/v1`.
async fn described(cluster: &Cluster) -> anyhow::Result<Vec<String>> {
    let index: Value = cluster.client().request(http::Request::get("/openapi/v3").body(Vec::new())?).await?;
    let paths = index["paths"].as_object().context("an index has paths")?;
    let named = |path: &str| path.strip_prefix("apis/").filter(|path| path.contains('/')).map(str::to_owned);
    let versions = paths.keys().filter_map(|path| path.strip_prefix("api/").map(Into::into).or(named(path)));
    Ok(versions.collect())
}

#[tokio::test]
async fn the_shipped_facts_are_those_of_a_real_api_server() -> anyhow::Result<()> {
    let cluster = Cluster::shared().await?;
    let api = connect(cluster.kubeconfig()).await?;
    let schemas = Schemas::default();
    let mut told = Schema::default();
    for version in described(cluster).await? {
        // Custom resources of other tests may be gone by now, and have no facts anyway.
        let schema = schemas.of(&api, &version).await.unwrap_or_default();
        told.extend(Arc::unwrap_or_clone(schema));
    }
    let told = format!("{HEADER}{}", told.to_table());
    if env::var_os("UPDATE_GENERATED").is_some() {
        fs::write(TABLE, &told)?;
    }
    let shipped = fs::read_to_string(TABLE)?;
    assert!(shipped == told, "the facts have changed: make merge-keys writes them anew");
    Ok(())
}

#[tokio::test]
async fn facts_are_asked_for_once_and_shared() -> anyhow::Result<()> {
    let cluster = Cluster::shared().await?;
    let (here, there) = (connect(cluster.kubeconfig()).await?, connect(cluster.kubeconfig()).await?);
    let (ours, theirs) = (Schemas::default(), Schemas::default());
    let first = ours.of(&here, "apps/v1").await.context("it is told")?;
    let asked = here.stats().requests;
    let again = ours.of(&here, "apps/v1").await.context("it is known")?;
    assert_eq!((here.stats().requests, Arc::ptr_eq(&first, &again)), (asked, true));
    let other = theirs.of(&there, "apps/v1").await.context("it is told there, too")?;
    assert!(Arc::ptr_eq(&first, &other), "two accounts of one release share what is known");

    assert!(ours.of(&here, "example.com/v1").await.is_none());
    assert!(first.shape("apps/v1", "Deployment").is_some() && first.shape("v1", "Pod").is_none());
    Ok(())
}
