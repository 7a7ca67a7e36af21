//! Counts and names of stored objects.

use spindrift_hub::store::{KindRow, ScopeCounts};
use spindrift_model::TenantId;

use crate::bench::{Bench, account, declare, key, object, pod, pod_key, pods, reached, tenant, uid};

#[tokio::test]
async fn existing_objects_are_counted_by_account_and_scope() -> anyhow::Result<()> {
    for bench in Bench::all().await? {
        bench.announce();
        let mut declared = declare(&[("", "Pod", "v1"), ("apps", "Deployment", "v1")]);
        declared.scopes[1].scope.namespace = Some("shop".into());
        let mut deployment = object(key("apps", "Deployment", "shop", "d"), "1");
        deployment.scope_namespace = Some("shop".into());
        let cursor = bench
            .write("prod", |write| {
                write.declared = Some(declared);
                write.upserts = vec![pod("a", "1"), pod("b", "1"), pod("c", "1"), deployment];
                write.scopes = vec![reached(pods(), "7")];
            })
            .await?;
        bench.write_at("prod", cursor, |write| write.deletes = vec![(pod_key("b"), uid("b"))]).await?;
        bench.write("dev", |write| write.declared = Some(declare(&[("", "Pod", "v1")]))).await?;

        assert_eq!(bench.store.object_counts(&tenant()).await?, [(account("prod"), 3)]);
        let scopes = |found: Vec<spindrift_hub::store::CountedScope>| -> Vec<_> {
            found
                .iter()
                .map(|counted| format!("{} {} {}", counted.account, counted.scope.row.scope, counted.objects))
                .collect()
        };
        let (pods_of, deployments) = ("Pod in (all namespaces)", "Deployment.apps in shop");
        let prod = [format!("prod {pods_of} 2"), format!("prod {deployments} 1")];
        let all = bench.store.counted_scopes(&tenant(), None).await?;
        assert_eq!(scopes(all), [&[format!("dev {pods_of} 0")][..], &prod].concat());
        let one = bench.store.counted_scopes(&tenant(), Some(&[account("prod"), account("none")])).await?;
        assert_eq!(scopes(one), prod);
        assert_eq!(bench.store.counted_scopes(&tenant(), Some(&[])).await?, []);
        let counts = |scopes, unlisted| ScopeCounts { scopes, unlisted, denied: 0 };
        let expected = [(account("dev"), counts(1, 1)), (account("prod"), counts(2, 1))];
        assert_eq!(bench.store.scope_counts(&tenant()).await?, expected);
        let kinds = bench.store.kinds(&tenant()).await?;
        let named = |KindRow { resource, accounts }: &KindRow| format!("{} {accounts}", resource.kind);
        assert_eq!(kinds.iter().map(named).collect::<Vec<_>>(), ["Pod 2", "Deployment 1"]);

        let stranger = TenantId::parse("acme")?;
        assert_eq!(bench.store.object_counts(&stranger).await?, []);
        assert_eq!(bench.store.counted_scopes(&stranger, None).await?, []);
    }
    Ok(())
}

#[tokio::test]
async fn namespaces_and_definitions_are_listed_by_name() -> anyhow::Result<()> {
    const GROUP: &str = "apiextensions.k8s.io";
    for bench in Bench::all().await? {
        bench.announce();
        for (name, namespace) in [("one", "shop"), ("two", "bank")] {
            let mut declared = declare(&[("", "Namespace", "v1"), ("", "Pod", "v1")]);
            declared.scopes[1].scope.namespace = Some(format!("only-{name}").into());
            bench
                .write(name, |write| {
                    write.declared = Some(declared);
                    write.upserts = vec![
                        object(key("", "Namespace", "", namespace), "1"),
                        object(key("", "Namespace", "", "default"), "1"),
                        object(key(GROUP, "CustomResourceDefinition", "", "widgets.example.com"), "5"),
                        pod("shop-pod", "1"),
                    ];
                })
                .await?;
        }
        let of = async |accounts: Option<&[&str]>| -> anyhow::Result<Vec<String>> {
            let accounts = accounts.map(|names| names.iter().map(|name| account(name)).collect::<Vec<_>>());
            Ok(bench.store.namespaces(&tenant(), accounts.as_deref()).await?.into_iter().collect())
        };
        assert_eq!(of(None).await?, ["bank", "default", "only-one", "only-two", "shop"]);
        assert_eq!(of(Some(&["one"])).await?, ["default", "only-one", "shop"]);
        assert!(of(Some(&[])).await?.is_empty());
        let definitions = bench.store.definitions(&tenant()).await?;
        let told: Vec<_> = definitions
            .iter()
            .map(|definition| {
                format!("{} {} {}", definition.account, definition.name, definition.resource_version)
            })
            .collect();
        assert_eq!(told, ["one widgets.example.com 5", "two widgets.example.com 5"]);
    }
    Ok(())
}
