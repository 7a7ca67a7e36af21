//! A store on a fresh database, and builders for the rows that tests write.

use std::{collections::HashMap, sync::Arc, time::Duration};

use anyhow::{Context, bail};
use spindrift_hub::clouddriver::Derivation;
use spindrift_hub::store::{
    AccountWrite, AttachOutcome, AttachRequest, Change, DeclaredScopes, FeedPoint, NewSession, ObjectQuery,
    ObjectWrite, Prune, ScopeProgress, ScopeRow, Store, StoreConfig, StoredObject, TokenHash, UidSet,
    WriteOutcome,
};
use spindrift_model::{
    AccountName, AgentId, Attachment, Cursor, HubId, Incarnation, ObjectKey, Scope, ScrubRevision, Seq,
    SessionId, TenantId, Uid,
};
use spindrift_testkit::{Database, Engine};

pub(crate) const LEASE: Duration = Duration::from_secs(30);

pub(crate) struct Bench {
    pub(crate) database: Database,
    pub(crate) store: Store,
}

async fn open(database: &Database) -> anyhow::Result<Store> {
    Store::open(&StoreConfig { readers: 2, writers: 4, ..StoreConfig::at(database.url()) })
        .await
        .with_context(|| format!("open a store on {}", database.engine()))
}

impl Bench {
    /// One on each kind of database.
    pub(crate) async fn all() -> anyhow::Result<Vec<Self>> {
        let mut benches = Vec::new();
        for database in Database::all().await? {
            let store = open(&database).await?;
            benches.push(Self { database, store });
        }
        Ok(benches)
    }

    /// Another store on the same database, as a hub that has just started.
    pub(crate) async fn reopen(&self) -> anyhow::Result<Store> {
        open(&self.database).await
    }

    /// Prints the database, for the output of a failed test.
    pub(crate) fn announce(&self) -> Engine {
        eprintln!("on {}", self.database.engine());
        self.database.engine()
    }

    pub(crate) async fn attach(&self, account: &str) -> anyhow::Result<Attachment> {
        match self.attach_by(&offer(account, "agent")).await? {
            AttachOutcome::Attached { attachment, .. } => Ok(attachment),
            other => bail!("attach {account}: {other:?}"),
        }
    }

    /// Attaches in a session that exists for this.
    pub(crate) async fn attach_by(&self, request: &AttachRequest) -> anyhow::Result<AttachOutcome> {
        self.open_session_of(request).await?;
        let outcome = self.store.attach(request).await?;
        self.store.close_session(&request.session).await?;
        Ok(outcome)
    }

    /// Opens the session that a request names.
    pub(crate) async fn open_session_of(&self, request: &AttachRequest) -> anyhow::Result<()> {
        let AttachRequest { tenant, account, agent, session, .. } = request.clone();
        let accounts = vec![account];
        self.store
            .open_session(&NewSession { tenant, id: session, agent, accounts, ..session_of("any") })
            .await?;
        Ok(())
    }

    /// Attaches the account and writes into it, once.
    pub(crate) async fn write(
        &self,
        account: &str,
        fill: impl FnOnce(&mut AccountWrite),
    ) -> anyhow::Result<Cursor> {
        let cursor = self.attach(account).await?.cursor;
        self.write_at(account, cursor, fill).await
    }

    /// Writes at a cursor, and returns the next one.
    pub(crate) async fn write_at(
        &self,
        account: &str,
        cursor: Cursor,
        fill: impl FnOnce(&mut AccountWrite),
    ) -> anyhow::Result<Cursor> {
        let mut write = write(account, cursor);
        fill(&mut write);
        match self.store.commit(&[write]).await?.as_slice() {
            [WriteOutcome::Committed { seq, .. }] => Ok(Cursor { seq: *seq, ..cursor }),
            other => bail!("write {account}: {other:?}"),
        }
    }

    pub(crate) async fn objects(&self, accounts: &str) -> anyhow::Result<Vec<StoredObject>> {
        let query =
            ObjectQuery { accounts: Some(vec![account(accounts)]), limit: 1000, ..ObjectQuery::default() };
        Ok(self.store.objects(&query).await?)
    }

    pub(crate) async fn names(&self, account: &str) -> anyhow::Result<Vec<String>> {
        Ok(self.objects(account).await?.iter().map(|object| object.key.name.to_string()).collect())
    }

    /// The feed from a batch on, as `+name` and `-name`.
    pub(crate) async fn feed(&self, account_name: &str, after: u64) -> anyhow::Result<Vec<String>> {
        let point = FeedPoint { seq: Seq(after), key: None };
        let changes = self.store.changes(&tenant(), &account(account_name), &point, 1000).await?;
        Ok(changes.iter().map(sign).collect())
    }
}

pub(crate) fn sign(change: &Change) -> String {
    match change {
        Change::Upserted(object) => format!("+{}", object.key.name),
        Change::Deleted { key, .. } => format!("-{}", key.name),
    }
}

pub(crate) fn tenant() -> TenantId {
    TenantId::default()
}

pub(crate) fn account(name: &str) -> AccountName {
    AccountName::parse(name).expect("a test's account name is valid")
}

pub(crate) fn agent(name: &str) -> AgentId {
    AgentId::parse(name).expect("a test's agent id is valid")
}

pub(crate) fn hub(name: &str) -> HubId {
    HubId::parse(name).expect("a test's hub id is valid")
}

pub(crate) fn offer(account_name: &str, agent_name: &str) -> AttachRequest {
    AttachRequest {
        tenant: tenant(),
        account: account(account_name),
        agent: agent(agent_name),
        session: SessionId::fresh(),
        hub: hub("hub"),
        lease: LEASE,
    }
}

/// A session that may attach `prod`.
pub(crate) fn session_of(agent_name: &str) -> NewSession {
    let id = SessionId::fresh();
    let token_hashes = ["control", "events", "results"].map(|channel| TokenHash::of(&token(&id, channel)));
    NewSession {
        tenant: tenant(),
        id,
        agent: agent(agent_name),
        incarnation: Incarnation::fresh(),
        hub: hub("hub"),
        version: "0.1.0".into(),
        zone: "eu-1a".into(),
        verbs: vec![],
        token_hashes,
        token_ttl: Duration::from_mins(1),
        accounts: vec![account("prod")],
    }
}

/// The token of a channel of such a session.
pub(crate) fn token(id: &SessionId, channel: &str) -> Vec<u8> {
    format!("{id}/{channel}").into_bytes()
}

pub(crate) fn write(account_name: &str, cursor: Cursor) -> AccountWrite {
    AccountWrite::new(tenant(), account(account_name), cursor, LEASE, Arc::new(Derivation::default()))
}

pub(crate) fn key(group: &str, kind: &str, namespace: &str, name: &str) -> ObjectKey {
    ObjectKey { group: group.into(), kind: kind.into(), namespace: namespace.into(), name: name.into() }
}

pub(crate) fn pod_key(name: &str) -> ObjectKey {
    key("", "Pod", "default", name)
}

/// A pod whose uid is made of its name.
pub(crate) fn pod(name: &str, version: &str) -> ObjectWrite {
    object(pod_key(name), version)
}

pub(crate) fn object(key: ObjectKey, version: &str) -> ObjectWrite {
    ObjectWrite {
        scope_namespace: None,
        uid: uid(&key.name),
        resource_version: version.into(),
        api_version: "v1".into(),
        scrub_revision: ScrubRevision(1),
        labels: r#"{"app":"x"}"#.into(),
        body: format!(r#"{{"kind":"{}","version":"{version}"}}"#, key.kind).into(),
        key,
    }
}

pub(crate) fn uid(name: &str) -> Uid {
    format!("uid-of-{name}").into()
}

pub(crate) fn pods() -> Scope {
    scope("", "Pod")
}

pub(crate) fn scope(group: &str, kind: &str) -> Scope {
    Scope { group: group.into(), kind: kind.into(), namespace: None }
}

pub(crate) fn declare(scopes: &[(&str, &str, &str)]) -> DeclaredScopes {
    let scopes = scopes.iter().map(|(group, kind, version)| ScopeRow {
        scope: scope(group, kind),
        plural: format!("{}s", kind.to_lowercase()).into(),
        namespaced: true,
        api_version: (*version).into(),
        scrub_revision: ScrubRevision(1),
    });
    DeclaredScopes { scopes: scopes.collect(), keep_groups: vec![], denied: HashMap::new() }
}

pub(crate) fn reached(scope: Scope, version: &str) -> ScopeProgress {
    ScopeProgress { scope, resource_version: Some(version.into()) }
}

pub(crate) fn prune(scope: Scope, keep: &[&str]) -> Prune {
    let keep: Vec<Uid> = keep.iter().map(|name| uid(name)).collect();
    Prune { scope, keep: Arc::new(keep.iter().collect::<UidSet>()), expected: Arc::default() }
}
