//! Steps that are written together, and one of them cannot be written.

use std::time::Duration;

use spindrift_model::{Content, Ending, HubId, OperationId, TenantId};
use spindrift_testkit::{Database, Engine};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::{
    super::ledger::Ledger,
    bench::{OK, account},
};
use crate::store::{NewOperation, OperationEnd, OperationState, Step, Store, StoreConfig};

fn insert(id: OperationId, target: String) -> Step {
    Step::Insert(Box::new(NewOperation {
        tenant: TenantId::default(),
        id,
        account: account(),
        verb: "list",
        target,
        mutation: false,
        digest: String::new(),
        time_left: Duration::from_mins(1),
        hub: HubId::parse("hub-a").unwrap(),
        seat: None,
        key_id: "key".to_owned(),
        body: "{}".into(),
    }))
}

fn end(id: OperationId) -> Step {
    let ending = Ending { outcome: OK, took: Duration::ZERO };
    let end = OperationEnd { ending, content: Content::Json, answer_bytes: None, answered_to: None };
    Step::End { tenant: TenantId::default(), id, end }
}

#[tokio::test]
async fn a_step_that_cannot_be_written_affects_no_other() {
    for database in Database::all().await.unwrap() {
        eprintln!("on {}", database.engine());
        let store = Store::open(&StoreConfig::at(database.url())).await.unwrap();
        if database.engine() == Engine::Sqlite {
            // The others have columns of so many letters.
            let refuse = "CREATE TRIGGER too_long BEFORE INSERT ON spindrift_operation \
                          WHEN length(NEW.target) > 512 BEGIN SELECT RAISE(ABORT, 'too long'); END";
            database.execute(refuse).await.unwrap();
        }
        let (ledger, writer) = Ledger::new(store.clone(), CancellationToken::new());
        // As of reads that are answered before their rows are written: both steps of each are in one group.
        let whole: Vec<_> = (0..10).map(|_| OperationId::fresh()).collect();
        let steps = whole.iter().flat_map(|id| [insert(*id, "pods".into()), end(*id)]);
        let bad = insert(OperationId::fresh(), "x".repeat(600));
        let writing: Vec<_> = steps.chain([bad]).map(|step| ledger.write(step)).collect();
        // Queued before the writer runs, so they make up one group.
        let mut tasks = JoinSet::new();
        tasks.spawn(writer);
        let mut written = futures::future::join_all(writing).await;
        assert!(written.pop().is_some_and(|bad| bad.is_err()), "it cannot be written");
        for (number, written) in written.into_iter().enumerate() {
            assert!(written.unwrap().taken, "step {number} is taken, after those before it");
        }
        for id in whole {
            let row = store.operation(&TenantId::default(), id).await.unwrap().expect("it is there");
            assert_eq!(row.state, OperationState::Completed);
        }
    }
}
