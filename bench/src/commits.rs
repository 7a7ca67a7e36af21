//! Cost of rows for writers: objects a second into each store, with a row for each and without.
//!
//! The same bodies under the same keys; once as pods, and once as events, which have no rows.

use std::{sync::Arc, time::Duration};

use anyhow::{Context, bail};
use spindrift_hub::clouddriver::Derivation;
use spindrift_hub::store::{
    AccountWrite, AttachOutcome, AttachRequest, NewSession, ObjectWrite, Store, StoreConfig, TokenHash,
    WriteOutcome,
};
use spindrift_model::{
    AccountName, AgentId, Cursor, HubId, Incarnation, ObjectKey, ScrubRevision, SessionId, TenantId,
};
use spindrift_testkit::Database;
use tokio::time::Instant;

use crate::{
    figure::{Figure, median},
    pods,
};

/// Number of objects.
pub(crate) struct CommitsSize {
    objects: usize,
    rounds: usize,
}

pub(crate) const FULL: CommitsSize = CommitsSize { objects: 5_000, rounds: 5 };
pub(crate) const QUICK: CommitsSize = CommitsSize { objects: 500, rounds: 1 };

/// Objects of one batch: 128 KiB and more of bodies, as agents send them in a flood.
const BATCH: usize = 16;
/// Batches of so many accounts in one transaction: 4 MB.
const ACCOUNTS: usize = 20;

const LEASE: Duration = Duration::from_mins(10);

pub(crate) async fn measure(size: &CommitsSize) -> anyhow::Result<Vec<Figure>> {
    let mut figures = Vec::new();
    for database in Database::all().await? {
        let store = Store::open(&StoreConfig::at(database.url())).await?;
        let mut writers = Vec::new();
        for number in 0..ACCOUNTS {
            writers.push(Account::attach(&store, number).await?);
        }
        let (mut with, mut without) = (Vec::new(), Vec::new());
        for round in 0..size.rounds {
            // By turns, and of each the first time, in which all is new, and the times after it, in which all changes.
            without.push(write(&store, &mut writers, "Event", round, size.objects).await?);
            with.push(write(&store, &mut writers, "Pod", round, size.objects).await?);
        }
        for (name, skip, take) in [("new", 0, 1), ("changed", 1, size.rounds)] {
            let of = |rates: &[u32]| median(&rates.iter().copied().skip(skip).take(take).collect::<Vec<_>>());
            let (value, peer) = (f64::from(of(&with)), f64::from(of(&without)));
            let name = format!("commits-{name}-{}", database.engine().to_string().to_lowercase());
            figures.push(Figure { name, value, unit: "objects/s", peer, ratio: value / peer, goal: "0.6" });
        }
        store.close().await;
    }
    Ok(figures)
}

struct Account {
    name: AccountName,
    cursor: Cursor,
}

/// Writes so many objects, and returns the rate per second.
async fn write(
    store: &Store,
    accounts: &mut [Account],
    kind: &str,
    round: usize,
    objects: usize,
) -> anyhow::Result<u32> {
    let mut numbers = (0..objects).collect::<Vec<_>>();
    let mut groups = Vec::new();
    while !numbers.is_empty() {
        let group: Vec<Vec<ObjectWrite>> = accounts
            .iter()
            .map(|_| {
                numbers.drain(..BATCH.min(numbers.len())).map(|number| object(kind, number, round)).collect()
            })
            .collect();
        groups.push(group);
    }
    let rules = Arc::new(Derivation::default());
    let begun = Instant::now();
    for group in groups {
        let writes: Vec<_> = std::iter::zip(accounts.iter(), group)
            .map(|(account, upserts)| AccountWrite {
                upserts,
                ..AccountWrite::new(
                    TenantId::default(),
                    account.name.clone(),
                    account.cursor,
                    LEASE,
                    rules.clone(),
                )
            })
            .collect();
        for (account, outcome) in std::iter::zip(accounts.iter_mut(), store.commit(&writes).await?) {
            let WriteOutcome::Committed { seq, .. } = outcome else { bail!("not committed: {outcome:?}") };
            account.cursor.seq = seq;
        }
    }
    let rate = f64::from(u32::try_from(objects)?) / begun.elapsed().as_secs_f64();
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a rate of some thousand")]
    Ok(rate as u32)
}

fn object(kind: &str, number: usize, round: usize) -> ObjectWrite {
    let (mut pod, status) = pods::sample(number, "shop");
    pod["status"] = status;
    pod["metadata"]["resourceVersion"] = round.to_string().into();
    // A change of a pod is mostly one of its status, of which a row shows the health.
    pod["status"]["containerStatuses"][0]["ready"] = round.is_multiple_of(2).into();
    let name = pod.pointer("/metadata/name").and_then(serde_json::Value::as_str).unwrap_or_default();
    ObjectWrite {
        key: ObjectKey { group: "".into(), kind: kind.into(), namespace: "shop".into(), name: name.into() },
        scope_namespace: None,
        uid: format!("{kind}-{number}").into(),
        resource_version: round.to_string().into(),
        api_version: "v1".into(),
        scrub_revision: ScrubRevision(1),
        labels: pod.pointer("/metadata/labels").map(ToString::to_string).unwrap_or_default(),
        body: pod.to_string().into(),
    }
}

// === impl Account ===

impl Account {
    async fn attach(store: &Store, number: usize) -> anyhow::Result<Self> {
        let name = AccountName::parse(&format!("account-{number:02}"))?;
        let request = AttachRequest {
            tenant: TenantId::default(),
            account: name.clone(),
            agent: AgentId::parse("agent")?,
            session: SessionId::fresh(),
            hub: HubId::parse("hub")?,
            lease: LEASE,
        };
        let session = NewSession {
            tenant: request.tenant.clone(),
            id: request.session.clone(),
            agent: request.agent.clone(),
            incarnation: Incarnation::fresh(),
            hub: request.hub.clone(),
            version: "0".into(),
            zone: String::new(),
            verbs: vec![],
            token_hashes: ["control", "events", "results"].map(|token| TokenHash::of(token.as_bytes())),
            token_ttl: LEASE,
            accounts: vec![name.clone()],
        };
        store.open_session(&session).await.context("open a session")?;
        match store.attach(&request).await.context("attach")? {
            AttachOutcome::Attached { attachment, .. } => Ok(Self { name, cursor: attachment.cursor }),
            other => bail!("attach: {other:?}"),
        }
    }
}
