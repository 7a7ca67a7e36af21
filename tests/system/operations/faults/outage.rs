//! The link, the hub or the agent goes away while an operation is under way.

use serde_json::json;
use spindrift_model::OperationId;
use spindrift_playground::{Effect, Fault, Verb};
use spindrift_testkit::eventually;

use super::{FaultSetup, assert_unknown};
use crate::{
    operations::{ask, try_ask},
    support::LONG,
};

#[tokio::test(flavor = "multi_thread")]
async fn a_result_that_was_lost_on_the_way_is_sent_again() {
    let setup = FaultSetup::set().await;
    let fault = setup.hold();
    let create = FaultSetup::create();
    let asking = ask(&setup.stack.hub, &setup.account, "deadline=60s", &create);
    let (asked, ()) = tokio::join!(asking, async {
        setup.held(fault).await;
        setup.stack.link.cut();
        setup.faults.lift(fault);
        eventually!("it is done", LONG, setup.effects() == 1);
        setup.stack.link.heal();
    });
    assert_eq!((asked.status, &asked.body["action"]), (201, &json!("created")), "{asked:?}");
    assert_eq!(setup.effects(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_that_carries_nothing_either_way_loses_nothing_and_repeats_nothing() {
    // The silence outlasts the patience of the agent with its answer, which then rests until the next session.
    let patience = ("/clouddriver/responseRetries", json!({ "maxRetries": 1, "backOffMs": 100 }));
    let setup = FaultSetup::with(&[patience]).await;
    let fault = setup.hold();
    let create = FaultSetup::create();
    let asking = ask(&setup.stack.hub, &setup.account, "deadline=120s", &create);
    let (asked, ()) = tokio::join!(asking, async {
        setup.held(fault).await;
        setup.stack.link.half_open();
        setup.faults.lift(fault);
        eventually!("it is done", LONG, setup.effects() == 1);
        eventually!("both sides see that the link is dead", LONG, {
            setup.stack.hub.metric("spindrift_hub_sessions").await.unwrap() == 0
        });
        setup.stack.link.heal();
    });
    assert_eq!((asked.status, &asked.body["action"]), (201, &json!("created")), "{asked:?}");
    assert_eq!(setup.effects(), 1);
    assert!(setup.stack.agent.daemon().log().contains("Max retries reached for operation result"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_after_the_deadline_is_still_recorded() {
    let setup = FaultSetup::set().await;
    let fault = setup.hold();
    let started = setup.ask("async=true&deadline=20s", &FaultSetup::create()).await;
    setup.held(fault).await;
    setup.stack.link.cut();
    setup.faults.lift(fault);
    eventually!("it is done", LONG, setup.effects() == 1);
    setup.becomes(&started.id, "unknown").await;
    setup.stack.link.heal();
    setup.becomes(&started.id, "completed").await;
    let result = setup.stack.hub.get(&format!("/v1/operations/{}/result", started.id)).await.unwrap();
    assert_eq!(result["action"], "created");
    assert_eq!(setup.effects(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_past_cancellation_reports_its_outcome() {
    let setup = FaultSetup::set().await;
    let fault = setup.hold();
    let started = setup.ask("async=true&deadline=60s", &FaultSetup::create()).await;
    setup.held(fault).await;
    let url = format!("{}/v1/operations/{}", setup.stack.hub.url(), started.id);
    assert_eq!(reqwest::Client::new().delete(&url).send().await.unwrap().status(), 202);
    setup.faults.lift(fault);
    setup.becomes(&started.id, "completed").await;
    assert_eq!(setup.effects(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_killed_after_the_call_leaves_an_unknown_outcome() {
    let mut setup = FaultSetup::set().await;
    let fault = setup.hold();
    let id = OperationId::fresh().to_string();
    let query = format!("id={id}&async=true&deadline=60s");
    assert_eq!(setup.ask(&query, &FaultSetup::create()).await.status, 202);
    setup.held(fault).await;
    setup.stack.link.cut();
    setup.faults.lift(fault);
    eventually!("it is done", LONG, setup.effects() == 1);
    // Its outcome was not delivered, and never will be: the next agent is another incarnation.
    setup.stack.agent.kill();
    setup.stack.link.heal();
    setup.stack.agent.restart().unwrap();
    let operation = setup.becomes(&id, "unknown").await;
    let reason = operation["reason"].as_str().unwrap();
    assert!(reason.starts_with("agent agent-a was restarted after the operation had been sent"), "{reason}");
    let told = setup.ask(&format!("id={id}"), &FaultSetup::create()).await;
    assert_unknown(&told);
    assert_eq!(setup.effects(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_killed_during_the_call_leaves_an_unknown_outcome() {
    let mut setup = FaultSetup::set().await;
    let fault = setup.hold();
    let id = OperationId::fresh().to_string();
    let query = format!("id={id}&async=true&deadline=60s");
    assert_eq!(setup.ask(&query, &FaultSetup::create()).await.status, 202);
    setup.held(fault).await;
    setup.stack.agent.restart().unwrap();
    setup.becomes(&id, "unknown").await;
    setup.faults.lift(fault);
    assert_unknown(&setup.ask(&format!("id={id}"), &FaultSetup::create()).await);
    assert!(setup.effects() <= 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hub_killed_while_it_waits_hears_of_it_in_its_next_life() {
    let mut setup = FaultSetup::set().await;
    let fault = setup.hold();
    let (id, create) = (OperationId::fresh().to_string(), FaultSetup::create());
    let query = format!("id={id}&deadline=60s");
    let (asked, ()) = tokio::join!(try_ask(&setup.stack.hub, &setup.account, &query, &create), async {
        setup.held(fault).await;
        setup.stack.hub.daemon().kill();
    });
    assert!(asked.is_err(), "nobody answers: {asked:?}");
    setup.faults.lift(fault);
    setup.stack.hub.restart().await.unwrap();
    setup.becomes(&id, "completed").await;
    let again = setup.ask(&query, &create).await;
    assert_eq!((again.status, &again.body["action"]), (201, &json!("created")), "{again:?}");
    assert_eq!(setup.effects(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hub_killed_before_an_agent_came_goes_on_in_its_next_life() {
    let mut setup = FaultSetup::set().await;
    setup.stack.agent.kill();
    let started = setup.ask("async=true&deadline=60s", &FaultSetup::create()).await;
    assert_eq!(started.status, 202, "{started:?}");
    setup.stack.hub.restart().await.unwrap();
    setup.stack.agent.restart().unwrap();
    setup.becomes(&started.id, "completed").await;
    assert_eq!(setup.effects(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_is_asked_of_the_agent_again_when_the_link_comes_back() {
    let setup = FaultSetup::set().await;
    let get =
        json!({ "verb": "get", "target": { "apiVersion": "v1", "kind": "Namespace", "name": "default" } });
    let silence = Fault::new(Effect::Freeze).of_verbs([Verb::Get]).of_resource("namespaces");
    let fault = setup.faults.inject(silence);
    let asking = ask(&setup.stack.hub, &setup.account, "deadline=60s", &get);
    let (asked, ()) = tokio::join!(asking, async {
        setup.held(fault).await;
        setup.stack.link.cut();
        setup.faults.lift(fault);
        setup.stack.link.heal();
    });
    assert_eq!((asked.status, &asked.body["metadata"]["name"]), (200, &json!("default")), "{asked:?}");
}
