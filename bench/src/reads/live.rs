//! The peer: a process that lists the objects of a page from all API servers at once, and makes the same views of them.

use std::{sync::Arc, time::Duration};

use anyhow::{Context, bail};
use futures::future::try_join_all;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use spindrift_model::ObjectKey;
use spindrift_spinnaker::{
    Inventory, KindRules, Row, RowKey, RowRules, SpinnakerKind,
    view::{
        ClusterRef, LoadBalancer, SearchPage, SearchTypes, Searched, ServerGroupSummary, clusters_of, search,
    },
};
use tokio::time::Instant;

use super::{
    process::Usage,
    shop::{NAMESPACE, Shop},
};

/// A peer that is to run.
pub(crate) struct LiveReader {
    arguments: Vec<String>,
}

/// Its own measurements.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Answered {
    pub(crate) took: Vec<Duration>,
    /// For each answer.
    pub(crate) cpu: Duration,
    pub(crate) peak: u64,
    pub(crate) requests: usize,
    bytes: usize,
}

#[derive(Deserialize)]
struct List<'a> {
    #[serde(borrow)]
    items: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
struct Item {
    metadata: ItemMetadata,
}

#[derive(Deserialize)]
struct ItemMetadata {
    name: String,
}

const REPLICA_SETS: (&str, &str, &str) = ("apps", "ReplicaSet", "apis/apps/v1/namespaces/{}/replicasets");
const PODS: (&str, &str, &str) = ("", "Pod", "api/v1/namespaces/{}/pods");
const SERVICES: (&str, &str, &str) = ("", "Service", "api/v1/namespaces/{}/services");

// === impl LiveReader ===

impl LiveReader {
    pub(crate) fn new(page: &str, shop: &Shop, turns: usize) -> Self {
        let mut arguments = vec!["read-live".to_owned(), page.to_owned(), turns.to_string()];
        arguments.extend(shop.urls());
        Self { arguments }
    }

    /// Runs it in a process of its own, with CPU and memory of its own.
    pub(crate) async fn run(&self) -> anyhow::Result<Answered> {
        let program = std::env::current_exe()?;
        let output = tokio::process::Command::new(program).args(&self.arguments).output().await?;
        if !output.status.success() {
            bail!("the live reader failed: {}", String::from_utf8_lossy(&output.stderr));
        }
        serde_json::from_slice(&output.stdout).context("the live reader tells nothing")
    }
}

/// The peer itself: `read-live <page> <turns> <url>…`.
pub(crate) async fn read_live(page: &str, turns: usize, urls: &[String]) -> anyhow::Result<()> {
    let kinds = match page {
        "clusters" => vec![REPLICA_SETS],
        _ => vec![REPLICA_SETS, PODS, SERVICES],
    };
    let client = reqwest::Client::builder().no_proxy().build()?;
    let pid = std::process::id();
    let (mut took, mut bytes) = (Vec::new(), 0);
    let before = Usage::of(pid)?;
    for _ in 0..turns {
        let begun = Instant::now();
        let lists = urls.iter().flat_map(|url| kinds.iter().map(move |kind| (url, *kind)));
        let rows = try_join_all(lists.map(|(url, kind)| list(&client, url, kind))).await?.concat();
        bytes = answer(page, &rows)?.len();
        took.push(begun.elapsed());
    }
    let after = Usage::of(pid)?;
    let cpu = after.cpu.saturating_sub(before.cpu) / u32::try_from(turns)?;
    let requests = urls.len() * kinds.len() * turns;
    println!("{}", serde_json::to_string(&Answered { took, cpu, peak: after.peak, requests, bytes })?);
    Ok(())
}

async fn list(
    client: &reqwest::Client,
    url: &str,
    (group, kind, path): (&str, &str, &str),
) -> anyhow::Result<Vec<Row>> {
    let account: Arc<str> = url.rsplit('/').next().unwrap_or_default().into();
    let address = format!("{url}/{}", path.replace("{}", NAMESPACE));
    let body = client.get(address).send().await?.error_for_status()?.bytes().await?;
    let List { items } = serde_json::from_slice(&body)?;
    let kinds = KindRules::default();
    let rules = RowRules { kinds: &kinds, only_managed: false, all_applications: false };
    let mut rows = Vec::with_capacity(items.len());
    for item in items {
        // Items of a list have no kind.
        let name = serde_json::from_str::<Item>(item.get())?.metadata.name;
        let key = ObjectKey {
            group: group.into(),
            kind: kind.into(),
            namespace: NAMESPACE.into(),
            name: name.into(),
        };
        rows.extend(Row::derive(&account, &key, item.get().as_bytes(), rules));
    }
    Ok(rows)
}

fn answer(page: &str, rows: &[Row]) -> anyhow::Result<Vec<u8>> {
    let clusters: Vec<_> = rows.iter().filter_map(ClusterRef::of).collect();
    Ok(match page {
        "clusters" => serde_json::to_vec(&clusters_of("shop", &clusters))?,
        "search" => {
            let keys: Vec<_> = rows.iter().map(RowKey::from).collect();
            let types = SearchTypes::parse(["instances", "serverGroups", "loadBalancers"]);
            let hits =
                search("shop", &types, Searched { rows: &keys, clusters: &clusters, applications: &[] });
            serde_json::to_vec(&[SearchPage::new("shop", hits, 1, 500)])?
        }
        _ => {
            let inventory = Inventory::new(rows);
            if page == "load-balancers" {
                serde_json::to_vec(&LoadBalancer::of_application("shop", &inventory))?
            } else {
                let groups = inventory.of_application("shop", SpinnakerKind::ServerGroups);
                serde_json::to_vec(
                    &groups.map(|row| ServerGroupSummary::new(row, &inventory)).collect::<Vec<_>>(),
                )?
            }
        }
    })
}
