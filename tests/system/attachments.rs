//! Attachments of an agent, and how they end: leases, credit, withdrawals.

use serde_json::Value;
use spindrift_protocol::EventsDown;
use spindrift_testkit::{Database, HubProcess, eventually};

use crate::{
    scripted_agent::{ScriptedAgent, beginning, config_map, name},
    support::LONG,
};

/// Unacknowledged bytes that an account may have on a hub with few accounts.
const CREDIT: u32 = 512 * 1024;

/// So many that the hub's memory has to be divided.
const MANY: usize = 1024;

async fn cached_by(hub: &HubProcess, account: &str) -> Value {
    let accounts = hub.get("/v1/accounts").await.unwrap();
    let found = accounts.as_array().unwrap().iter().find(|line| line["name"] == account);
    found.unwrap()["cachedBy"].clone()
}

async fn names(hub: &HubProcess) -> Vec<String> {
    let objects = hub.objects(&[("account", "main")]).await.unwrap();
    objects.into_iter().map(|object| object.name).collect()
}

async fn hub() -> (Database, HubProcess) {
    let database = Database::sqlite().unwrap();
    let hub = HubProcess::start("hub-a", &database, &[]).await.unwrap();
    (database, hub)
}

#[tokio::test]
async fn an_account_that_is_detached_is_free_at_once_and_what_follows_is_not_written() {
    let (_database, hub) = hub().await;
    let mut holder = ScriptedAgent::open(&hub, "agent-a", &["main"], &[]).await;
    let mut standby = ScriptedAgent::open(&hub, "agent-b", &["main"], &[]).await;
    let (held, _) = holder.attach("main").await.unwrap();
    holder.batch("main", beginning()).await;
    assert!(matches!(holder.hear().await, EventsDown::Ack { .. }));
    assert_eq!(standby.attach("main").await.unwrap_err(), "agent agent-a caches this account");

    // The lease would be renewed for as long as the session lives, which it does.
    holder.detach("main").await;
    holder.batch("main", vec![config_map("late", 10)]).await;
    eventually!("nobody caches it", LONG, cached_by(&hub, "main").await.is_null());
    let (taken, _) = standby.attach("main").await.unwrap();
    assert!(taken.cursor.epoch > held.cursor.epoch);
    standby.batch("main", [beginning(), vec![config_map("prompt", 10)]].concat()).await;
    assert!(matches!(standby.hear().await, EventsDown::Ack { .. }));
    assert_eq!(names(&hub).await, ["prompt"]);
    let metrics = hub.text("/metrics").await.unwrap();
    assert!(metrics.contains("spindrift_hub_batches_stale_total 1\n"), "{metrics}");
    assert_eq!(holder.attach("main").await.unwrap_err(), "agent agent-b caches this account");
}

#[tokio::test]
async fn an_account_that_is_withdrawn_is_free_at_once_and_must_be_announced_again() {
    let (_database, hub) = hub().await;
    let mut agent = ScriptedAgent::open(&hub, "agent-a", &["main", "other"], &[]).await;
    let mut heir = ScriptedAgent::open(&hub, "agent-b", &["main"], &[]).await;
    let (held, _) = agent.attach("main").await.unwrap();
    agent.attach("other").await.unwrap();
    agent.withdraw("main").await;
    eventually!("nobody caches it", LONG, cached_by(&hub, "main").await.is_null());
    let (taken, _) = heir.attach("main").await.unwrap();
    assert!(taken.cursor.epoch > held.cursor.epoch);
    heir.detach("main").await;
    eventually!("nobody caches it", LONG, cached_by(&hub, "main").await.is_null());
    let refused = agent.attach("main").await.unwrap_err();
    assert_eq!(refused, "the agent was not accepted for this account; announce it first");
    assert_eq!(agent.announce("main").await, None);
    let (back, _) = agent.attach("main").await.unwrap();
    assert!(back.cursor.epoch > taken.cursor.epoch);
    assert_eq!(cached_by(&hub, "other").await, "agent-a", "other accounts of the session feel nothing");
}

#[tokio::test]
async fn an_agent_above_its_credit_is_detached_and_no_other() {
    let database = Database::postgres_dedicated().await.unwrap();
    let hub = HubProcess::start("hub-a", &database, &[]).await.unwrap();
    let mut agent = ScriptedAgent::open(&hub, "agent-a", &["main", "other"], &[]).await;
    let (greedy, credit) = agent.attach("main").await.unwrap();
    agent.attach("other").await.unwrap();
    assert_eq!(credit, CREDIT);

    // Nothing is acknowledged while the database is frozen.
    database.freeze().unwrap();
    agent.batch("main", [beginning(), vec![config_map("first", 400_000)]].concat()).await;
    agent.batch("main", vec![config_map("second", 400_000)]).await;
    agent.batch("main", vec![config_map("third", 10)]).await;
    let told = agent.hear().await;
    let EventsDown::Detached { account, epoch, reason } = told else { panic!("{told:?}") };
    assert_eq!((account, epoch), (name("main"), greedy.cursor.epoch));
    assert!(reason.ends_with("bytes are unacknowledged, of 524288 that are allowed"), "{reason}");
    database.thaw().unwrap();

    // A batch sent in good faith may be written or not; the account can be attached again, the other one never left.
    agent.batch("other", beginning()).await;
    loop {
        match agent.hear().await {
            EventsDown::Ack { account, .. } if account == name("other") => break,
            EventsDown::Ack { .. } => {}
            other => panic!("{other:?}"),
        }
    }
    let written = names(&hub).await;
    assert!(!written.iter().any(|name| name == "second" || name == "third"), "{written:?}");
    agent.attach("main").await.unwrap();
}

#[tokio::test]
async fn an_acknowledgement_carries_credit_that_changed_with_the_number_of_accounts() {
    let (_database, hub) = hub().await;
    let crowd: Vec<_> = (0..MANY).map(|number| format!("crowd-{number}")).collect();
    let accounts: Vec<_> = crowd.iter().map(String::as_str).chain(["main"]).collect();
    let mut agent = ScriptedAgent::open(&hub, "agent-a", &accounts, &[]).await;
    assert_eq!(agent.attach("main").await.unwrap().1, CREDIT);
    let mut last = CREDIT;
    for account in &crowd {
        last = agent.attach(account).await.unwrap().1;
    }
    assert!(last < CREDIT, "{last}");
    agent.batch("main", beginning()).await;
    assert_eq!(credit_of(&agent.hear().await), Some(last), "main has a smaller share now");
    agent.batch("main", vec![config_map("one", 10)]).await;
    assert_eq!(credit_of(&agent.hear().await), None, "what has not changed is not told");
    for account in &crowd {
        agent.detach(account).await;
    }
    agent.batch("main", vec![config_map("two", 10)]).await;
    assert_eq!(credit_of(&agent.hear().await), Some(CREDIT));
}

fn credit_of(told: &EventsDown) -> Option<u32> {
    let EventsDown::Ack { credit_bytes, .. } = told else { panic!("{told:?}") };
    *credit_bytes
}
