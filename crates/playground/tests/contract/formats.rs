//! Formats of an object: metadata only, table, YAML, compressed.

use serde_json::{Value, json};

use crate::support::{JSON, Server, config_map, failure, pod, with};

facts![
    lists_of_metadata_have_no_contents,
    metadata_of_one_object_has_no_contents,
    a_list_is_no_object_and_an_object_no_list,
    tables_have_the_columns_of_kubectl,
    tables_carry_metadata_the_object_or_nothing,
    tables_page_like_lists,
    yaml_is_given_to_who_wants_it,
    anything_means_json,
    unknown_formats_are_not_acceptable,
    large_answers_are_compressed_on_request,
];

const METADATA: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
const METADATA_LIST: &str = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
const TABLE: &str = "application/json;as=Table;g=meta.k8s.io;v=v1";

async fn lists_of_metadata_have_no_contents(server: &Server) -> anyhow::Result<()> {
    server.config_map("one").await?;
    server.config_map("two").await?;
    let path = server.core("configmaps?limit=1");
    let answer = server.get(path).accept(METADATA_LIST).answer().await?;
    assert_eq!(answer.header("content-type"), JSON);
    let list = answer.json()?;
    assert_eq!(list["kind"], "PartialObjectMetadataList");
    assert_eq!(list["apiVersion"], "meta.k8s.io/v1");
    assert_eq!(list["metadata"]["remainingItemCount"], 1);
    let item = &list["items"][0];
    assert_eq!(item["kind"], "PartialObjectMetadata");
    assert_eq!(item["apiVersion"], "meta.k8s.io/v1");
    assert_eq!(item["metadata"]["name"], "one");
    assert!(item["metadata"]["uid"].is_string());
    assert_eq!(item["data"], Value::Null);
    Ok(())
}

async fn metadata_of_one_object_has_no_contents(server: &Server) -> anyhow::Result<()> {
    let created = server.config_map("one").await?;
    let object = server.get(server.core("configmaps/one")).accept(METADATA).ok().await?;
    let expected = json!({
        "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": created["metadata"],
    });
    assert_eq!(object, expected);
    Ok(())
}

async fn a_list_is_no_object_and_an_object_no_list(server: &Server) -> anyhow::Result<()> {
    server.config_map("one").await?;
    for (path, wanted) in [("configmaps", METADATA), ("configmaps/one", METADATA_LIST)] {
        let refused = server.get(server.core(path)).accept(wanted).refused().await?;
        assert_eq!((&refused["code"], &refused["reason"]), (&json!(406), &json!("NotAcceptable")), "{path}");
    }
    Ok(())
}

/// Name and priority of each column, as kubectl prints them.
fn columns(table: &Value) -> Vec<(&str, u64)> {
    let columns = table["columnDefinitions"].as_array().unwrap();
    columns
        .iter()
        .map(|column| (column["name"].as_str().unwrap(), column["priority"].as_u64().unwrap()))
        .collect()
}

async fn tables_have_the_columns_of_kubectl(server: &Server) -> anyhow::Result<()> {
    server.config_map("one").await?;
    server.post(server.core("pods"), pod("main")).ok().await?;
    let table = server.get(server.core("configmaps")).accept(TABLE).ok().await?;
    assert_eq!((&table["kind"], &table["apiVersion"]), (&json!("Table"), &json!("meta.k8s.io/v1")));
    assert_eq!(columns(&table), [("Name", 0), ("Data", 0), ("Age", 0)]);
    assert_eq!(table["rows"][0]["cells"][0], "one");
    assert_eq!(table["rows"][0]["cells"][1], 1);

    // As kubectl requests it.
    let accept = format!("{TABLE},application/json;as=Table;g=meta.k8s.io;v=v1beta1,{JSON}");
    let table = server.get(server.core("pods")).accept(&accept).ok().await?;
    let of_pods = [
        ("Name", 0),
        ("Ready", 0),
        ("Status", 0),
        ("Restarts", 0),
        ("Age", 0),
        ("IP", 1),
        ("Node", 1),
        ("Nominated Node", 1),
        ("Readiness Gates", 1),
    ];
    assert_eq!(columns(&table), of_pods);
    let mut cells = table["rows"][0]["cells"].clone();
    cells[4] = "its age".into();
    assert_eq!(
        cells,
        json!(["main", "0/1", "Pending", "0", "its age", "<none>", "<none>", "<none>", "<none>"])
    );
    Ok(())
}

async fn tables_carry_metadata_the_object_or_nothing(server: &Server) -> anyhow::Result<()> {
    let created = server.config_map("one").await?;
    let object = async |query: &str| -> anyhow::Result<Value> {
        let table = server.get(server.core("configmaps/one") + query).accept(TABLE).ok().await?;
        assert_eq!(table["metadata"]["resourceVersion"], created["metadata"]["resourceVersion"]);
        Ok(table["rows"][0]["object"].clone())
    };
    let metadata = json!({
        "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": created["metadata"],
    });
    assert_eq!(object("").await?, metadata);
    assert_eq!(object("?includeObject=Metadata").await?, metadata);
    assert_eq!(object("?includeObject=Object").await?, created);
    assert_eq!(object("?includeObject=None").await?, Value::Null);
    Ok(())
}

async fn tables_page_like_lists(server: &Server) -> anyhow::Result<()> {
    for name in ["one", "three", "two"] {
        server.config_map(name).await?;
    }
    let first = server.get(server.core("configmaps?limit=2")).accept(TABLE).ok().await?;
    assert_eq!(first["rows"].as_array().unwrap().len(), 2);
    assert_eq!(first["metadata"]["remainingItemCount"], 1);
    let token = first["metadata"]["continue"].as_str().unwrap();
    let path = server.core(&format!("configmaps?limit=2&continue={token}"));
    let second = server.get(path).accept(TABLE).ok().await?;
    assert_eq!(second["rows"][0]["cells"][0], "two");
    assert_eq!(second["metadata"]["continue"], Value::Null);
    Ok(())
}

async fn yaml_is_given_to_who_wants_it(server: &Server) -> anyhow::Result<()> {
    server.config_map("one").await?;
    let answer = server.get(server.core("configmaps/one")).accept("application/yaml").answer().await?;
    assert_eq!(answer.header("content-type"), "application/yaml");
    let text = answer.text();
    assert!(text.starts_with("apiVersion: v1\n") && text.contains("\n  name: one\n"), "{text}");
    Ok(())
}

async fn anything_means_json(server: &Server) -> anyhow::Result<()> {
    server.config_map("one").await?;
    for accept in ["*/*", "text/html, */*"] {
        let answer = server.get(server.core("configmaps/one")).accept(accept).answer().await?;
        assert_eq!((answer.code, answer.header("content-type")), (200, JSON), "{accept}");
    }
    Ok(())
}

async fn unknown_formats_are_not_acceptable(server: &Server) -> anyhow::Result<()> {
    server.config_map("one").await?;
    for accept in ["text/html", "application/*"] {
        let refused = server.get(server.core("configmaps/one")).accept(accept).refused().await?;
        let message = refused["message"].as_str().unwrap();
        // The list of formats at the end differs between servers.
        let words = "406: Not Acceptable\n\nAvailable representations: application/json, application/yaml";
        assert!(message.starts_with(words), "{accept}: {message}");
        assert_eq!(refused, failure(406, "NotAcceptable", message, json!({})));
    }
    Ok(())
}

async fn large_answers_are_compressed_on_request(server: &Server) -> anyhow::Result<()> {
    let large = with(config_map("large"), "/data/a", "x".repeat(200_000));
    server.post(server.core("configmaps"), large).ok().await?;
    server.config_map("small").await?;
    let answer = server.get(server.core("configmaps")).header("accept-encoding", "gzip").answer().await?;
    assert_eq!(answer.header("content-encoding"), "gzip");
    assert_eq!(answer.header("content-type"), JSON);
    assert!(answer.body.len() < 20_000, "{} bytes", answer.body.len());
    assert_eq!(answer.body[..2], [0x1f, 0x8b]);

    let answer = server.get(server.core("configmaps")).answer().await?;
    assert_eq!(answer.header("content-encoding"), "");
    let small = server.get(server.core("configmaps/small")).header("accept-encoding", "gzip");
    assert_eq!(small.answer().await?.header("content-encoding"), "", "not worth it");
    Ok(())
}
