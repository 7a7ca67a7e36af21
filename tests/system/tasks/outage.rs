//! The hub cannot perform a task for a moment: Orca retries, and tasks wait.

use serde_json::json;
use spindrift_testkit::{Database, HubProcess, eventually};

use super::{TaskSetup, config_map, deployment, ended, send, submit};
use crate::support::LONG;

/// The row stays, though its insertion fails.
const BROKEN_LINE: &str = "CREATE TRIGGER broken_line AFTER INSERT ON spindrift_operation WHEN NEW.mutation = 1 \
                           BEGIN SELECT RAISE(FAIL, 'the line broke'); END";

/// No change is taken on.
const NO_CHANGE: &str = "CREATE TRIGGER no_change BEFORE INSERT ON spindrift_operation WHEN NEW.mutation = 1 \
                         BEGIN SELECT RAISE(ABORT, 'not now'); END";

#[tokio::test(flavor = "multi_thread")]
async fn while_the_database_is_away_reads_are_retryable_and_changes_are_not() {
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
async fn an_operation_that_the_hub_refuses_for_a_moment_is_performed_later_and_once() {
    let mut setup = TaskSetup::set().await;
    let log = |setup: &TaskSetup, words: &str| setup.stack.hub.daemon().log().matches(words).count();
    let before = setup.effects();
    setup.stack.database.execute("ALTER TABLE spindrift_freeze RENAME TO spindrift_frozen").await.unwrap();
    let id = submit(&setup.stack.hub, "deployManifest", setup.several()).await;
    eventually!("it is refused", LONG, log(&setup, "operation not accepted: the store did not answer") > 1);
    setup.stack.database.execute("ALTER TABLE spindrift_frozen RENAME TO spindrift_freeze").await.unwrap();
    let task = ended(&setup.stack.hub, &id).await;
    assert_eq!(task["status"]["failed"], false, "{task:#}");
    assert_eq!(setup.effects(), before + 2);

    // Where a row may have been left behind, to try again could do it twice.
    for (trigger, name) in [(NO_CHANGE, "no_change"), (BROKEN_LINE, "broken_line")] {
        let before = setup.effects();
        setup.stack.database.execute(trigger).await.unwrap();
        let id = submit(&setup.stack.hub, "deployManifest", setup.several()).await;
        let task = ended(&setup.stack.hub, &id).await;
        assert!(task.to_string().contains("nothing will be under this id"), "{name}: {task:#}");
        setup.stack.database.execute(&format!("DROP TRIGGER {name}")).await.unwrap();
        assert_eq!((&task["status"]["failed"], setup.effects()), (&json!(true), before), "{name}");
        eventually!("the failed operation is logged with its reason", LONG, {
            let log = setup.stack.hub.daemon().log();
            let line =
                log.lines().find(|line| line.contains("an operation of a task failed") && line.contains(&id));
            anyhow::ensure!(
                line.is_some_and(|line| line.contains("nothing will be under this id")),
                "{line:?}"
            );
            Ok(())
        });
    }

    let limits = json!({ "limits": { "perAccount": 1 } });
    setup.stack.hub.configure("/kubesvc/operations", limits);
    setup.stack.hub.restart().await.unwrap();
    setup.stack.synced(&setup.simulated.account).await;
    let fault = setup.hold();
    let first = submit(&setup.stack.hub, "deployManifest", setup.several()).await;
    setup.held(fault).await;
    let crowd = deployment(&setup.account, json!([config_map("default", "crowd", "1")]));
    let second = submit(&setup.stack.hub, "deployManifest", crowd).await;
    eventually!("it waits", LONG, log(&setup, "1 operations are open in account") > 0);
    setup.faults.lift(fault);
    for id in [first, second] {
        let task = ended(&setup.stack.hub, &id).await;
        assert_eq!(task["status"]["failed"], false, "{task:#}");
    }
}
