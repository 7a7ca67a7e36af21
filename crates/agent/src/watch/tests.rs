//! Watches that panic: no input is known that makes one of ours panic, so tests bring their own.

use std::future::pending;

use prometheus_client::registry::Registry;
use spindrift_model::{Declaration, Item, Resource};
use tokio::sync::mpsc;

use super::*;
use crate::{
    testing::account,
    uplink::{Credit, CreditedItem, FlowOptions, UsageGauges},
};

fn selected(kind: &str, plural: &str) -> (Scope, SelectedScope) {
    let scope = Scope { group: "".into(), kind: kind.into(), namespace: None };
    let resource = Resource {
        group: "".into(),
        version: "v1".into(),
        kind: kind.into(),
        plural: plural.into(),
        namespaced: true,
    };
    (scope, SelectedScope { resource, read: true, synthetic: None, limit: None })
}

async fn engine() -> (Engine, mpsc::UnboundedReceiver<CreditedItem>, AgentStatus) {
    let status = AgentStatus::default();
    status.configured("main");
    let metrics = Arc::new(Metrics::register(&mut Registry::default(), status.clone()));
    let (flow, items_rx) = FlowControl::new(FlowOptions {
        credit_bytes: u32::MAX,
        fingerprints: false,
        send_budget: Credit::new(usize::MAX, UsageGauges::default()),
        metrics: metrics.clone(),
    });
    let account = Arc::new(account("main").await);
    status.caching(&account.description.name, Vec::new());
    let options =
        EngineOptions { account, wanted: WantedObjects::default(), resume_points: Vec::new(), flow };
    (Engine::new(options, status.clone(), metrics), items_rx, status)
}

#[tokio::test]
async fn a_watch_that_panics_is_restarted_and_the_others_continue() {
    let (mut engine, mut items_rx, status) = engine().await;
    let (pods, secrets) = (selected("Pod", "pods"), selected("Secret", "secrets"));
    for ((scope, selected), panics) in [(pods.clone(), true), (secrets.clone(), false)] {
        let ScopePlan { id, selected, scrub_revision, .. } = engine.plan(scope.clone(), selected);
        engine.running.insert(scope.clone(), RunningScope { id, selected, scrub_revision });
        engine.tasks.start(scope, async move {
            assert!(!panics, "a bug");
            pending().await
        });
    }

    let watches = async {
        let declared = items_rx.recv().await.unwrap().item;
        // The restarted one is a real watch: it has tried to list.
        loop {
            let watches = serde_json::to_value(status.watches()).unwrap();
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
    assert_eq!(
        scopes,
        [(ScopeId(2), secrets.0), (ScopeId(3), pods.0)],
        "only the one that panicked has a new id"
    );
    let problems = status.accounts().remove(0).problems;
    assert_eq!(problems[0], "the watch of Pod in (all namespaces) panicked and is restarted: a bug");
}
