//! Rows of the database that cannot be read.

use serde_json::{Value, json};
use spindrift_testkit::{Database, HubProcess};

use crate::{big_cluster::BigCluster, target::Target};

/// One stored object is not UTF-8: readers get all others.
pub(crate) async fn unreadable(target: &mut Target) {
    let database = Database::sqlite().unwrap();
    let kinds = ("/kubesvc/cache/cacheKinds", json!(["ConfigMap"]));
    let hub = HubProcess::start("hub-with-bad-row", &database, &[kinds]).await.unwrap();
    let cluster = BigCluster::start(&hub, "big").await;
    cluster.create("good", 5, 100).await;
    cluster.create("bad", 1, 100).await;
    cluster.converges(&hub).await;
    // {"<byte that is not UTF-8>":1}
    database
        .execute("UPDATE spindrift_object SET body = X'7B22FF223A317D' WHERE name = 'bad-0'")
        .await
        .unwrap();

    for query in ["", "?kind=ConfigMap", "?limit=1", "?name=bad-0"] {
        let page = hub.get(&format!("/v1/objects{query}")).await;
        target.check(format!("page {query:?} is served"), page.is_ok(), format!("{page:?}"));
    }
    let page = hub.get("/v1/objects?account=big").await.unwrap_or_default();
    let expected = json!([{ "account": "big", "group": "", "kind": "ConfigMap", "namespace": "default", "name": "bad-0" }]);
    target.check("the page names the object", page["unreadable"] == expected, &page["unreadable"]);
    let shown = names(&page);
    let all = (0..5).all(|number| shown.contains(&format!("good-{number}")));
    target.check(
        "the page has the others",
        all && !shown.contains(&"bad-0".to_owned()),
        format!("{shown:?}"),
    );

    let mut watch = hub.watch(&[("account", "big")], None).await.unwrap();
    let synced = watch.find(|event| event.event == "synced").await;
    target.check("a watch passes over it", synced.is_ok(), format!("{synced:?}"));
    let counted = hub.metric("spindrift_hub_objects_unreadable_total").await.unwrap_or_default();
    target.check("it is counted", counted > 0, counted);
    let log = hub.daemon().log();
    target.check("the log names it", log.contains("default/bad-0"), "it does not");
}

fn names(page: &Value) -> Vec<String> {
    let items = page["items"].as_array().into_iter().flatten();
    items.filter_map(|item| item["name"].as_str()).map(str::to_owned).collect()
}
