//! The link, the hub or the agent goes away while an operation is under way.

use serde_json::json;
use spindrift_model::OperationId;
use spindrift_playground::{Effect, Fault, Verb};
use spindrift_testkit::eventually;

use super::{Scene, assert_unknown};
use crate::{
    operations::{ask, try_ask},
    support::LONG,
};

#[tokio::test(flavor = "multi_thread")]
async fn a_result_that_was_lost_on_the_way_is_sent_again() {
    let scene = Scene::set().await;
    let fault = scene.hold();
    let create = Scene::create();
    let asking = ask(&scene.stack.hub, &scene.account, "deadline=60s", &create);
    let (asked, ()) = tokio::join!(asking, async {
        scene.held(fault).await;
        scene.stack.link.cut();
        scene.faults.lift(fault);
        eventually!("it is done", LONG, scene.effects() == 1);
        scene.stack.link.heal();
    });
    assert_eq!((asked.status, &asked.body["action"]), (201, &json!("created")), "{asked:?}");
    assert_eq!(scene.effects(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_that_carries_nothing_either_way_loses_nothing_and_repeats_nothing() {
    // The silence outlasts the patience of the agent with its answer, which then rests until the next session.
    let patience = ("/clouddriver/responseRetries", json!({ "maxRetries": 1, "backOffMs": 100 }));
    let scene = Scene::with(&[patience]).await;
    let fault = scene.hold();
    let create = Scene::create();
    let asking = ask(&scene.stack.hub, &scene.account, "deadline=120s", &create);
    let (asked, ()) = tokio::join!(asking, async {
        scene.held(fault).await;
        scene.stack.link.half_open();
        scene.faults.lift(fault);
        eventually!("it is done", LONG, scene.effects() == 1);
        eventually!("both sides see that the link is dead", LONG, {
            scene.stack.hub.metric("spindrift_hub_sessions").await.unwrap() == 0
        });
        scene.stack.link.heal();
    });
    assert_eq!((asked.status, &asked.body["action"]), (201, &json!("created")), "{asked:?}");
    assert_eq!(scene.effects(), 1);
    assert!(scene.stack.agent.daemon().log().contains("Max retries reached for operation result"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_comes_after_the_deadline_is_still_heard() {
    let scene = Scene::set().await;
    let fault = scene.hold();
    let started = scene.ask("async=true&deadline=20s", &Scene::create()).await;
    scene.held(fault).await;
    scene.stack.link.cut();
    scene.faults.lift(fault);
    eventually!("it is done", LONG, scene.effects() == 1);
    scene.becomes(&started.id, "unknown").await;
    scene.stack.link.heal();
    scene.becomes(&started.id, "completed").await;
    let result = scene.stack.hub.get(&format!("/v1/operations/{}/result", started.id)).await.unwrap();
    assert_eq!(result["action"], "created");
    assert_eq!(scene.effects(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_is_past_calling_off_is_told_as_it_went() {
    let scene = Scene::set().await;
    let fault = scene.hold();
    let started = scene.ask("async=true&deadline=60s", &Scene::create()).await;
    scene.held(fault).await;
    let url = format!("{}/v1/operations/{}", scene.stack.hub.url(), started.id);
    assert_eq!(reqwest::Client::new().delete(&url).send().await.unwrap().status(), 202);
    scene.faults.lift(fault);
    scene.becomes(&started.id, "completed").await;
    assert_eq!(scene.effects(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_killed_after_the_call_leaves_an_outcome_that_nobody_knows() {
    let mut scene = Scene::set().await;
    let fault = scene.hold();
    let id = OperationId::fresh().to_string();
    let query = format!("id={id}&async=true&deadline=60s");
    assert_eq!(scene.ask(&query, &Scene::create()).await.status, 202);
    scene.held(fault).await;
    scene.stack.link.cut();
    scene.faults.lift(fault);
    eventually!("it is done", LONG, scene.effects() == 1);
    // Its outcome was not delivered, and never will be: the next agent is another incarnation.
    scene.stack.agent.kill();
    scene.stack.link.heal();
    scene.stack.agent.restart().unwrap();
    let operation = scene.becomes(&id, "unknown").await;
    let reason = operation["reason"].as_str().unwrap();
    assert!(reason.starts_with("agent agent-a was restarted after the operation had been sent"), "{reason}");
    let told = scene.ask(&format!("id={id}"), &Scene::create()).await;
    assert_unknown(&told);
    assert_eq!(scene.effects(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_killed_during_the_call_leaves_an_outcome_that_nobody_knows() {
    let mut scene = Scene::set().await;
    let fault = scene.hold();
    let id = OperationId::fresh().to_string();
    let query = format!("id={id}&async=true&deadline=60s");
    assert_eq!(scene.ask(&query, &Scene::create()).await.status, 202);
    scene.held(fault).await;
    scene.stack.agent.restart().unwrap();
    scene.becomes(&id, "unknown").await;
    scene.faults.lift(fault);
    assert_unknown(&scene.ask(&format!("id={id}"), &Scene::create()).await);
    assert!(scene.effects() <= 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hub_killed_while_it_waits_hears_of_it_in_its_next_life() {
    let mut scene = Scene::set().await;
    let fault = scene.hold();
    let (id, create) = (OperationId::fresh().to_string(), Scene::create());
    let query = format!("id={id}&deadline=60s");
    let (asked, ()) = tokio::join!(try_ask(&scene.stack.hub, &scene.account, &query, &create), async {
        scene.held(fault).await;
        scene.stack.hub.daemon().kill();
    });
    assert!(asked.is_err(), "nobody answers: {asked:?}");
    scene.faults.lift(fault);
    scene.stack.hub.restart().await.unwrap();
    scene.becomes(&id, "completed").await;
    let again = scene.ask(&query, &create).await;
    assert_eq!((again.status, &again.body["action"]), (201, &json!("created")), "{again:?}");
    assert_eq!(scene.effects(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hub_killed_before_an_agent_came_goes_on_in_its_next_life() {
    let mut scene = Scene::set().await;
    scene.stack.agent.kill();
    let started = scene.ask("async=true&deadline=60s", &Scene::create()).await;
    assert_eq!(started.status, 202, "{started:?}");
    scene.stack.hub.restart().await.unwrap();
    scene.stack.agent.restart().unwrap();
    scene.becomes(&started.id, "completed").await;
    assert_eq!(scene.effects(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_is_asked_of_the_agent_again_when_the_link_comes_back() {
    let scene = Scene::set().await;
    let get =
        json!({ "verb": "get", "target": { "apiVersion": "v1", "kind": "Namespace", "name": "default" } });
    let silence = Fault::new(Effect::Freeze).of_verbs([Verb::Get]).of_resource("namespaces");
    let fault = scene.faults.inject(silence);
    let asking = ask(&scene.stack.hub, &scene.account, "deadline=60s", &get);
    let (asked, ()) = tokio::join!(asking, async {
        scene.held(fault).await;
        scene.stack.link.cut();
        scene.faults.lift(fault);
        scene.stack.link.heal();
    });
    assert_eq!((asked.status, &asked.body["metadata"]["name"]), (200, &json!("default")), "{asked:?}");
}
