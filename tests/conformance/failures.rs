//! Stages that must fail, as Orca makes them fail, and those that must not.

use std::time::Duration;

use serde_json::{Value, json};
use spindrift_testkit::eventually;
use spindrift_tests::spinnaker::{Execution, Orca, Pace, StageSpec, Status};

use crate::{
    TURN,
    world::{AGENT, World},
};

/// Long enough for everything that happens at all.
const IMPATIENT: Duration = Duration::from_secs(5);

#[tokio::test(flavor = "multi_thread")]
async fn stages_fail_as_orca_makes_them_fail() {
    let _turn = TURN.lock().await;
    let mut world = World::start().await;
    never_stable(&world).await;
    past_its_deadline(&world).await;
    invalid_manifest(&world).await;
    unknown_account(&world).await;
    hub_restarted(&mut world).await;
    agent_away(&mut world).await;
}

/// No node will ever take its pods: Orca waits, and gives up.
async fn never_stable(world: &World) {
    let pace = Pace { stable_timeout: IMPATIENT, ..Pace::QUICK };
    let ours = deploy(world, pace, json!([homeless("never", 600)])).await;
    assert_eq!(tasks(&ours)[..5].last().unwrap(), &("waitForManifestToStabilize", Status::Terminal));
    assert_eq!(ours.stages[0].context["exception"]["exceptionType"], "TimeoutException");
}

/// The same, with a deadline of its own: Kubernetes gives up before Orca does.
async fn past_its_deadline(world: &World) {
    let ours = deploy(world, Pace::QUICK, json!([homeless("late", 1)])).await;
    assert_eq!(tasks(&ours)[..5].last().unwrap(), &("waitForManifestToStabilize", Status::Terminal));
    let failure = ours.failure().unwrap();
    assert!(failure.contains("Deployment exceeded its progress deadline"), "{failure}");
}

/// A manifest that the API server refuses (422) fails the task, with the API server's message.
async fn invalid_manifest(world: &World) {
    let mut manifest = homeless("invalid", 600);
    manifest["spec"]["selector"] = json!({ "matchLabels": { "app": "another" } });
    let ours = deploy(world, Pace::QUICK, json!([manifest])).await;
    assert_eq!(tasks(&ours)[2], ("monitorDeploy", Status::Terminal));
    let failure = ours.failure().unwrap();
    assert!(
        failure.contains(
            "Deploy failed for manifest: deployment invalid. Error: The Deployment \"invalid\" is invalid"
        ),
        "{failure}"
    );
    assert!(failure.contains("`selector` does not match template `labels`"), "{failure}");
}

/// Nothing is retried, and nothing is begun.
async fn unknown_account(world: &World) {
    let context = json!({ "account": "nope", "credentials": "nope" });
    let ours = run(world, Pace::QUICK, with(json!([homeless("nowhere", 600)]), &context)).await;
    assert_eq!(tasks(&ours)[1], ("deployManifest", Status::Terminal));
    assert_eq!(ours.calls.len(), 1);
    let details = &ours.stages[0].context["exception"]["details"];
    assert_eq!(details["status"], 400, "{details}");
    assert_eq!(details["errors"], json!(["credentials not found (name: nope, names: account1,wide)"]));
}

/// A task survives its hub.
async fn hub_restarted(world: &mut World) {
    let manifests: Vec<_> = (0..30).map(|number| config_map(&format!("many-{number}"))).collect();
    let stage = with(manifests.into(), &json!({}));
    let pace = Pace { task_timeout: Duration::from_mins(5), ..Pace::QUICK };
    let orca = Orca::new(world.hub.url(), "orcashop", pace);
    let run = orca.run([stage]);
    let restart = async {
        eventually!("the task runs", {
            let running = world.hub.get("/task").await.unwrap();
            let sent = |task: &Value| task.to_string().matches("Submitting manifest").count() >= 3;
            running.as_array().is_some_and(|tasks| tasks.iter().any(sent))
        });
        world.hub.restart().await.unwrap();
    };
    let (ours, ()) = tokio::join!(run, restart);
    assert_eq!(ours.status, Status::Succeeded, "{:?}", ours.failure());
    let names = &ours.stages[0].outputs["outputs.manifestNamesByNamespace"]["default"];
    assert_eq!(names.as_array().unwrap().len(), 30);
    let created = world.cluster.kubectl(&["get", "configmaps", "-n", "default", "-o", "name"]).await.unwrap();
    assert_eq!(
        created.lines().filter(|name| name.contains("/many-")).count(),
        30,
        "none is there twice: {created}"
    );
    world.ready().await;
}

/// The operation is accepted; its task fails and names the missing agent.
async fn agent_away(world: &mut World) {
    world.agent.kill();
    let ours = deploy(world, Pace::QUICK, json!([config_map("unreachable")])).await;
    assert_eq!(ours.calls[0].status, Some(200), "a 503 would be repeated until the stage times out");
    assert_eq!(tasks(&ours)[2], ("monitorDeploy", Status::Terminal));
    let failure = ours.failure().unwrap();
    assert!(failure.contains("account1") && failure.contains(AGENT), "{failure}");
}

async fn deploy(world: &World, pace: Pace, manifests: Value) -> Execution {
    run(world, pace, with(manifests, &json!({}))).await
}

async fn run(world: &World, pace: Pace, stage: StageSpec) -> Execution {
    Orca::new(world.hub.url(), "orcashop", pace).run([stage]).await
}

fn with(manifests: Value, further: &Value) -> StageSpec {
    let mut context = json!({
        "account": "account1", "credentials": "account1", "cloudProvider": "kubernetes", "source": "text",
        "moniker": { "app": "orcashop" }, "manifests": manifests,
    });
    context.as_object_mut().unwrap().extend(further.as_object().unwrap().clone());
    StageSpec::new("deployManifest", context)
}

fn tasks(execution: &Execution) -> &[(&'static str, Status)] {
    &execution.stages[0].tasks
}

/// A deployment that no node takes.
fn homeless(name: &str, deadline: u32) -> Value {
    let labels = json!({ "app": name });
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": name, "namespace": "default" },
        "spec": {
            "replicas": 1, "progressDeadlineSeconds": deadline, "selector": { "matchLabels": labels },
            "template": { "metadata": { "labels": labels }, "spec": {
                "containers": [{ "name": "main", "image": "nginx:1.25" }], "nodeSelector": { "no": "such-node" },
            } },
        },
    })
}

fn config_map(name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name, "namespace": "default" },
        "data": { "name": name },
    })
}
