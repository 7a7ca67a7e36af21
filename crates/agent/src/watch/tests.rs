//! Watches that die: no input is known that makes one of ours panic, so tests bring their own.

use std::future::pending;

use prometheus_client::registry::Registry;
use spindrift_model::Resource;
use tokio::sync::mpsc;

use super::*;
use crate::testing::account;

fn chosen(kind: &str, plural: &str) -> (Scope, Chosen) {
    let scope = Scope { group: "".into(), kind: kind.into(), namespace: None };
    let resource = Resource {
        group: "".into(),
        version: "v1".into(),
        kind: kind.into(),
        plural: plural.into(),
        namespaced: true,
    };
    (scope, Chosen { resource, read: true, stand_ins: None, most: None })
}

async fn engine() -> (Engine, mpsc::UnboundedReceiver<Credited>, Board) {
    let board = Board::default();
    board.configured("main");
    let metrics = Arc::new(Metrics::register(&mut Registry::default(), board.clone()));
    let (outlet, items_rx) = Outlet::new(OutletOptions {
        credit_bytes: u32::MAX,
        fingerprints: false,
        room: Credit::new(usize::MAX, Meter::default()),
        metrics: metrics.clone(),
    });
    let account = Arc::new(account("main").await);
    board.caching(&account.description.name, Vec::new());
    (Engine::new(account, CacheKinds::default(), Vec::new(), outlet, board.clone(), metrics), items_rx, board)
}

#[tokio::test]
async fn a_watch_that_dies_is_started_again_and_the_others_go_on() {
    let (mut engine, mut items_rx, board) = engine().await;
    let (pods, secrets) = (chosen("Pod", "pods"), chosen("Secret", "secrets"));
    for ((scope, chosen), dies) in [(pods.clone(), true), (secrets.clone(), false)] {
        let ScopePlan { id, chosen, scrub_revision, .. } = engine.plan(scope.clone(), chosen);
        engine.running.insert(scope.clone(), Running { id, chosen, scrub_revision });
        engine.tasks.start(scope, async move {
            assert!(!dies, "a bug");
            pending().await
        });
    }

    let watches = async {
        let declared = items_rx.recv().await.unwrap().item;
        // The new one is a real watch: it has tried to list.
        loop {
            let watches = serde_json::to_value(board.watches()).unwrap();
            if watches["main"]["waiting"][0]["listings"] == 1 {
                return declared;
            }
            sleep(Duration::from_millis(10)).await;
        }
    };
    let declared = tokio::select! {
        () = engine.until_rediscovery() => panic!("there is nothing to discover"),
        declared = watches => declared,
    };
    let Item::Declare(Declaration { scopes, .. }) = declared else { panic!("{declared:?}") };
    let scopes: Vec<_> = scopes.iter().map(|scope| (scope.id, scope.scope())).collect();
    assert_eq!(scopes, [(ScopeId(2), secrets.0), (ScopeId(3), pods.0)], "only the dead one is another now");
    let problems = board.accounts().remove(0).problems;
    assert_eq!(problems[0], "the watch of Pod in (all namespaces) has died and is started again: a bug");
}
