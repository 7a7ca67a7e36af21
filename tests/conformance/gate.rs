//! The calls that Gate made, and every route that it calls.

use std::time::Duration;

use serde_json::{Value, json};
use spindrift_testkit::PATIENCE;
use spindrift_tests::spinnaker::{
    Answer, Names, Orca, Pace, RecordedCall, StageSpec, Status, differences,
    recorded::{self, ToGate},
};
use tokio::time::Instant;

use crate::{TURN, cluster_state::ClusterState, routes::ROUTES, world::World};

const APPLICATION: &str = "orcashop";

/// Between two looks at something that may still change.
const INTERVAL: Duration = Duration::from_millis(100);

/// The pod whose details Gate asked for.
const POD: &str = "gate-web-84f964b449-4cdw9";

#[tokio::test(flavor = "multi_thread")]
async fn gate_gets_what_it_got() {
    let _turn = TURN.lock().await;
    let world = World::start().await;
    deploy(&world).await;
    let state = ClusterState::new(&world.cluster);
    state.at_rest().await;
    let mut names = Names::default();
    let (prefix, _) = POD.rsplit_once('-').unwrap();
    names.learn(POD, &state.pod(prefix).await.expect("the template has the hash that it had"));

    let mut differing = Vec::new();
    // Cached objects come a moment later.
    let settled = Instant::now() + PATIENCE;
    for call in recorded::calls_of_gate() {
        let recorded = recorded::gate().into_iter().find(|it| is_answer_to(it, &call));
        let expected = recorded.map(|it| names.in_value(&without_additions(&it)));
        let path = names.in_text(&call.path);
        loop {
            let found = compare(&call, expected.as_ref(), &ask(&world, &call, &path).await);
            if found.is_empty() || Instant::now() > settled {
                differing.extend(found);
                break;
            }
            tokio::time::sleep(INTERVAL).await;
        }
    }
    differing.extend(unexpected_answers(&world).await);
    println!("figure conformance-gate-differing = {} (goal 0)", differing.len());
    assert_eq!(differing.join("\n"), "");
}

/// The state when Gate was recorded: a service of Orca's earlier runs, and the objects that Gate itself had deployed.
async fn deploy(world: &World) {
    let orca = Orca::new(world.hub.url(), APPLICATION, Pace::QUICK);
    let service =
        recorded::executions().into_iter().find(|it| it.name == "service").unwrap().stages.remove(0);
    let submitted = recorded::gate().into_iter().find(|it| it.name == "task-submit").unwrap();
    let job = submitted.request.body.unwrap()["job"][0].clone();
    for stage in
        [StageSpec { kind: service.r#type, context: service.given }, StageSpec::new("deployManifest", job)]
    {
        let execution = orca.run([stage]).await;
        assert_eq!(execution.status, Status::Succeeded, "{:?}", execution.failure());
    }
}

/// Gate's answer to its own caller is that of Clouddriver, on the routes that it only forwards.
fn is_answer_to(recorded: &ToGate, call: &RecordedCall) -> bool {
    // Of these Gate makes something of its own, or answers without asking.
    const OWN: [&str; 5] = ["application", "applications", "credentials", "manifest-missing", "health"];
    let bare = |path: &str| path.split('?').next().unwrap_or_default().to_owned();
    !OWN.contains(&recorded.name.as_str())
        && recorded.request.method == call.method
        && bare(&recorded.request.path) == bare(&call.path)
}

/// Gate's answer, without its additions to Clouddriver's.
fn without_additions(recorded: &ToGate) -> Value {
    let mut body = recorded.body.clone();
    if let Some(details) = body.as_object_mut() {
        details.remove("insightActions");
    }
    if recorded.name.starts_with("credentials") {
        let accounts = match &mut body {
            Value::Array(accounts) => accounts.iter_mut().collect(),
            account => vec![account],
        };
        for account in accounts.into_iter().filter_map(Value::as_object_mut) {
            account.remove("authorized");
            if account.get("permissions") == Some(&json!({})) {
                account.remove("permissions");
            }
        }
    }
    body
}

fn compare(call: &RecordedCall, expected: Option<&Value>, answer: &Answer) -> Vec<String> {
    let mut found = Vec::new();
    if answer.status != call.status {
        found.push(format!("{}: status {} instead of {}", call.path, answer.status, call.status));
    }
    if let Some(expected) = expected {
        found.extend(differences(expected, &answer.body).iter().map(|it| format!("{}{it}", call.path)));
    }
    found
}

async fn ask(world: &World, call: &RecordedCall, path: &str) -> Answer {
    let http = reqwest::Client::new();
    let mut request = http.request(call.method.parse().unwrap(), format!("{}{path}", world.hub.url()));
    for (name, value) in &call.headers {
        request = request.header(name, value);
    }
    Answer::of(request.send().await.unwrap()).await.unwrap()
}

/// Every route of Gate has an answer, and the right one.
async fn unexpected_answers(world: &World) -> Vec<String> {
    let mut found = Vec::new();
    for route in ROUTES.iter().filter(|route| !route.example.is_empty()) {
        let answer = Answer::of(reqwest::get(format!("{}{}", world.hub.url(), route.example)).await.unwrap());
        let answer = answer.await.unwrap();
        if answer.status != route.status {
            found.push(format!("{}: status {} instead of {}", route.example, answer.status, route.status));
        }
    }
    found
}
