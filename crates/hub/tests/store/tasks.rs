//! Tasks: one for each request, run by one hub at a time, and their findings are erased at the end.

use std::time::Duration;

use bytes::Bytes;
use spindrift_hub::store::{NewTask, Store, TaskEntry, TaskId, TaskInserted, TaskSeat};
use spindrift_model::{HubId, TenantId};
use spindrift_spinnaker::TaskState;
use spindrift_testkit::eventually;

use crate::bench::{Bench, hub, tenant};

const MINUTE: Duration = Duration::from_mins(1);

fn task(request: &str) -> NewTask {
    NewTask {
        tenant: tenant(),
        id: TaskId::fresh(),
        request: request.into(),
        driver: hub("hub-a"),
        owner: "uuid@hub-a".into(),
        key_id: "k1".into(),
        body: Bytes::from_static(b"sealed"),
        said: Bytes::from_static(b"first"),
    }
}

fn entry(number: u32, said: &'static str, learned: &'static [u8]) -> TaskEntry {
    TaskEntry { number, said: said.into(), learned: Bytes::from_static(learned) }
}

/// A seat of the first attempt.
fn seat<'a>(tenant: &'a TenantId, task: &NewTask, driver: &'a HubId) -> TaskSeat<'a> {
    TaskSeat { tenant, id: task.id, attempt: 0, driver }
}

async fn said(store: &Store, id: TaskId) -> anyhow::Result<Vec<String>> {
    let said = store.task_said(&tenant(), id).await?;
    Ok(said.iter().map(|said| String::from_utf8_lossy(said).into_owned()).collect())
}

#[tokio::test]
async fn of_many_equal_requests_one_makes_the_task_and_all_get_it() -> anyhow::Result<()> {
    for bench in Bench::all().await? {
        bench.announce();
        let tasks: Vec<_> = (0..8).map(|_| task("same")).collect();
        let inserted = tasks.iter().map(|task| bench.store.insert_task(task));
        let inserted = futures::future::join_all(inserted).await;
        let mut made = Vec::new();
        let mut heard = Vec::new();
        for (task, inserted) in tasks.iter().zip(inserted) {
            match inserted? {
                TaskInserted::New => made.push(task.id),
                TaskInserted::Known(known, state) => {
                    assert_eq!(state, TaskState::Started);
                    heard.push(known);
                }
            }
        }
        assert_eq!((made.len(), heard.len()), (1, 7));
        assert!(heard.iter().all(|known| *known == made[0]));
        assert_eq!(bench.store.insert_task(&task("another")).await?, TaskInserted::New);
        assert_eq!(bench.store.open_tasks(&tenant(), None).await?.len(), 2);
    }
    Ok(())
}

#[tokio::test]
async fn status_lines_stay_and_findings_are_erased_at_the_end() -> anyhow::Result<()> {
    for bench in Bench::all().await? {
        bench.announce();
        let (store, tenant, here) = (&bench.store, tenant(), hub("hub-a"));
        let new = task("one");
        store.insert_task(&new).await?;
        let seat = seat(&tenant, &new, &here);
        assert!(store.append_task(&seat, &entry(1, "second", b"\xff\x00learned")).await?);
        let entries = store.task_entries(&tenant, new.id, 0).await?;
        assert_eq!(entries, [entry(0, "first", b""), entry(1, "second", b"\xff\x00learned")]);
        assert_eq!(
            store.task_body(&tenant, new.id).await?,
            Some(("k1".into(), Bytes::from_static(b"sealed")))
        );
        let row = store.task(&tenant, new.id).await?.expect("it is there");
        assert_eq!((row.state, row.attempt, &*row.owner), (TaskState::Started, 0, "uuid@hub-a"));

        assert!(store.end_task(&seat, TaskState::Completed, &entry(2, "last", b""), b"[1]").await?);
        assert!(!store.end_task(&seat, TaskState::Failed, &entry(3, "later", b""), b"[2]").await?);
        assert!(!store.append_task(&seat, &entry(3, "later", b"")).await?, "it has ended");
        let row = store.task(&tenant, new.id).await?.expect("it is there");
        assert_eq!((row.state, &*row.results), (TaskState::Completed, &b"[1]"[..]));
        assert_eq!(said(store, new.id).await?, ["first", "second", "last"]);
        assert_eq!(store.task_body(&tenant, new.id).await?, None);
        let entries = store.task_entries(&tenant, new.id, 0).await?;
        assert!(entries.iter().all(|entry| entry.learned.is_empty()));
        assert!(store.open_tasks(&tenant, None).await?.is_empty());
    }
    Ok(())
}

#[tokio::test]
async fn a_hub_that_was_taken_for_gone_writes_nothing_into_the_task_of_another() -> anyhow::Result<()> {
    for bench in Bench::all().await? {
        bench.announce();
        let (store, tenant) = (&bench.store, tenant());
        let (dead, alive, here) = (hub("hub-a"), hub("alive"), hub("here"));
        store.heartbeat(&alive, "http://alive").await?;
        let stranded = task("stranded");
        let theirs = NewTask { driver: alive.clone(), ..task("theirs") };
        for new in [&stranded, &theirs] {
            store.insert_task(new).await?;
        }
        store.append_task(&seat(&tenant, &stranded, &dead), &entry(1, "second", b"learned")).await?;
        assert_eq!(store.adopt_tasks(&tenant, &here, "uuid@here", MINUTE).await?, 1);
        let open = store.open_tasks(&tenant, Some(&here)).await?;
        let ids: Vec<_> = open.iter().map(|row| (row.id, row.owner.as_str())).collect();
        assert_eq!(ids, [(stranded.id, "uuid@here")]);

        let old = seat(&tenant, &stranded, &dead);
        assert!(!store.append_task(&old, &entry(2, "old", b"")).await?);
        assert!(!store.end_task(&old, TaskState::Failed, &entry(2, "old", b""), b"[]").await?);
        assert_eq!(&*store.task_entries(&tenant, stranded.id, 0).await?[1].learned, b"learned");
        assert_eq!(
            store.adopt_tasks(&tenant, &alive, "uuid@alive", MINUTE).await?,
            1,
            "`here` said nothing yet"
        );
        store.heartbeat(&here, "http://here").await?;
        assert_eq!(store.adopt_tasks(&tenant, &here, "uuid@here", MINUTE).await?, 0);
        assert_eq!(store.release_tasks(&tenant, &alive).await?, 2, "it stops, and leaves both to others");
        assert_eq!(store.adopt_tasks(&tenant, &here, "uuid@here", MINUTE).await?, 2);
        let new = seat(&tenant, &stranded, &here);
        assert!(store.end_task(&new, TaskState::Completed, &entry(2, "new", b""), b"[]").await?);
        assert_eq!(said(store, stranded.id).await?, ["first", "second", "new"]);
    }
    Ok(())
}

#[tokio::test]
async fn a_task_that_is_given_up_for_a_retry_runs_as_another_attempt() -> anyhow::Result<()> {
    for bench in Bench::all().await? {
        bench.announce();
        let (store, tenant, here) = (&bench.store, tenant(), hub("hub-a"));
        let new = task("one");
        store.insert_task(&new).await?;
        assert_eq!(store.retry_task(new.id, &new).await?, None, "it has not failed");
        assert!(store.give_up_task(&tenant, new.id, TaskState::FailedRetryable).await?);
        assert!(!store.give_up_task(&tenant, new.id, TaskState::Failed).await?, "it has ended");
        let again = task("one");
        assert_eq!(store.insert_task(&again).await?, TaskInserted::Known(new.id, TaskState::FailedRetryable));
        let again = NewTask { id: new.id, said: Bytes::from_static(b"again"), ..again };
        let retried = tokio::join!(store.retry_task(new.id, &again), store.retry_task(new.id, &again));
        let retried: Vec<_> = [retried.0?, retried.1?].into_iter().flatten().collect();
        assert_eq!(retried, [1], "of two that try, one does");

        assert!(!store.append_task(&seat(&tenant, &new, &here), &entry(1, "first run", b"")).await?);
        let second = TaskSeat { attempt: 1, ..seat(&tenant, &new, &here) };
        assert!(store.append_task(&second, &entry(1, "second run", b"")).await?);
        assert_eq!(said(store, new.id).await?, ["first", "again", "second run"]);
        assert_eq!(store.task_entries(&tenant, new.id, 1).await?.len(), 2);
    }
    Ok(())
}

#[tokio::test]
async fn tasks_that_ended_long_ago_are_purged_with_their_journals() -> anyhow::Result<()> {
    for bench in Bench::all().await? {
        bench.announce();
        let (store, tenant, here) = (&bench.store, tenant(), hub("hub-a"));
        let (old, open) = (task("old"), task("open"));
        for new in [&old, &open] {
            store.insert_task(new).await?;
        }
        let seat = seat(&tenant, &old, &here);
        store.end_task(&seat, TaskState::Completed, &entry(1, "last", b""), b"[]").await?;
        assert_eq!(store.purge_tasks(MINUTE).await?, 0);
        eventually!("it is old", store.purge_tasks(Duration::from_millis(1)).await.unwrap() == 1);
        assert_eq!(store.task(&tenant, old.id).await?, None);
        assert!(said(store, old.id).await?.is_empty());
        assert_eq!(said(store, open.id).await?, ["first"], "what has not ended is not touched");
        assert_eq!(store.insert_task(&task("old")).await?, TaskInserted::New, "nobody remembers");
    }
    Ok(())
}
