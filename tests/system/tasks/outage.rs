//! The hub cannot perform a task for a moment: Orca retries, and tasks wait.

use serde_json::json;
use spindrift_testkit::{Database, HubProcess, eventually};

use super::{Scene, config_map, deployment, ended, send, submit};
use crate::support::LONG;

/// The row stays, though its insertion fails.
const BROKEN_LINE: &str = "CREATE TRIGGER broken_line AFTER INSERT ON spindrift_operation WHEN NEW.mutation = 1 \
                           BEGIN SELECT RAISE(FAIL, 'the line broke'); END";

/// No change is taken on.
const NO_CHANGE: &str = "CREATE TRIGGER no_change BEFORE INSERT ON spindrift_operation WHEN NEW.mutation = 1 \
                         BEGIN SELECT RAISE(ABORT, 'not now'); END";

#[tokio::test(flavor = "multi_thread")]
async fn while_the_database_is_away_who_reads_is_told_to_ask_again_and_who_changes_is_not() {
    let database = Database::postgres_dedicated().await.unwrap();
    let hub = HubProcess::start("hub-a", &database, &[]).await.unwrap();
    let task = "/task/01JD0000000000000000000000";
    assert_eq!(send(&hub, "GET", task, &json!(null)).await.status, 404);
    database.stop().await.unwrap();
    let operation = json!([{ "scaleManifest": { "account": "main", "manifestName": "deployment web" } }]);
    let table = [
        ("GET", task, json!(null), 503, "Service Unavailable"),
        ("GET", "/task", json!(null), 503, "Service Unavailable"),
        ("GET", "/applications/shop/serverGroups", json!(null), 503, "Service Unavailable"),
        // Orca would ask until its stage times out.
        ("POST", "/kubernetes/ops", operation, 500, "Internal Server Error"),
        (
            "PATCH",
            "/kubernetes/task/01JD0000000000000000000000",
            json!({ "retry": true }),
            500,
            "Internal Server Error",
        ),
    ];
    let asking = table.iter().map(|(method, path, body, ..)| send(&hub, method, path, body));
    let answers = futures::future::join_all(asking).await;
    for ((method, path, _, status, reason), answer) in table.iter().zip(answers) {
        let told = (&answer.body["status"], &answer.body["error"]);
        assert_eq!(
            (answer.status, told),
            (*status, (&json!(status), &json!(reason))),
            "{method} {path}: {answer:?}"
        );
        assert!(answer.body["message"].is_string(), "{answer:?}");
    }
    database.start().await.unwrap();
    eventually!(
        "it is as if nothing had been",
        LONG,
        send(&hub, "GET", task, &json!(null)).await.status == 404
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_hub_itself_refuses_for_a_moment_is_done_later_and_once() {
    let mut scene = Scene::set().await;
    let log = |scene: &Scene, words: &str| scene.stack.hub.daemon().log().matches(words).count();
    let before = scene.effects();
    scene.stack.database.execute("ALTER TABLE spindrift_freeze RENAME TO spindrift_frozen").await.unwrap();
    let id = submit(&scene.stack.hub, "deployManifest", scene.several()).await;
    eventually!("it is refused", LONG, log(&scene, "an operation was not taken on") > 1);
    scene.stack.database.execute("ALTER TABLE spindrift_frozen RENAME TO spindrift_freeze").await.unwrap();
    let task = ended(&scene.stack.hub, &id).await;
    assert_eq!(task["status"]["failed"], false, "{task:#}");
    assert_eq!(scene.effects(), before + 2);

    // Where a row may have been left behind, to try again could do it twice.
    for (trigger, name) in [(NO_CHANGE, "no_change"), (BROKEN_LINE, "broken_line")] {
        let before = scene.effects();
        scene.stack.database.execute(trigger).await.unwrap();
        let id = submit(&scene.stack.hub, "deployManifest", scene.several()).await;
        let task = ended(&scene.stack.hub, &id).await;
        assert!(task.to_string().contains("nothing will be under this id"), "{name}: {task:#}");
        scene.stack.database.execute(&format!("DROP TRIGGER {name}")).await.unwrap();
        assert_eq!((&task["status"]["failed"], scene.effects()), (&json!(true), before), "{name}");
    }

    let limits = json!({ "limits": { "perAccount": 1 } });
    scene.stack.hub.configure("/kubesvc/operations", limits);
    scene.stack.hub.restart().await.unwrap();
    scene.stack.synced(&scene.site.account).await;
    let fault = scene.hold();
    let first = submit(&scene.stack.hub, "deployManifest", scene.several()).await;
    scene.held(fault).await;
    let crowd = deployment(&scene.account, json!([config_map("default", "crowd", "1")]));
    let second = submit(&scene.stack.hub, "deployManifest", crowd).await;
    eventually!("it waits", LONG, log(&scene, "1 operations are under way in account") > 0);
    scene.faults.lift(fault);
    for id in [first, second] {
        let task = ended(&scene.stack.hub, &id).await;
        assert_eq!(task["status"]["failed"], false, "{task:#}");
    }
}
