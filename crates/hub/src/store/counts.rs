//! Counts and names of objects, without their bodies.
//!
//! A count reads keys from an index and never touches bodies, of which a large store has gigabytes. No index of keys
//! distinguishes tombstones from existing objects, so all are counted, and the tombstones (few, with an index of their
//! own) are subtracted.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use spindrift_model::{AccountName, ResourceVersion, TenantId};
use sqlx::AnyConnection;
use sqlx::any::AnyRow;

use super::{Store, StoreError, StoredScope, row::Columns, statement::Statement};

/// A scope of an account, and how many objects it holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CountedScope {
    pub account: AccountName,
    pub scope: StoredScope,
    pub objects: u64,
}

/// A version of a CustomResourceDefinition; many accounts have the same.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Definition {
    pub account: AccountName,
    pub name: String,
    pub resource_version: ResourceVersion,
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct ScopeKey {
    account: AccountName,
    group: String,
    kind: String,
    /// Empty for all.
    namespace: String,
}

const DEFINITIONS: (&str, &str) = ("apiextensions.k8s.io", "CustomResourceDefinition");
const NAMESPACES: (&str, &str) = ("", "Namespace");

/// By way of the accounts, since the key of an object begins with its account; SQLite keeps to the order of a cross join.
const OF_ALL_ACCOUNTS: &str = "FROM spindrift_cursor c CROSS JOIN spindrift_object o WHERE c.tenant = ? \
    AND o.tenant = c.tenant AND o.account = c.account AND o.api_group = ? AND o.kind = ? AND o.deleted_at = 0";

// === impl Store ===

impl Store {
    /// Returns the number of objects of each account.
    pub async fn object_counts(&self, tenant: &TenantId) -> Result<Vec<(AccountName, u64)>, StoreError> {
        let mut connection = self.reader("connect to count objects").await?;
        let text = "SELECT account, COUNT(*) AS objects FROM spindrift_object WHERE tenant = ? GROUP BY account \
                    ORDER BY account";
        let rows =
            self.statement(text).bind(tenant.as_str()).fetch_all("count objects", &mut connection).await?;
        let mut dead: HashMap<AccountName, u64> = HashMap::new();
        for (scope, tombstones) in self.tombstones(tenant, &mut connection).await? {
            *dead.entry(scope.account).or_default() += tombstones;
        }
        let counts = rows.iter().map(|row| {
            let account: AccountName = row.name("account")?;
            let tombstones = dead.get(&account).copied().unwrap_or_default();
            let living = row.count("objects")?.saturating_sub(tombstones);
            Ok((account, living))
        });
        counts.filter(|count| !matches!(count, Ok((_, 0)))).collect()
    }

    /// The scopes of these accounts, or of all, and how many objects each holds.
    pub async fn counted_scopes(
        &self,
        tenant: &TenantId,
        accounts: Option<&[AccountName]>,
    ) -> Result<Vec<CountedScope>, StoreError> {
        if accounts.is_some_and(<[_]>::is_empty) {
            return Ok(Vec::new());
        }
        let mut connection = self.reader("connect to count scopes").await?;
        let text = "SELECT s.account, s.api_group, s.kind, s.scope_namespace, s.plural, s.namespaced, s.api_version, \
                    s.scrub_revision, s.resource_version, {now} - s.reached_at AS age, s.denied, \
                    (SELECT COUNT(*) FROM spindrift_object o WHERE o.tenant = s.tenant AND o.account = s.account \
                    AND o.api_group = s.api_group AND o.kind = s.kind \
                    AND (s.scope_namespace = '' OR o.namespace = s.scope_namespace)) AS objects \
                    FROM spindrift_scope s WHERE s.tenant = ?";
        let statement = self.statement(text).bind(tenant.as_str());
        let rows = of_accounts(statement, "s.account", accounts)
            .push(" ORDER BY s.account, s.api_group, s.kind, s.scope_namespace")
            .fetch_all("count scopes", &mut connection)
            .await?;
        let dead = self.tombstones(tenant, &mut connection).await?;
        rows.iter()
            .map(|row| {
                let key = ScopeKey::read(row)?;
                let tombstones = dead.get(&key).copied().unwrap_or_default();
                let objects = row.count("objects")?.saturating_sub(tombstones);
                Ok(CountedScope { account: key.account, scope: StoredScope::read(row)?, objects })
            })
            .collect()
    }

    /// The namespaces of these accounts, or of all: those that are cached, and those that are watched by name.
    pub async fn namespaces(
        &self,
        tenant: &TenantId,
        accounts: Option<&[AccountName]>,
    ) -> Result<BTreeSet<String>, StoreError> {
        if accounts.is_some_and(<[_]>::is_empty) {
            return Ok(BTreeSet::new());
        }
        let mut connection = self.reader("connect to read namespaces").await?;
        let (group, kind) = NAMESPACES;
        let cached = self.statement(format!("SELECT DISTINCT o.name AS name {OF_ALL_ACCOUNTS}"));
        let cached = of_accounts(cached.bind(tenant.as_str()).bind(group).bind(kind), "c.account", accounts);
        let named = "SELECT DISTINCT scope_namespace AS name FROM spindrift_scope WHERE tenant = ? AND scope_namespace <> ''";
        let named = of_accounts(self.statement(named).bind(tenant.as_str()), "account", accounts);
        let mut namespaces = BTreeSet::new();
        for statement in [cached, named] {
            for row in statement.fetch_all("read namespaces", &mut connection).await? {
                namespaces.insert(row.text("name")?.to_owned());
            }
        }
        Ok(namespaces)
    }

    /// The namespaces that are cached, of each account, by name.
    pub async fn namespaces_by_account(
        &self,
        tenant: &TenantId,
    ) -> Result<BTreeMap<AccountName, Vec<String>>, StoreError> {
        let mut connection = self.reader("connect to read the namespaces of accounts").await?;
        let (group, kind) = NAMESPACES;
        let text = format!(
            "SELECT o.account AS account, o.name AS name {OF_ALL_ACCOUNTS} ORDER BY o.account, o.name"
        );
        let statement = self.statement(text).bind(tenant.as_str()).bind(group).bind(kind);
        let mut namespaces: BTreeMap<AccountName, Vec<String>> = BTreeMap::new();
        for row in statement.fetch_all("read the namespaces of accounts", &mut connection).await? {
            namespaces.entry(row.name("account")?).or_default().push(row.text("name")?.to_owned());
        }
        Ok(namespaces)
    }

    /// The CustomResourceDefinitions of all accounts, without their bodies.
    pub async fn definitions(&self, tenant: &TenantId) -> Result<Vec<Definition>, StoreError> {
        let mut connection = self.reader("connect to read definitions").await?;
        let (group, kind) = DEFINITIONS;
        let text = format!(
            "SELECT o.account AS account, o.name AS name, o.resource_version AS resource_version {OF_ALL_ACCOUNTS} \
             ORDER BY o.name, o.account"
        );
        let statement = self.statement(text).bind(tenant.as_str()).bind(group).bind(kind);
        let rows = statement.fetch_all("read definitions", &mut connection).await?;
        rows.iter()
            .map(|row| {
                Ok(Definition {
                    account: row.name("account")?,
                    name: row.text("name")?.to_owned(),
                    resource_version: row.text("resource_version")?.into(),
                })
            })
            .collect()
    }

    /// Of all tenants, since a tenant in the condition would lead SQLite to the index of all objects.
    async fn tombstones(
        &self,
        tenant: &TenantId,
        connection: &mut AnyConnection,
    ) -> Result<HashMap<ScopeKey, u64>, StoreError> {
        let text = "SELECT tenant, account, api_group, kind, scope_namespace, COUNT(*) AS tombstones \
                    FROM spindrift_object WHERE deleted_at > 0 \
                    GROUP BY tenant, account, api_group, kind, scope_namespace";
        let rows = self.statement(text).fetch_all("count tombstones", connection).await?;
        let mut tombstones = HashMap::new();
        for row in &rows {
            if row.text("tenant")? == tenant.as_str() {
                tombstones.insert(ScopeKey::read(row)?, row.count("tombstones")?);
            }
        }
        Ok(tombstones)
    }
}

// === impl ScopeKey ===

impl ScopeKey {
    fn read(row: &AnyRow) -> Result<Self, StoreError> {
        Ok(Self {
            account: row.name("account")?,
            group: row.text("api_group")?.to_owned(),
            kind: row.text("kind")?.to_owned(),
            namespace: row.text("scope_namespace")?.to_owned(),
        })
    }
}

/// ` AND` only these accounts.
fn of_accounts(mut statement: Statement, column: &str, accounts: Option<&[AccountName]>) -> Statement {
    let Some(accounts) = accounts else { return statement };
    statement = statement.push(&format!(" AND {column} IN ({})", vec!["?"; accounts.len()].join(", ")));
    for account in accounts {
        statement = statement.bind(account.as_str());
    }
    if accounts.len() > 1 { statement.unprepared() } else { statement }
}
