//! Tasks that fail, and stored tasks that are corrupt.

use std::{sync::Arc, time::Duration};

use prometheus_client::registry::Registry;
use spindrift_model::{HubId, TenantId};
use spindrift_process::shutdown::Shutdown;
use spindrift_spinnaker::{Line, Task, TaskState};
use spindrift_testkit::{Database, eventually};

use super::{Rejected, Tasks, TasksConfig};
use crate::{
    clouddriver::{Accounts, Live},
    config::Runtime,
    dispatch::{Dispatch, DispatchConfig, Vault},
    metrics::Metrics,
    store::{Store, StoreConfig, StoreError, TaskId},
};

const MINUTE: Duration = Duration::from_mins(1);

async fn start(database: &Database) -> (Tasks, Shutdown) {
    let store = Store::open(&StoreConfig::at(database.url())).await.unwrap();
    let (hub, tenant) = (HubId::parse("hub-a").unwrap(), TenantId::default());
    let vault = Vault::with_key("key", "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=").unwrap();
    let (vault, shutdown) = (Arc::new(vault), Shutdown::new());
    let metrics = Arc::new(Metrics::register(&mut Registry::default(), 64));
    let config = DispatchConfig::generous(hub.clone());
    let dispatch = Dispatch::new(config, store.clone(), Arc::clone(&vault), metrics, &shutdown);
    let accounts = Accounts::new(store.clone(), tenant.clone(), Arc::new(Runtime::default()));
    let config = TasksConfig { hub, tenant, silence: MINUTE, kubernetes: Arc::default() };
    (Tasks::new(config, store, accounts, Live::new(dispatch), vault, &shutdown), shutdown)
}

/// Resumes a task of another hub and waits for its end.
async fn resumed(tasks: &Tasks, body: &str) -> Task {
    let id = TaskId::fresh();
    let new = tasks.shared.new_task(id, None, body.as_bytes(), &[Line::initializing()]).ok().unwrap();
    tasks.shared.store.insert_task(&new).await.unwrap();
    tasks.start();
    eventually!("the task ends", Duration::from_secs(30), {
        let task = tasks.find(&id.to_string()).await.ok().unwrap();
        if task.state == TaskState::Started { Err(task) } else { Ok(task) }
    })
}

#[tokio::test]
async fn a_task_that_this_release_cannot_parse_fails() {
    let database = Database::sqlite().unwrap();
    let (tasks, _shutdown) = start(&database).await;
    let task = resumed(&tasks, r#"[{"wibbleManifest": {"account": "prod"}}]"#).await;
    assert_eq!(task.state, TaskState::Failed);
    let last = format!("{:?}", task.history.last());
    assert!(last.contains("No atomic operation converter found for description 'wibbleManifest'"), "{last}");
}

#[tokio::test]
async fn a_task_whose_results_cannot_be_stored_fails_with_that_message() {
    let database = Database::sqlite().unwrap();
    let (tasks, _shutdown) = start(&database).await;
    let refuse = "CREATE TRIGGER too_long BEFORE UPDATE OF results ON spindrift_task \
                  WHEN length(NEW.results) > 2000 BEGIN SELECT RAISE(ABORT, 'too long'); END";
    database.execute(refuse).await.unwrap();
    let long = "w".repeat(3000);
    let task = resumed(&tasks, &format!(r#"[{{"{long}": {{"account": "prod"}}}}]"#)).await;
    assert_eq!(task.state, TaskState::Failed);
    let last = format!("{:?}", task.history.last());
    assert!(last.contains("cannot be written down"), "{last}");
}

#[tokio::test]
async fn a_corrupt_row_is_an_error_and_not_a_task_without_results() {
    let database = Database::sqlite().unwrap();
    let (tasks, _shutdown) = start(&database).await;
    let task = resumed(&tasks, r#"[{"wibbleManifest": {"account": "prod"}}]"#).await;
    assert!(!task.result_objects.is_empty());
    database.execute("UPDATE spindrift_task SET results = X'5B7B'").await.unwrap();
    let found = tasks.find(&task.id).await;
    assert!(matches!(found, Err(Rejected::Store(StoreError::Json { column: "results", .. }))), "{found:?}");
}
