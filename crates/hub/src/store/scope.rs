//! Scopes of an account, and the resource versions they have reached.

use std::{collections::HashSet, sync::Arc, time::Duration};

use spindrift_model::{
    AccountName, ApiVersion, Resource, ResourceVersion, ResumePoint, Scope, ScrubRevision, TenantId,
};
use sqlx::AnyConnection;
use sqlx::any::AnyRow;

use super::{Store, StoreError, row::Columns};

/// A scope and the way its objects are read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScopeRow {
    pub scope: Scope,
    /// The name in URLs, such as `deployments`.
    pub plural: Arc<str>,
    pub namespaced: bool,
    /// The served version that its objects were read in.
    pub api_version: ApiVersion,
    pub scrub_revision: ScrubRevision,
}

/// A scope as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredScope {
    pub row: ScopeRow,
    /// The version that the store has reached; none before the first listing has ended, and during each.
    pub resource_version: Option<ResourceVersion>,
    /// Time since then.
    pub age: Duration,
    /// Reason for which its agent may not read it, if so; its objects are stale then.
    pub denied: Option<String>,
}

/// A kind that is watched in some accounts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KindRow {
    /// One of its served versions, if accounts differ.
    pub resource: Resource,
    /// Number of accounts that have it.
    pub accounts: u64,
}

/// Numbers of scopes of an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ScopeCounts {
    pub scopes: u64,
    /// Those that are being listed, or wait for it.
    pub unlisted: u64,
    /// Those that the agent is not allowed to read.
    pub denied: u64,
}

const SCOPES: &str = "SELECT api_group, kind, scope_namespace, plural, namespaced, api_version, scrub_revision, \
    resource_version, {now} - reached_at AS age, denied FROM spindrift_scope WHERE tenant = ? AND account = ?";

// === impl Store ===

impl Store {
    /// The scopes of an account.
    pub async fn scopes(
        &self,
        tenant: &TenantId,
        account: &AccountName,
    ) -> Result<Vec<StoredScope>, StoreError> {
        let mut connection = self.reader("connect to read scopes").await?;
        stored(self, tenant, account, &mut connection).await
    }

    /// Returns the number of scopes of each account, and how many of them are not listed yet.
    pub async fn scope_counts(
        &self,
        tenant: &TenantId,
    ) -> Result<Vec<(AccountName, ScopeCounts)>, StoreError> {
        let mut connection = self.reader("connect to count scopes").await?;
        let text = "SELECT account, COUNT(*) AS scopes, \
                    COUNT(CASE WHEN resource_version = '' AND denied = '' THEN 1 END) AS unlisted, \
                    COUNT(CASE WHEN denied <> '' THEN 1 END) AS denied FROM spindrift_scope WHERE tenant = ? GROUP BY account ORDER BY account";
        let rows =
            self.statement(text).bind(tenant.as_str()).fetch_all("count scopes", &mut connection).await?;
        rows.iter()
            .map(|row| {
                let counts = ScopeCounts {
                    scopes: row.count("scopes")?,
                    unlisted: row.count("unlisted")?,
                    denied: row.count("denied")?,
                };
                Ok((row.name("account")?, counts))
            })
            .collect()
    }

    /// Returns the accounts that watch any of these kinds (API group and kind).
    pub async fn accounts_that_cache(
        &self,
        tenant: &TenantId,
        kinds: &[(String, String)],
    ) -> Result<HashSet<AccountName>, StoreError> {
        if kinds.is_empty() {
            return Ok(HashSet::new());
        }
        let mut connection = self.reader("connect to read who caches a kind").await?;
        let any = vec!["(api_group = ? AND kind = ?)"; kinds.len()].join(" OR ");
        let text = format!("SELECT DISTINCT account FROM spindrift_scope WHERE tenant = ? AND ({any})");
        let mut statement = self.statement(text).bind(tenant.as_str());
        for (group, kind) in kinds {
            statement = statement.bind(group.as_str()).bind(kind.as_str());
        }
        let rows = statement.unprepared().fetch_all("read who caches a kind", &mut connection).await?;
        rows.iter().map(|row| row.name("account")).collect()
    }

    /// The kinds that are watched in any account; those that are served in several versions are there once.
    pub async fn kinds(&self, tenant: &TenantId) -> Result<Vec<KindRow>, StoreError> {
        let mut connection = self.reader("connect to read kinds").await?;
        let text = "SELECT api_group, kind, MAX(api_version) AS api_version, MAX(plural) AS plural, \
                    MAX(namespaced) AS namespaced, COUNT(DISTINCT account) AS accounts FROM spindrift_scope WHERE tenant = ? GROUP BY api_group, kind \
                    ORDER BY api_group, kind";
        let rows =
            self.statement(text).bind(tenant.as_str()).fetch_all("read kinds", &mut connection).await?;
        rows.iter()
            .map(|row| {
                let resource = Resource {
                    group: row.text("api_group")?.into(),
                    version: row.text("api_version")?.into(),
                    kind: row.text("kind")?.into(),
                    plural: row.text("plural")?.into(),
                    namespaced: row.number("namespaced")? != 0,
                };
                Ok(KindRow { resource, accounts: row.count("accounts")? })
            })
            .collect()
    }
}

pub(super) async fn stored(
    store: &Store,
    tenant: &TenantId,
    account: &AccountName,
    connection: &mut AnyConnection,
) -> Result<Vec<StoredScope>, StoreError> {
    let statement = store.statement(SCOPES).push(" ORDER BY api_group, kind, scope_namespace");
    let statement = statement.bind(tenant.as_str()).bind(account.as_str());
    let rows = statement.fetch_all("read scopes", connection).await?;
    rows.iter().map(StoredScope::read).collect()
}

// === impl StoredScope ===

impl StoredScope {
    pub(super) fn read(row: &AnyRow) -> Result<Self, StoreError> {
        Ok(Self {
            row: ScopeRow {
                scope: Scope {
                    group: row.text("api_group")?.into(),
                    kind: row.text("kind")?.into(),
                    namespace: Some(row.text("scope_namespace")?)
                        .filter(|text| !text.is_empty())
                        .map(Into::into),
                },
                plural: row.text("plural")?.into(),
                namespaced: row.number("namespaced")? != 0,
                api_version: row.text("api_version")?.into(),
                scrub_revision: row.scrub_revision()?,
            },
            resource_version: row.optional_text("resource_version")?.map(Into::into),
            age: row.duration("age")?,
            denied: row.optional_text("denied")?,
        })
    }

    pub(super) fn resume_point(self) -> Option<ResumePoint> {
        let Self { row: ScopeRow { scope, api_version, scrub_revision, .. }, resource_version, age, .. } =
            self;
        Some(ResumePoint { scope, api_version, scrub_revision, resource_version: resource_version?, age })
    }
}
