//! Two agents serve the account: changes go to the one that caches it, and none is made twice.

use serde_json::json;
use spindrift_model::OperationId;
use spindrift_testkit::{AgentProcess, eventually};

use super::{FaultSetup, assert_unknown};
use crate::{operations::remembered, support::LONG};

#[tokio::test(flavor = "multi_thread")]
async fn the_one_that_caches_is_asked_and_when_it_dies_the_other_is_asked_for_what_comes_next() {
    let mut setup = FaultSetup::set().await;
    let standby =
        AgentProcess::start("agent-b", setup.stack.hub.grpc(), &json!(setup.stage.accounts())).unwrap();
    eventually!("the standby is connected", LONG, {
        standby.get("/health").await.is_ok_and(|health| health["hub"] == "connected")
    });
    for _ in 0..3 {
        let created = setup.ask("", &FaultSetup::create()).await;
        assert_eq!(created.status, 201, "{created:?}");
        assert_eq!(remembered(&setup.stack.hub, &created.id).await["agent"], "agent-a");
    }

    // The one that caches dies in the middle of a call: the other one is not asked to do it again.
    let fault = setup.hold();
    let id = OperationId::fresh().to_string();
    let query = format!("id={id}&async=true&deadline=4s");
    assert_eq!(setup.ask(&query, &FaultSetup::create()).await.status, 202);
    setup.held(fault).await;
    setup.stack.agent.kill();
    let operation = setup.becomes(&id, "unknown").await;
    let reason = operation["reason"].as_str().unwrap();
    assert!(
        reason.contains("sent to agent agent-a, which has not reported the outcome before the deadline"),
        "{reason}"
    );
    setup.faults.lift(fault);
    assert_unknown(&setup.ask(&format!("id={id}"), &FaultSetup::create()).await);
    assert!((3..=4).contains(&setup.effects()), "{}", setup.effects());

    let before = setup.effects();
    let created = setup.ask("", &FaultSetup::create()).await;
    assert_eq!(created.status, 201, "{created:?}");
    assert_eq!(remembered(&setup.stack.hub, &created.id).await["agent"], "agent-b");
    assert_eq!(setup.effects(), before + 1);
}
