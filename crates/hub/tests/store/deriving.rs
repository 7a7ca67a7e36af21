//! Rows always match the existing objects, whichever hub writes them.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::json;
use spindrift_hub::clouddriver::{AccountRowRules, Accounts, Derivation, RowRederivation};
use spindrift_hub::store::{
    AccountWrite, DeriveRows, ObjectQuery, ObjectWrite, Rederived, RowSearch, RowState, Store,
};
use spindrift_model::Cursor;
use spindrift_spinnaker::{KindRules, Row, RowRules, SpinnakerKind, view::SearchTypes};
use spindrift_testkit::{Engine, eventually};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::{
    bench::{Bench, account, declare, hub, prune, scope, tenant, uid},
    rows::{expected, manifest},
};

const KINDS: [(&str, &str); 5] =
    [("", "Pod"), ("apps", "ReplicaSet"), ("apps", "Deployment"), ("", "Service"), ("", "ConfigMap")];

fn managed_only() -> Derivation {
    let kinds = KindRules::default();
    Derivation::new(RowRules { kinds: &kinds, only_managed: true, all_applications: true })
}

/// Every row there is, by account and full name.
async fn stored(store: &Store) -> anyhow::Result<BTreeMap<String, Row>> {
    use SpinnakerKind::{Configs, Instances, LoadBalancers, ServerGroupManagers, ServerGroups};
    let mut rows = BTreeMap::new();
    for kind in [Configs, Instances, LoadBalancers, ServerGroupManagers, ServerGroups] {
        for row in store.rows_of_kind(&tenant(), kind, None).await? {
            rows.insert(format!("{}/{}", row.account, row.full_name()), row);
        }
    }
    let types =
        SearchTypes::parse(["configs", "instances", "loadBalancers", "serverGroupManagers", "serverGroups"]);
    let found =
        store.search_rows(&tenant(), &RowSearch { text: String::new(), types, limit: 10_000 }).await?;
    assert_eq!(found.len(), rows.len(), "a search finds them all");
    Ok(rows)
}

/// Every row there should be.
async fn derived(store: &Store, rules: &dyn Fn(&str) -> Derivation) -> anyhow::Result<BTreeMap<String, Row>> {
    let all = ObjectQuery { tenant: tenant(), limit: 10_000, ..ObjectQuery::default() };
    let mut rows = BTreeMap::new();
    for object in store.objects(&all).await? {
        let account = object.account.as_str();
        if let Some(row) = expected(account, &object.key, &object.body, &rules(account)) {
            rows.insert(format!("{account}/{}", row.full_name()), row);
        }
    }
    Ok(rows)
}

/// An object that is one of few, annotated at random.
fn random_object(random: &mut fastrand::Rng) -> ObjectWrite {
    let (group, kind) = KINDS[random.usize(..KINDS.len())];
    let name = format!("{}-{}", ["shop", "bank", "odd_"][random.usize(..3)], random.u8(..6));
    let application = ["shop", "bank", "", "\"quoted\"", "ü"][random.usize(..5)];
    let mut annotations = json!({});
    if random.bool() {
        annotations["moniker.spinnaker.io/application"] = application.into();
        annotations["moniker.spinnaker.io/cluster"] = format!("deployment {application}").into();
    }
    if random.u8(..8) == 0 {
        annotations["caching.spinnaker.io/ignore"] = "true".into();
    }
    let owners: Vec<_> = (0..random.usize(..3))
        .map(|_| json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": format!("shop-{}", random.u8(..6))}))
        .collect();
    let phase = ["Running", "Pending"][random.usize(..2)];
    let rest = json!({"metadata": {"annotations": annotations, "ownerReferences": owners},
        "spec": {"replicas": random.u8(..3)}, "status": {"phase": phase}});
    let mut object = manifest(group, kind, &name, rest);
    object.uid = uid(&format!("{kind}-{name}-{}", random.u8(..2)));
    object
}

fn random_write(write: &mut AccountWrite, random: &mut fastrand::Rng) {
    write.upserts = (0..random.usize(..6)).map(|_| random_object(random)).collect();
    write.deletes =
        (0..random.usize(..4)).map(|_| random_object(random)).map(|it| (it.key, it.uid)).collect();
    if random.u8(..4) == 0 {
        let (group, kind) = KINDS[random.usize(..KINDS.len())];
        let kept = random_object(random);
        let mut listing = prune(scope(group, kind), &[]);
        listing.keep = Arc::new([&kept.uid].into_iter().collect());
        write.prunes = vec![listing];
    }
    if random.u8(..6) == 0 {
        let kinds = KINDS.iter().filter(|_| random.u8(..4) > 0).map(|(group, kind)| (*group, *kind, "v1"));
        write.declared = Some(declare(&kinds.collect::<Vec<_>>()));
    }
}

#[tokio::test]
async fn after_any_history_rows_match_the_existing_objects() -> anyhow::Result<()> {
    for bench in Bench::all().await? {
        let engine = bench.announce();
        let rules = |account: &str| if account == "prod" { managed_only() } else { Derivation::default() };
        let seed = fastrand::u64(..);
        let mut random = fastrand::Rng::with_seed(seed);
        let mut cursors: BTreeMap<&str, Cursor> = BTreeMap::new();
        for step in 0..60 {
            let name = ["prod", "test"][random.usize(..2)];
            if random.u8(..20) == 0 {
                bench.store.forget_account(&tenant(), &account(name)).await?;
                cursors.remove(name);
            }
            let cursor = match cursors.get(name) {
                Some(cursor) => *cursor,
                None => bench.attach(name).await?.cursor,
            };
            let isolated = random.u8(..4) == 0;
            let mut write = crate::bench::write(name, cursor);
            write.rules = Arc::new(rules(name));
            random_write(&mut write, &mut random);
            let outcome = if isolated {
                bench.store.commit_isolating(&write).await?.0
            } else {
                bench.store.commit(&[write]).await?[0]
            };
            let spindrift_hub::store::WriteOutcome::Committed { seq, .. } = outcome else {
                anyhow::bail!("{outcome:?}")
            };
            cursors.insert(name, Cursor { seq, ..cursor });
            if step % 10 == 9 {
                let (stored, derived) = (stored(&bench.store).await?, derived(&bench.store, &rules).await?);
                assert_eq!(stored, derived, "on {engine}, step {step}, seed {seed}");
            }
        }
        for state in bench.store.row_states(&tenant()).await? {
            assert!(state.is_current(&rules(state.account.as_str())), "{state:?}, seed {seed}");
        }
    }
    Ok(())
}

async fn state(bench: &Bench) -> anyhow::Result<RowState> {
    let states = bench.store.row_states(&tenant()).await?;
    Ok(states.into_iter().next().expect("the account has a cursor"))
}

#[tokio::test]
async fn writes_of_a_hub_of_the_previous_release_are_noticed_and_derived() -> anyhow::Result<()> {
    for bench in Bench::all().await? {
        bench.announce();
        let objects: Vec<_> =
            (0..150).map(|number| manifest("", "Pod", &format!("shop-{number}"), json!({}))).collect();
        bench.write("prod", |write| write.upserts = objects).await?;
        let rules = Derivation::default();
        assert!(state(&bench).await?.is_current(&rules));
        assert_eq!(state(&bench).await?.hub, Some(hub("hub")));
        // As a hub of a release without rows does.
        bench.database.execute("UPDATE spindrift_cursor SET seq = seq + 1").await?;
        let old = "UPDATE spindrift_object SET deleted_at = 1, seq = 2 WHERE name = 'shop-7'";
        bench.database.execute(old).await?;
        assert!(!state(&bench).await?.current);
        // And a commit of this release does not hide it.
        let cursor = Cursor { seq: spindrift_model::Seq(2), ..bench.attach("prod").await?.cursor };
        bench
            .write_at("prod", cursor, |write| write.upserts = vec![manifest("", "Pod", "young", json!({}))])
            .await?;
        assert!(!state(&bench).await?.is_current(&rules));

        let done = bench.store.rederive(&tenant(), &account("prod"), &rules).await?;
        assert_eq!(done, Rederived::Done { objects: 150 });
        assert!(state(&bench).await?.is_current(&rules));
        let (stored, derived) =
            (stored(&bench.store).await?, derived(&bench.store, &|_| Derivation::default()).await?);
        assert_eq!(stored, derived);
        assert!(!stored.contains_key("prod/pod shop-7"), "the old hub has removed it");
    }
    Ok(())
}

#[tokio::test]
async fn other_rules_make_other_rows_once_they_are_rederived() -> anyhow::Result<()> {
    for bench in Bench::all().await? {
        bench.announce();
        let annotated = json!({"metadata": {"annotations": {"moniker.spinnaker.io/application": "shop"}}});
        let objects =
            vec![manifest("", "ConfigMap", "ours", annotated), manifest("", "ConfigMap", "junk", json!({}))];
        let cursor = bench.write("prod", |write| write.upserts = objects.clone()).await?;
        assert_eq!(stored(&bench.store).await?.len(), 2);
        let rules = managed_only();
        assert!(!state(&bench).await?.is_current(&rules));
        // A write by the new rules before the pass: now they are by various rules.
        bench
            .write_at("prod", cursor, |write| {
                write.rules = Arc::new(rules.clone());
                write.upserts = vec![manifest("", "ConfigMap", "young", json!({}))];
            })
            .await?;
        assert_eq!(state(&bench).await?.revision, None);
        assert!(!state(&bench).await?.is_current(&Derivation::default()));
        let done = bench.store.rederive(&tenant(), &account("prod"), &rules).await?;
        assert_eq!(done, Rederived::Done { objects: 3 });
        assert!(state(&bench).await?.is_current(&rules));
        assert_eq!(stored(&bench.store).await?, derived(&bench.store, &|_| managed_only()).await?);
        let listed = bench.store.rows_listed_under(&tenant(), "shop").await?;
        assert_eq!(listed.len(), 1, "by the new rules, all kinds belong to applications");
    }
    Ok(())
}

#[tokio::test]
async fn commits_go_on_while_rows_are_rederived() -> anyhow::Result<()> {
    for bench in Bench::all().await? {
        bench.announce();
        let pod = |number: usize, phase: &str| {
            manifest("", "Pod", &format!("shop-{number:03}"), json!({"status": {"phase": phase}}))
        };
        let mut cursor = bench
            .write("prod", |write| write.upserts = (0..300).map(|it| pod(it, "Pending")).collect())
            .await?;
        let rules: Arc<dyn DeriveRows> = Arc::new(managed_only_but_everything());
        let pass = {
            let (store, rules) = (bench.store.clone(), Arc::clone(&rules));
            async move { store.rederive(&tenant(), &account("prod"), &*rules).await }
        };
        let commits = async {
            for number in 0..30 {
                cursor = bench
                    .write_at("prod", cursor, |write| {
                        write.rules = Arc::clone(&rules);
                        write.upserts = vec![pod(number * 10, "Running"), pod(1000 + number, "Running")];
                        let gone = pod(number * 10 + 1, "");
                        write.deletes = vec![(gone.key, gone.uid)];
                    })
                    .await?;
            }
            anyhow::Ok(())
        };
        let (pass, commits) = tokio::join!(pass, commits);
        commits?;
        // In either order: a commit by other rules than those of the pass invalidates it, one by the same does not.
        if pass? == Rederived::Overtaken {
            bench.store.rederive(&tenant(), &account("prod"), &*rules).await?;
        }
        assert!(state(&bench).await?.is_current(&*rules));
        assert_eq!(
            stored(&bench.store).await?,
            derived(&bench.store, &|_| managed_only_but_everything()).await?
        );
        assert_eq!(stored(&bench.store).await?.len(), 300);
    }
    Ok(())
}

#[tokio::test]
async fn an_account_whose_rows_are_never_derived_holds_up_no_other() -> anyhow::Result<()> {
    for bench in Bench::all().await? {
        // The database whose triggers can raise a retryable error.
        if bench.announce() != Engine::Postgres {
            continue;
        }
        for name in ["bad", "good", "other"] {
            bench
                .write(name, |write| {
                    write.rules = Arc::new(managed_only());
                    write.upserts = vec![manifest("", "Pod", "web", json!({}))];
                })
                .await?;
        }
        let slow = "CREATE FUNCTION too_slow() RETURNS trigger LANGUAGE plpgsql AS \
                    $$ BEGIN RAISE EXCEPTION 'too slow' USING ERRCODE = '57014'; END $$; \
                    CREATE TRIGGER too_slow BEFORE UPDATE ON spindrift_cursor FOR EACH ROW \
                    WHEN (NEW.account = 'bad') EXECUTE FUNCTION too_slow()";
        bench.database.execute(slow).await?;
        let accounts = Accounts::new(bench.store.clone(), tenant(), Arc::default());
        let deriving =
            RowRederivation::new(bench.store.clone(), AccountRowRules::new(accounts), tenant(), hub("hub"));
        let mut tasks = JoinSet::new();
        tasks.spawn(deriving.run(CancellationToken::new()));
        eventually!("the others are derived", {
            let states = bench.store.row_states(&tenant()).await.unwrap();
            states
                .iter()
                .all(|state| state.is_current(&Derivation::default()) != (state.account.as_str() == "bad"))
        });
    }
    Ok(())
}

/// Rules that keep all, and are none the less others than the default.
fn managed_only_but_everything() -> Derivation {
    let kinds = KindRules::default();
    Derivation::new(RowRules { kinds: &kinds, only_managed: false, all_applications: true })
}
