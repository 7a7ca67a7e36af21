//! Rows: what Spinnaker sees of objects, written and removed with them.

use std::{collections::BTreeSet, sync::Arc};

use serde_json::{Value, json};
use spindrift_hub::store::{ClusterPlace, Derivation, ObjectWrite, RowSearch};
use spindrift_model::ObjectKey;
use spindrift_spinnaker::{
    Coordinates, Inventory, Kind, KindRules, Row, RowRules, SpinnakerKind, view::SearchTypes,
};

use crate::bench::{Bench, account, declare, key, object, prune, scope, tenant, uid};

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
        let rows = self.store.rows_around(&tenant(), &account("prod"), &object).await?;
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

#[tokio::test]
async fn an_application_is_its_rows_and_what_they_relate_to() -> anyhow::Result<()> {
    for bench in Bench::all().await? {
        bench.announce();
        let both = [application("shop"), application("bank")].concat();
        bench.write("prod", |write| write.upserts = both).await?;
        assert_eq!(
            bench.row_names("shop").await?,
            [
                "deployment shop",
                "pod shop-5c6-a",
                "pod shop-5c6-b",
                "replicaSet shop-5c6",
                "service bank",
                "service shop"
            ],
            "a service of another application may send traffic to its server groups"
        );
        let without = bench.store.rows_of_application_without_instances(&tenant(), "shop").await?;
        assert_eq!(
            names(&without),
            ["deployment shop", "replicaSet shop-5c6", "service bank", "service shop"]
        );
        let listed = bench.store.rows_listed_under(&tenant(), "shop").await?;
        assert_eq!(names(&listed), ["deployment shop", "replicaSet shop-5c6", "service shop"]);
        assert_eq!(bench.row_names("Shop").await?, [""; 0], "names are compared letter by letter");
        assert_eq!(bench.row_names("").await?, [""; 0]);
        assert_eq!(
            bench.clusters().await?,
            ["bank/prod/", "bank/prod/deployment bank", "shop/prod/", "shop/prod/deployment shop"]
        );
        let one = bench.store.cluster_refs(&tenant(), Some("shop")).await?;
        assert!(one.len() == 2 && one.iter().all(|place| place.application == "shop"), "{one:?}");
        let services = bench.store.rows_of_kind(&tenant(), SpinnakerKind::LoadBalancers, None).await?;
        assert_eq!(names(&services), ["service bank", "service shop"]);
        let none = bench
            .store
            .rows_of_kind(&tenant(), SpinnakerKind::LoadBalancers, Some(&account("other")))
            .await?;
        assert_eq!(none, []);
    }
    Ok(())
}

#[tokio::test]
async fn what_services_and_managers_of_an_application_reach_elsewhere_is_there() -> anyhow::Result<()> {
    for bench in Bench::all().await? {
        bench.announce();
        let mut objects = application("shop");
        objects.extend([
            service("front", "portal", "shop"),
            replica_set("shop-old", "portal", "shop"),
            manifest("", "Pod", "shared", owned_by(&[("ReplicaSet", "shop-5c6"), ("Job", "migration")])),
            manifest("", "Pod", "stranger", owned_by(&[("StatefulSet", "shop-5c6")])),
        ]);
        bench.write("prod", |write| write.upserts = objects).await?;
        assert_eq!(
            bench.row_names("portal").await?,
            [
                "pod shared",
                "pod shop-5c6-a",
                "pod shop-5c6-b",
                "replicaSet shop-5c6",
                "replicaSet shop-old",
                "service front",
                "service shop"
            ]
        );
        assert_eq!(
            bench.row_names("shop").await?,
            [
                "deployment shop",
                "pod shared",
                "pod shop-5c6-a",
                "pod shop-5c6-b",
                "replicaSet shop-5c6",
                "replicaSet shop-old",
                "service front",
                "service shop"
            ],
            "the deployment owns a replica set that was deployed for another application"
        );
    }
    Ok(())
}

#[tokio::test]
async fn an_object_is_found_with_its_neighbours() -> anyhow::Result<()> {
    for bench in Bench::all().await? {
        bench.announce();
        let crd = manifest("stable.example.com", "CronTab", "nightly", json!({}));
        let objects = [application("shop"), application("bank"), vec![crd]].concat();
        bench.write("prod", |write| write.upserts = objects).await?;
        for (object, around) in [
            ("deployment shop", &["deployment shop", "replicaSet shop-5c6"][..]),
            (
                "rs shop-5c6",
                &[
                    "deployment shop",
                    "pod shop-5c6-a",
                    "pod shop-5c6-b",
                    "replicaSet shop-5c6",
                    "service bank",
                    "service shop",
                ],
            ),
            ("pod shop-5c6-a", &["pod shop-5c6-a", "replicaSet shop-5c6"]),
            ("service shop", &["pod shop-5c6-a", "pod shop-5c6-b", "replicaSet shop-5c6", "service shop"]),
            ("crontab.stable.example.com nightly", &["CronTab.stable.example.com nightly"]),
            ("crontab nightly", &[]),
            ("pod nobody", &[]),
            ("püd nobody", &[]),
        ] {
            assert_eq!(bench.around(object).await?, around, "{object}");
        }
    }
    Ok(())
}

#[tokio::test]
async fn a_search_finds_parts_of_keys_and_what_belongs_to_what_is_found() -> anyhow::Result<()> {
    for bench in Bench::all().await? {
        bench.announce();
        let crd = manifest("stable.example.com", "CronTab", "nightly", json!({}));
        bench.write("prod", |write| write.upserts = [application("shop"), vec![crd]].concat()).await?;
        bench.write("test", |write| write.upserts = application("bank")).await?;
        for (text, types, found) in [
            (
                "SHOP-5C6",
                &["instances", "serverGroups"][..],
                &["prod/pod shop-5c6-a", "prod/pod shop-5c6-b", "prod/replicaSet shop-5c6"][..],
            ),
            ("prod:web:shop", &["instances"], &["prod/pod shop-5c6-a", "prod/pod shop-5c6-b"]),
            ("applications:shop", &["serverGroups", "instances"], &["prod/replicaSet shop-5c6"]),
            ("deployment bank", &["replicaSet"], &["test/replicaSet bank-5c6"]),
            ("nightly", &["crontab.stable.example.com"], &["prod/CronTab.stable.example.com nightly"]),
            ("_5c6", &["instances"], &[]),
            ("%", &["instances"], &[]),
            ("5c6", &["projects", "ü"], &[]),
            ("", &["deployment"], &["prod/deployment shop", "test/deployment bank"]),
        ] {
            assert_eq!(bench.search(text, types).await?, found, "{text} among {types:?}");
        }
        let types = SearchTypes::parse(["instances"]);
        let limited = RowSearch { text: "5c6".into(), types, limit: 1 };
        assert_eq!(bench.store.search_rows(&tenant(), &limited).await?.len(), 1);
    }
    Ok(())
}

#[tokio::test]
async fn a_row_follows_its_object_to_its_end() -> anyhow::Result<()> {
    for bench in Bench::all().await? {
        bench.announce();
        let kinds = [
            ("", "Pod", "v1"),
            ("apps", "ReplicaSet", "v1"),
            ("apps", "Deployment", "v1"),
            ("", "Service", "v1"),
        ];
        let mut cursor = bench
            .write("prod", |write| {
                write.declared = Some(declare(&kinds));
                write.upserts = application("shop");
            })
            .await?;
        // Annotated anew: it moves from one application to the other.
        let moved = manifest("apps", "Deployment", "shop", moniker("portal", "deployment shop"));
        cursor = bench.write_at("prod", cursor, |write| write.upserts = vec![moved]).await?;
        assert_eq!(
            bench.clusters().await?,
            ["portal/prod/deployment shop", "shop/prod/", "shop/prod/deployment shop"]
        );
        // Ignored from now on.
        let ignored = manifest(
            "",
            "Service",
            "shop",
            json!({"metadata": {"annotations": {"caching.spinnaker.io/ignore": "true"}}}),
        );
        cursor = bench.write_at("prod", cursor, |write| write.upserts = vec![ignored]).await?;
        assert_eq!(bench.clusters().await?, ["portal/prod/deployment shop", "shop/prod/deployment shop"]);
        // Deleted; a delete of an older object of the same name means nothing.
        cursor = bench
            .write_at("prod", cursor, |write| {
                let pod = |name: &str| key("", "Pod", NAMESPACE, name);
                write.deletes =
                    vec![(pod("shop-5c6-a"), uid("shop-5c6-a")), (pod("shop-5c6-b"), uid("older"))];
            })
            .await?;
        assert_eq!(
            bench.around("rs shop-5c6").await?,
            ["deployment shop", "pod shop-5c6-b", "replicaSet shop-5c6"]
        );
        // Not mentioned by a listing.
        cursor = bench
            .write_at("prod", cursor, |write| write.prunes = vec![prune(scope("", "Pod"), &["another"])])
            .await?;
        assert_eq!(bench.around("rs shop-5c6").await?, ["deployment shop", "replicaSet shop-5c6"]);
        // A kind that is watched no longer.
        let fewer: Vec<_> = kinds.into_iter().filter(|(_, kind, _)| *kind != "ReplicaSet").collect();
        bench.write_at("prod", cursor, |write| write.declared = Some(declare(&fewer))).await?;
        assert_eq!(bench.clusters().await?, ["portal/prod/deployment shop"]);
        bench.store.forget_account(&tenant(), &account("prod")).await?;
        assert_eq!(bench.clusters().await?, [""; 0]);
        assert_eq!(bench.search("", &["deployment", "pod", "service"]).await?, [""; 0]);
    }
    Ok(())
}

#[tokio::test]
async fn an_odd_object_costs_nobody_else_a_row() -> anyhow::Result<()> {
    for bench in Bench::all().await? {
        bench.announce();
        let long = "x".repeat(4000);
        let mut broken = manifest("", "Pod", "broken", json!({}));
        broken.body = "no JSON".into();
        let mut objects = application("shop");
        objects.extend([
            broken,
            manifest(
                "",
                "Pod",
                "numbers",
                json!({"metadata": {"annotations": {"moniker.spinnaker.io/application": 7}}}),
            ),
            manifest("", "Pod", "list", json!({"metadata": {"annotations": ["a"], "labels": 3}})),
            manifest("apps", "ReplicaSet", "long", moniker(&long, &long)),
            manifest("apps", "ReplicaSet", "nul", moniker("a\0b", "c\0d")),
            manifest(
                "apps",
                "ReplicaSet",
                "quoted",
                moniker("\"unfinished", "'; DROP TABLE spindrift_row; --"),
            ),
            manifest("", "Pod", "many", owned_by(&[("ReplicaSet", &long), ("Job\0", "x")])),
            manifest("", "Pod", "far", owned_by(&[("ReplicaSet", &long)])),
            manifest("apps", "ReplicaSet", "emoji", moniker("läden-🛒", "deployment 🛒")),
        ]);
        bench.write("prod", |write| write.upserts = objects).await?;
        assert_eq!(bench.names("prod").await?.len(), 14, "all objects are stored");
        assert!(bench.row_names("shop").await?.contains(&"pod shop-5c6-a".to_owned()));
        assert_eq!(bench.row_names("läden-🛒").await?.first().map(String::as_str), Some("pod far"));
        assert!(bench.around("rs nul").await?.contains(&"replicaSet nul".to_owned()));
        let clusters = bench.clusters().await?;
        assert!(clusters.contains(&"läden-🛒/prod/deployment 🛒".to_owned()), "{clusters:?}");
        assert!(clusters.iter().all(|place| place.len() < 300 && !place.contains('\0')), "{clusters:?}");
    }
    Ok(())
}

#[tokio::test]
async fn two_groups_that_serve_the_same_object_make_one_row() -> anyhow::Result<()> {
    for bench in Bench::all().await? {
        bench.announce();
        let ingress = |group| manifest(group, "Ingress", "front", json!({}));
        let cursor = bench
            .write("prod", |write| write.upserts = vec![ingress("extensions"), ingress("networking.k8s.io")])
            .await?;
        assert_eq!(bench.around("ingress front").await?, ["ingress front"]);
        let gone = |group| (key(group, "Ingress", NAMESPACE, "front"), uid("front"));
        let cursor = bench.write_at("prod", cursor, |write| write.deletes = vec![gone("extensions")]).await?;
        assert_eq!(bench.around("ingress front").await?, ["ingress front"], "the other one lives");
        bench.write_at("prod", cursor, |write| write.deletes = vec![gone("networking.k8s.io")]).await?;
        assert_eq!(bench.around("ingress front").await?, [""; 0]);
    }
    Ok(())
}

#[tokio::test]
async fn the_rules_of_an_account_decide_what_has_a_row() -> anyhow::Result<()> {
    for bench in Bench::all().await? {
        bench.announce();
        let custom = serde_json::from_value(
            json!([{"kubernetesKind": "Widget.example.com", "spinnakerKind": "serverGroups"}]),
        )?;
        let kinds = KindRules::new(custom);
        let managed = RowRules { kinds: &kinds, only_managed: true, all_applications: true };
        let objects = vec![
            manifest("example.com", "Widget", "w", moniker("shop", "widget w")),
            manifest("", "ConfigMap", "settings", moniker("shop", "unused")),
            manifest("", "Namespace", "lonely", json!({})),
            manifest("apps", "ReplicaSet", "junk-5c6", json!({})),
        ];
        bench
            .write("prod", |write| {
                write.derivation = Arc::new(Derivation::new(managed));
                write.upserts = objects.clone();
            })
            .await?;
        bench.write("test", |write| write.upserts = objects.clone()).await?;
        assert_eq!(bench.clusters().await?, ["junk/test/junk-5c6", "shop/prod/", "shop/prod/widget w"]);
        let found = bench.search("", &["unclassified", "configs"]).await?;
        assert_eq!(
            found,
            [
                "prod/configMap settings",
                "prod/namespace lonely",
                "test/configMap settings",
                "test/namespace lonely",
                "test/Widget.example.com w"
            ]
        );
    }
    Ok(())
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

#[tokio::test]
async fn views_are_made_of_stored_rows_as_of_derived_ones() -> anyhow::Result<()> {
    for bench in Bench::all().await? {
        bench.announce();
        let objects = application("shop");
        bench.write("prod", |write| write.upserts = objects.clone()).await?;
        let derived: Vec<_> = objects
            .iter()
            .filter_map(|object| expected("prod", &object.key, &object.body, &Derivation::default()))
            .collect();
        let stored = bench.store.rows_of_application(&tenant(), "shop").await?;
        let ordered = |rows: &[Row]| Inventory::new(rows).rows().cloned().collect::<Vec<_>>();
        assert_eq!(ordered(&stored), ordered(&derived));
    }
    Ok(())
}
