//! Queries of rows: by application, by object, by text.

use serde_json::{Value, json};
use spindrift_hub::clouddriver::Derivation;
use spindrift_hub::store::RowSearch;
use spindrift_spinnaker::{
    Inventory, Row, SpinnakerKind,
    view::{LoadBalancer, SearchTypes, ServerGroupSummary},
};

use super::{application, expected, manifest, names, owned_by, replica_set, service};
use crate::bench::{Bench, account, tenant};

#[tokio::test]
async fn an_application_is_its_rows_and_their_related_rows() -> anyhow::Result<()> {
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
async fn workloads_of_services_and_managers_elsewhere_are_included() -> anyhow::Result<()> {
    for bench in Bench::all().await? {
        bench.announce();
        let mut objects = application("shop");
        objects.extend([
            service("front", "portal", "shop"),
            replica_set("shop-old", "portal", "shop"),
            manifest("", "Pod", "shared", owned_by(&[("ReplicaSet", "shop-5c6"), ("Job", "migration")])),
            manifest("", "Pod", "stranger", owned_by(&[("StatefulSet", "shop-5c6")])),
            manifest("apps", "ControllerRevision", "shop-5c6-1", owned_by(&[("ReplicaSet", "shop-5c6")])),
        ]);
        bench.write("prod", |write| write.upserts = objects).await?;
        assert_eq!(
            bench.row_names("portal").await?,
            [
                "controllerRevision shop-5c6-1",
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
                "controllerRevision shop-5c6-1",
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
        for name in ["shop", "portal"] {
            let rows = bench.store.rows_of_application(&tenant(), name).await?;
            let listing = bench.store.listing_of_application(&tenant(), name).await?;
            let lists = lists(name, &listing.inventory());
            assert_eq!(
                lists,
                self::lists(name, &Inventory::new(&rows)),
                "{name}: without reading whole rows"
            );
            assert_eq!(lists.to_string().matches("pod shared").count(), if name == "shop" { 2 } else { 1 });
        }
    }
    Ok(())
}

/// The lists that show instances.
fn lists(application: &str, inventory: &Inventory<'_>) -> Value {
    let groups = inventory.of_application(application, SpinnakerKind::ServerGroups);
    let groups: Vec<_> = groups.map(|row| ServerGroupSummary::new(row, inventory)).collect();
    json!({"groups": groups, "balancers": LoadBalancer::of_application(application, inventory)})
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
async fn a_search_finds_parts_of_keys_of_objects_applications_and_clusters() -> anyhow::Result<()> {
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
            ("nightly", &["unclassified"], &[]),
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
