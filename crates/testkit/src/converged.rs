//! The one assertion that matters: the hub has exactly the objects of the API server.

use std::collections::{BTreeMap, BTreeSet};

use kube::{
    Api,
    api::{ApiResource, DynamicObject, ListParams},
};

use crate::{Cluster, HubProcess, PATIENCE, eventually};

/// A kind to compare: group, version, kind, plural.
pub type KindToCompare<'a> = (&'a str, &'a str, &'a str, &'a str);

type Versions = BTreeMap<String, BTreeSet<(String, String)>>;

/// Waits until the hub's set of (uid, resourceVersion) equals the API server's, for these kinds and for no others.
///
/// Panics with the missing, extra and old objects if it does not come to that.
pub async fn assert_converged(
    cluster: &Cluster,
    hub: &HubProcess,
    account: &str,
    kinds: &[KindToCompare<'_>],
) {
    let client = cluster.client();
    eventually(&format!("the hub converges on {account}"), PATIENCE, || {
        compare(&client, hub, account, kinds)
    })
    .await;
}

/// Compares once: the hub's set of (uid, resourceVersion) equals the API server's, for these kinds and for no others.
/// The error names missing, extra and old objects.
pub async fn compare(
    client: &kube::Client,
    hub: &HubProcess,
    account: &str,
    kinds: &[KindToCompare<'_>],
) -> anyhow::Result<()> {
    // The hub is read between two equal readings of the API server, so that nothing moved meanwhile.
    let before = api_server_versions(client, kinds).await?;
    let stored = hub_versions(hub, account).await?;
    let after = api_server_versions(client, kinds).await?;
    anyhow::ensure!(before == after, "the cluster still changes");
    anyhow::ensure!(stored == after, "{}", difference(&stored, &after));
    Ok(())
}

async fn api_server_versions(client: &kube::Client, kinds: &[KindToCompare<'_>]) -> anyhow::Result<Versions> {
    let mut versions = Versions::new();
    for (group, version, kind, plural) in kinds {
        let api_version = if group.is_empty() { (*version).to_owned() } else { format!("{group}/{version}") };
        let resource = ApiResource {
            group: (*group).into(),
            version: (*version).into(),
            api_version,
            kind: (*kind).into(),
            plural: (*plural).into(),
        };
        let api: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
        // Metadata only: large objects would make each look slow.
        let objects = api.list_metadata(&ListParams::default()).await?.items;
        let pairs = objects.into_iter().map(|object| {
            let metadata = object.metadata;
            (metadata.uid.unwrap_or_default(), metadata.resource_version.unwrap_or_default())
        });
        let pairs: BTreeSet<_> = pairs.collect();
        if !pairs.is_empty() {
            versions.insert((*kind).to_owned(), pairs);
        }
    }
    Ok(versions)
}

async fn hub_versions(hub: &HubProcess, account: &str) -> anyhow::Result<Versions> {
    let mut versions = Versions::new();
    for object in hub.objects(&[("account", account), ("limit", "1000")]).await? {
        versions.entry(object.kind).or_default().insert((object.uid, object.resource_version));
    }
    Ok(versions)
}

fn difference(stored: &Versions, expected: &Versions) -> String {
    let kinds: BTreeSet<_> = stored.keys().chain(expected.keys()).collect();
    let none = BTreeSet::new();
    let line = |kind: &String| {
        let (stored, expected) = (stored.get(kind).unwrap_or(&none), expected.get(kind).unwrap_or(&none));
        let missing: Vec<_> = expected.difference(stored).take(3).collect();
        let extra: Vec<_> = stored.difference(expected).take(3).collect();
        let (has, wants) = (stored.len(), expected.len());
        (stored != expected).then(|| {
            format!("{kind}: the hub has {has}, the cluster {wants}; missing {missing:?}…, extra {extra:?}…")
        })
    };
    kinds.into_iter().filter_map(line).collect::<Vec<_>>().join("; ")
}
