use std::time::Duration;

use futures::StreamExt;
use http::Request;
use serde_json::Value;
use spindrift_kubernetes::{Api, Event, ListStart, RawObject, WatchStart, WatchTarget};
use spindrift_model::{Resource, ResourceVersion};
use spindrift_testkit::Cluster;

use crate::support::{
    INITIAL, LONG, config_map, connect, core, json, listing, names, next, next_change, resource,
};

/// Reads an object from the API server, without its managed fields.
async fn truth(cluster: &Cluster, target: &WatchTarget, object: &RawObject) -> anyhow::Result<Value> {
    let RawObject { namespace, name, .. } = object;
    let Resource { group, version, plural, .. } = &target.resource;
    let root = if group.is_empty() { "/api".to_owned() } else { format!("/apis/{group}") };
    let path = format!("{root}/{version}/namespaces/{namespace}/{plural}/{name}");
    let mut object: Value = cluster.client().request(Request::get(path).body(Vec::new())?).await?;
    object["metadata"].as_object_mut().expect("every object has metadata").remove("managedFields");
    Ok(object)
}

#[tokio::test]
async fn a_watch_sends_existing_objects_and_then_changes() -> anyhow::Result<()> {
    let cluster = Cluster::shared().await?;
    let api = connect(cluster.kubeconfig()).await?;
    let namespace = cluster.namespace("watch").await?;
    for name in ["a", "b"] {
        config_map(cluster, &namespace, name).await?;
    }
    let target = core(&api, "ConfigMap", &namespace).await?;

    let mut events = api.watch(&target, INITIAL, LONG).await?;
    let (objects, version) = listing(&mut events).await?;
    assert_eq!(&*names(&objects).join(","), "a,b");
    for object in &objects {
        assert_eq!(json(object), truth(cluster, &target, object).await?);
        assert_eq!(json(object)["metadata"]["uid"], object.uid.as_str());
        assert_eq!(json(object)["metadata"]["resourceVersion"], object.resource_version.as_str());
        assert_eq!(*object.namespace, *namespace);
    }

    config_map(cluster, &namespace, "c").await?;
    cluster.kubectl(&["-n", &namespace, "label", "configmap", "a", "colour=red"]).await?;
    cluster.kubectl(&["-n", &namespace, "delete", "configmap", "b"]).await?;
    let mut resumed = api.watch(&target, WatchStart::Resume(version), LONG).await?;
    for events in [&mut events, &mut resumed] {
        let Event::Object(added) = next_change(events).await? else { panic!("c was added") };
        assert_eq!((&*added.name, json(&added)), ("c", truth(cluster, &target, &added).await?));
        let Event::Object(modified) = next_change(events).await? else { panic!("a was modified") };
        assert_eq!((&*modified.name, &json(&modified)["metadata"]["labels"]["colour"]), ("a", &"red".into()));
        assert_eq!(json(&modified), truth(cluster, &target, &modified).await?);
        let Event::Deleted(deleted) = next_change(events).await? else { panic!("b was deleted") };
        assert_eq!((&*deleted.name, &deleted.uid), ("b", &objects[1].uid));
    }
    Ok(())
}

#[tokio::test]
async fn a_watch_ends_at_its_timeout() -> anyhow::Result<()> {
    let cluster = Cluster::shared().await?;
    let api = connect(cluster.kubeconfig()).await?;
    let namespace = cluster.namespace("short").await?;
    let target = core(&api, "ConfigMap", &namespace).await?;
    let mut events = api.watch(&target, INITIAL, Duration::from_secs(1)).await?;
    listing(&mut events).await?;
    while let Some(event) = events.next().await {
        assert!(matches!(event?, Event::Bookmark { initial_events_end: false, .. }));
    }
    Ok(())
}

#[tokio::test]
async fn objects_without_namespaces_are_watched_too() -> anyhow::Result<()> {
    let cluster = Cluster::shared().await?;
    let api = connect(cluster.kubeconfig()).await?;
    let namespace = cluster.namespace("itself").await?;
    let target = WatchTarget::new(resource(&api, "", "Namespace").await?, None);
    let (objects, _) = listing(&mut api.watch(&target, INITIAL, LONG).await?).await?;
    let object = objects.iter().find(|object| *object.name == *namespace).expect("it was created");
    assert_eq!(&*object.namespace, "");
    Ok(())
}

#[tokio::test]
async fn a_list_in_pages_equals_a_watch() -> anyhow::Result<()> {
    let cluster = Cluster::shared().await?;
    let api = connect(cluster.kubeconfig()).await?;
    let namespace = cluster.namespace("pages").await?;
    for (kind, command) in [("ConfigMap", &["configmap"][..]), ("Secret", &["secret", "generic"])] {
        let create = async |name| {
            let arguments = [&["-n", &namespace, "create"], command, &[name]].concat();
            cluster.kubectl(&arguments).await
        };
        for name in ["a", "b", "c", "d", "e"] {
            create(name).await?;
        }
        let target = core(&api, kind, &namespace).await?;
        let (streamed, version) = listing(&mut api.watch(&target, INITIAL, LONG).await?).await?;
        let (paged, end) = pages(&api, &target, ListStart { not_older_than: None, page_size: 2 }).await?;
        assert_eq!(paged, streamed);
        let start = ListStart { not_older_than: Some(version), page_size: 2 };
        assert_eq!(pages(&api, &target, start).await?.0, streamed);

        create("f").await?;
        let mut events = api.watch(&target, WatchStart::Resume(end), LONG).await?;
        let Event::Object(added) = next_change(&mut events).await? else { panic!("f was added") };
        assert_eq!(&*added.name, "f", "a watch goes on where the list ended");
    }
    Ok(())
}

#[tokio::test]
async fn objects_of_named_groups_arrive_as_they_are() -> anyhow::Result<()> {
    let cluster = Cluster::shared().await?;
    let api = connect(cluster.kubeconfig()).await?;
    let namespace = cluster.namespace("group").await?;
    let target =
        WatchTarget::new(resource(&api, "apps", "Deployment").await?, Some(namespace.as_str().into()));
    cluster.kubectl(&["-n", &namespace, "create", "deployment", "web", "--image=web:1"]).await?;
    cluster
        .kubectl(&["-n", &namespace, "annotate", "deployment", "web", "note=<\u{e9}\u{2028}\"\\&>"])
        .await?;
    let streamed = listing(&mut api.watch(&target, INITIAL, LONG).await?).await?.0;
    assert_eq!(json(&streamed[0]), truth(cluster, &target, &streamed[0]).await?);
    let paged = pages(&api, &target, ListStart { not_older_than: None, page_size: 9 }).await?.0;
    assert_eq!(json(&paged[0]), json(&streamed[0]), "lists omit kind and apiVersion, we do not");
    Ok(())
}

async fn pages(
    api: &Api,
    target: &WatchTarget,
    start: ListStart,
) -> anyhow::Result<(Vec<RawObject>, ResourceVersion)> {
    let mut events = api.list(target, start);
    let list = listing(&mut events).await?;
    assert!(next(&mut events).await.is_err(), "nothing follows the end");
    Ok(list)
}
