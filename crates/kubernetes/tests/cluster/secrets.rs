use spindrift_kubernetes::{Event, ListStart, RawObject, View, WatchTarget};
use spindrift_testkit::Cluster;

use crate::support::{INITIAL, LONG, connect, json, listing, next_change, resource};

/// The canary, plain and in base64.
const CANARIES: [&str; 2] = ["canary-1234567", "Y2FuYXJ5LTEyMzQ1Njc="];

fn secret(label: &str) -> String {
    format!(
        r#"{{"apiVersion":"v1","kind":"Secret","type":"Opaque",
            "metadata":{{"name":"treasure","labels":{{"round":"{label}"}},"annotations":{{"kept":"yes"}}}},
            "data":{{"encoded":"{}"}},"stringData":{{"plain":"{}"}}}}"#,
        CANARIES[1], CANARIES[0]
    )
}

fn assert_clean(object: &RawObject, round: &str) {
    let text = std::str::from_utf8(&object.body).expect("bodies are UTF-8");
    for canary in CANARIES {
        assert!(!text.contains(canary), "{text}");
    }
    let object = json(object);
    assert_eq!((&object["kind"], &object["apiVersion"]), (&"Secret".into(), &"v1".into()));
    assert_eq!(object["metadata"]["labels"]["round"], round);
    assert_eq!(object["metadata"]["annotations"], serde_json::json!({ "kept": "yes" }));
    let keys: Vec<_> = object.as_object().expect("an object").keys().collect();
    assert_eq!(keys, ["apiVersion", "kind", "metadata"]);
    assert!(object["metadata"].get("managedFields").is_none());
}

#[tokio::test]
async fn no_value_of_a_secret_is_ever_received() -> anyhow::Result<()> {
    let cluster = Cluster::shared().await?;
    let api = connect(cluster.kubeconfig()).await?;
    let namespace = cluster.namespace("secret").await?;
    // Applied, so that its annotations repeat it.
    let apply = ["-n", &namespace, "apply", "-f", "-"];
    cluster.kubectl_stdin(&apply, &secret("one")).await?;
    let stored = cluster.kubectl(&["-n", &namespace, "get", "secret", "treasure", "-o", "json"]).await?;
    assert!(CANARIES.iter().all(|canary| stored.contains(canary)), "otherwise the test proves nothing");

    // The full view of a Secret is its metadata, too.
    let mut target = WatchTarget::new(resource(&api, "", "Secret").await?, Some(namespace.as_str().into()));
    target.view = View::Full;
    let mut events = api.watch(&target, INITIAL, LONG).await?;
    let (streamed, _) = listing(&mut events).await?;
    assert_clean(&streamed[0], "one");
    let (paged, _) =
        listing(&mut api.list(&target, ListStart { not_older_than: None, page_size: 10 })).await?;
    assert_eq!(paged, streamed);

    cluster.kubectl_stdin(&apply, &secret("two")).await?;
    let Event::Object(modified) = next_change(&mut events).await? else { panic!("it was modified") };
    assert_clean(&modified, "two");
    cluster.kubectl(&["-n", &namespace, "delete", "secret", "treasure"]).await?;
    let Event::Deleted(deleted) = next_change(&mut events).await? else { panic!("it was deleted") };
    assert_clean(&deleted, "two");
    Ok(())
}
