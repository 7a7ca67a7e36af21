//! Rows over time: with their objects, with odd ones, by the rules of their account.

use std::sync::Arc;

use serde_json::json;
use spindrift_hub::clouddriver::Derivation;
use spindrift_spinnaker::{KindRules, RowRules};

use super::{NAMESPACE, application, manifest, moniker, owned_by};
use crate::bench::{Bench, account, declare, key, prune, scope, tenant, uid};

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
        // Annotated again: it moves from one application to the other.
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
async fn an_odd_object_costs_no_other_object_its_row() -> anyhow::Result<()> {
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
async fn the_rules_of_an_account_decide_which_objects_have_rows() -> anyhow::Result<()> {
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
                write.rules = Arc::new(Derivation::new(managed));
                write.upserts = objects.clone();
            })
            .await?;
        bench.write("test", |write| write.upserts = objects.clone()).await?;
        assert_eq!(bench.clusters().await?, ["junk/test/junk-5c6", "shop/prod/", "shop/prod/widget w"]);
        let found = bench.search("", &["namespace", "widget.example.com", "configs"]).await?;
        assert_eq!(
            found,
            [
                "prod/configMap settings",
                "prod/namespace lonely",
                "prod/Widget.example.com w",
                "test/configMap settings",
                "test/namespace lonely",
                "test/Widget.example.com w"
            ]
        );
    }
    Ok(())
}
