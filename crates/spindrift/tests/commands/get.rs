//! `get` where accounts and namespaces are not named, or not rightly.

use serde_json::json;
use spindrift_testkit::{Cluster, Database, eventually};

use crate::support::{LONG, Shell, Stack};

#[tokio::test(flavor = "multi_thread")]
async fn objects_have_an_account_column_and_wrong_accounts_are_reported() {
    let cluster = Cluster::shared().await.unwrap();
    let namespaces = [cluster.namespace("get").await.unwrap(), cluster.namespace("get").await.unwrap()];
    for namespace in &namespaces {
        cluster.kubectl(&["create", "cm", "assam", "-n", namespace]).await.unwrap();
    }
    let stack = Stack::start(cluster, Database::sqlite().unwrap(), &["ConfigMap"]).await;
    let shell = Shell::new(Some(&stack.hub));
    eventually!("both are there", LONG, stack.names(&[("kind", "cm"), ("name", "assam")]).await.len() == 2);

    // Quoted as a person would.
    let columns = shell.bash(&format!(
        r#""$SPINDRIFT" get cm -n {} -o custom-columns='CLUSTER:.metadata.annotations.spindrift\.io/account,NAME:.metadata.name'"#,
        namespaces[0],
    ));
    assert_eq!(columns.table(), [["CLUSTER", "NAME"], ["main", "assam"]]);

    let list = shell.spindrift(&["get", "cm", "assam", "-A", "-a", "main", "-o", "json"]).json();
    assert_eq!((&list["kind"], list["items"].as_array().unwrap().len()), (&json!("List"), 2));
    let one =
        shell.spindrift(&["get", "cm", "assam", "-n", &namespaces[0], "-a", "main", "-o", "json"]).json();
    assert_eq!(one["kind"], "ConfigMap");

    for format in ["json", "yaml", "name", "jsonpath={.items}", "wide"] {
        let error = shell.spindrift(&["get", "cm", "-a", "mian", "-o", format]).error();
        assert_eq!(error, "account \"mian\" not found; the hub has main", "{format}");
    }
}
