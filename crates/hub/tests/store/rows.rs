//! Rows: the summaries of objects for Spinnaker, written and removed with them.

mod histories;
mod queries;

use std::collections::BTreeSet;

use serde_json::{Value, json};
use spindrift_hub::clouddriver::Derivation;
use spindrift_hub::store::{ClusterPlace, ObjectWrite, RowSearch};
use spindrift_model::ObjectKey;
use spindrift_spinnaker::{Coordinates, Kind, Row, view::SearchTypes};

use crate::bench::{Bench, account, key, object, tenant, uid};

const NAMESPACE: &str = "web";

/// An object of the namespace `web`, whose version is new each time its body is.
pub(crate) fn manifest(group: &str, kind: &str, name: &str, rest: Value) -> ObjectWrite {
    let mut body = json!({"apiVersion": if group.is_empty() { "v1".to_owned() } else { format!("{group}/v1") },
        "kind": kind, "metadata": {"name": name, "namespace": NAMESPACE, "uid": uid(name).as_str()}});
    merge(&mut body, rest);
    let mut object = object(key(group, kind, NAMESPACE, name), &hash(&body));
    object.body = body.to_string().into();
    object
}

fn merge(into: &mut Value, from: Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (key, value) in from {
                merge(into.entry(key).or_insert(Value::Null), value);
            }
        }
        (into, from) => *into = from,
    }
}

fn hash(body: &Value) -> String {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    body.to_string().hash(&mut hasher);
    hasher.finish().to_string()
}

fn moniker(application: &str, cluster: &str) -> Value {
    json!({"metadata": {"annotations": {"moniker.spinnaker.io/application": application,
        "moniker.spinnaker.io/cluster": cluster}}})
}

fn owned_by(owners: &[(&str, &str)]) -> Value {
    let owners =
        owners.iter().map(|(kind, name)| json!({"apiVersion": "apps/v1", "kind": kind, "name": name}));
    json!({"metadata": {"ownerReferences": owners.collect::<Vec<_>>()}})
}

fn replica_set(name: &str, application: &str, deployment: &str) -> ObjectWrite {
    let mut rest = moniker(application, &format!("deployment {deployment}"));
    merge(&mut rest, owned_by(&[("Deployment", deployment)]));
    merge(
        &mut rest,
        json!({"spec": {"replicas": 2, "template": {"metadata": {"labels": {"app": deployment}}}}}),
    );
    manifest("apps", "ReplicaSet", name, rest)
}

fn service(name: &str, application: &str, selected: &str) -> ObjectWrite {
    let mut rest = moniker(application, "unused");
    merge(&mut rest, json!({"spec": {"selector": {"app": selected}}}));
    manifest("", "Service", name, rest)
}

/// A deployment with a replica set and two pods, and a service before them.
fn application(name: &str) -> Vec<ObjectWrite> {
    let group = format!("{name}-5c6");
    let pod =
        |suffix: &str| manifest("", "Pod", &format!("{group}-{suffix}"), owned_by(&[("ReplicaSet", &group)]));
    vec![
        manifest("apps", "Deployment", name, moniker(name, &format!("deployment {name}"))),
        replica_set(&group, name, name),
        pod("a"),
        pod("b"),
        service(name, name, name),
    ]
}

fn names(rows: &[Row]) -> Vec<String> {
    let names: BTreeSet<_> = rows.iter().map(Row::full_name).collect();
    assert_eq!(names.len(), rows.len(), "no row comes twice: {rows:?}");
    names.into_iter().collect()
}

/// The row that an object should have.
pub(crate) fn expected(
    account_name: &str,
    key: &ObjectKey,
    body: &[u8],
    derivation: &Derivation,
) -> Option<Row> {
    Row::derive(&account_name.into(), key, body, derivation.rules())
}

impl Bench {
    pub(crate) async fn row_names(&self, application: &str) -> anyhow::Result<Vec<String>> {
        Ok(names(&self.store.rows_of_application(&tenant(), application).await?))
    }

    async fn clusters(&self) -> anyhow::Result<Vec<String>> {
        let place = |ClusterPlace { application, account, cluster }| {
            format!("{application}/{account}/{}", cluster.unwrap_or_default())
        };
        Ok(self.store.cluster_refs(&tenant(), None).await?.into_iter().map(place).collect())
    }

    async fn around(&self, full_name: &str) -> anyhow::Result<Vec<String>> {
        let (kind, name) = full_name.split_once(' ').expect("a kind and a name");
        let object = Coordinates::new(Kind::parse(kind), NAMESPACE, name);
        let rows = self.store.rows_with_neighbours(&tenant(), &account("prod"), &object).await?;
        assert!(rows.first().is_none_or(|row| row.object == object), "the object itself comes first");
        Ok(names(&rows))
    }

    async fn search(&self, text: &str, types: &[&str]) -> anyhow::Result<Vec<String>> {
        let types = SearchTypes::parse(types.iter().copied());
        let query = RowSearch { text: text.into(), types, limit: 100 };
        let found = self.store.search_rows(&tenant(), &query).await?;
        Ok(found.iter().map(|key| format!("{}/{}", key.account, key.full_name())).collect())
    }
}
