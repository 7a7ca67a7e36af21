//! Reading objects.

use bytes::Bytes;
use futures::TryStreamExt;
use jiff::Timestamp;
use spindrift_model::{
    AccountName, ApiVersion, ObjectKey, ResourceVersion, ScrubRevision, Seq, TenantId, Uid,
};
use spindrift_process::report;
use sqlx::any::AnyRow;

use super::statement::{Statement, Value};
use super::{Store, StoreError, row::Columns};

/// Selection of objects; a field that is none does not restrict it.
#[derive(Debug, Clone, Default)]
pub struct ObjectQuery {
    pub tenant: TenantId,
    pub accounts: Option<Vec<AccountName>>,
    /// API groups (empty for the core group) and kinds.
    pub kinds: Option<Vec<(String, String)>>,
    pub namespace: Option<String>,
    pub name: Option<String>,
    /// Where the page before this one ended.
    pub after: Option<(AccountName, ObjectKey)>,
    pub limit: u32,
}

/// An object as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredObject {
    pub account: AccountName,
    pub key: ObjectKey,
    pub uid: Uid,
    pub resource_version: ResourceVersion,
    /// The served version that it was read in.
    pub api_version: ApiVersion,
    pub scrub_revision: ScrubRevision,
    /// `metadata.labels` as a JSON object.
    pub labels: String,
    pub body: Bytes,
    /// The batch that it was changed by.
    pub seq: Seq,
    pub updated_at: Timestamp,
}

/// Objects at the beginning of a page.
#[derive(Debug, Clone, Default)]
pub struct ObjectChunk {
    pub objects: Vec<StoredObject>,
    /// Objects of the same part of the page whose rows cannot be read.
    pub unreadable: Vec<UnreadableObject>,
    /// Position of the last object.
    pub last: Option<(AccountName, ObjectKey)>,
    /// Set if there may be objects after it.
    pub more: bool,
}

/// A stored object that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreadableObject {
    pub account: AccountName,
    pub key: ObjectKey,
    pub reason: String,
}

pub(super) const COLUMNS: &str = "account, api_group, kind, namespace, name, uid, resource_version, api_version, \
    scrub_revision, seq, deleted_at, updated_at, labels, body";

// === impl Store ===

impl Store {
    /// One page of objects, in the order of (account, group, kind, namespace, name).
    pub async fn objects(&self, query: &ObjectQuery) -> Result<Vec<StoredObject>, StoreError> {
        if !query.is_possible() {
            return Ok(Vec::new());
        }
        let mut connection = self.reader("connect to read objects").await?;
        let select = self.select_objects(query, &format!("SELECT {COLUMNS}"), u64::from(query.limit));
        let rows = select.fetch_all("read objects", &mut connection).await?;
        rows.iter().map(StoredObject::read).collect()
    }

    /// Reads the first objects of a page, in the same order, as long as their bodies fit into this many bytes; at least one.
    pub async fn objects_within(&self, query: &ObjectQuery, bytes: usize) -> Result<ObjectChunk, StoreError> {
        let mut chunk = ObjectChunk::default();
        if !query.is_possible() {
            return Ok(chunk);
        }
        let mut connection = self.reader("connect to read objects").await?;
        let limit = u64::from(query.limit);
        let select = |text: &str| self.select_objects(query, text, limit);
        let fitting = self.fitting(bytes, &mut connection, select).await?;
        if fitting.rows == 0 {
            return Ok(chunk);
        }
        chunk.more = fitting.rows < fitting.of || fitting.of as u64 == limit;
        let select = self.select_objects(query, &format!("SELECT {COLUMNS}"), fitting.rows as u64);
        let mut rows = select.fetch("read objects", &mut connection);
        // Row by row: the rows of the driver are copies.
        while let Some(row) = rows.try_next().await? {
            let (account, key): (AccountName, _) = (row.name("account")?, read_key(&row)?);
            match StoredObject::read(&row) {
                Ok(object) => chunk.objects.push(object),
                Err(error) => chunk.unreadable.push(UnreadableObject::new(&account, &key, &error)),
            }
            chunk.last = Some((account, key));
        }
        Ok(chunk)
    }

    /// Completes a statement that begins with this text, up to `FROM`.
    fn select_objects(&self, query: &ObjectQuery, text: &str, limit: u64) -> Statement {
        let ObjectQuery { tenant, accounts, kinds, namespace, name, after, limit: _ } = query;
        let mut statement = self
            .statement(format!("{text} FROM spindrift_object WHERE tenant = ? AND deleted_at = 0"))
            .bind(tenant.as_str());
        if let Some(accounts) = accounts {
            statement =
                statement.push(&format!(" AND account IN ({})", vec!["?"; accounts.len()].join(", ")));
            for account in accounts {
                statement = statement.bind(account.as_str());
            }
            if accounts.len() > 1 {
                statement = statement.unprepared();
            }
        }
        if let Some(kinds) = kinds {
            let these = vec!["(api_group = ? AND kind = ?)"; kinds.len()].join(" OR ");
            statement = statement.push(&format!(" AND ({these})"));
            for (group, kind) in kinds {
                statement = statement.bind(&**group).bind(&**kind);
            }
        }
        for (column, value) in [("namespace", namespace), ("name", name)] {
            if let Some(value) = value {
                statement = statement.push(&format!(" AND {column} = ?")).bind(&**value);
            }
        }
        if let Some((account, key)) = after {
            let [group, kind, namespace, name] = position(key);
            statement =
                statement.and_after(&[("account", account.as_str().into()), group, kind, namespace, name]);
        }
        statement.push(" ORDER BY account, api_group, kind, namespace, name LIMIT ?").bind(limit)
    }
}

// === impl ObjectQuery ===

impl ObjectQuery {
    /// Whether there can be such objects. Kubernetes gives no names that are not ASCII, and MariaDB fails to compare them
    /// with its ascii columns.
    fn is_possible(&self) -> bool {
        let Self { accounts, kinds, .. } = self;
        if accounts.as_ref().is_some_and(Vec::is_empty) || kinds.as_ref().is_some_and(Vec::is_empty) {
            return false;
        }
        let kinds = self.kinds.iter().flatten().flat_map(|(group, kind)| [group, kind]);
        kinds.chain(&self.namespace).all(|text| text.is_ascii())
    }
}

// === impl UnreadableObject ===

impl UnreadableObject {
    pub(super) fn new(account: &AccountName, key: &ObjectKey, error: &StoreError) -> Self {
        Self { account: account.clone(), key: key.clone(), reason: report(error) }
    }
}

// === impl StoredObject ===

impl StoredObject {
    pub(super) fn read(row: &AnyRow) -> Result<Self, StoreError> {
        Ok(Self {
            account: row.name("account")?,
            key: read_key(row)?,
            uid: row.text("uid")?.into(),
            resource_version: row.text("resource_version")?.into(),
            api_version: row.text("api_version")?.into(),
            scrub_revision: row.scrub_revision()?,
            labels: row.text("labels")?.to_owned(),
            body: row.bytes("body")?,
            seq: Seq(row.count("seq")?),
            updated_at: row.timestamp("updated_at")?,
        })
    }
}

pub(super) fn read_key(row: &AnyRow) -> Result<ObjectKey, StoreError> {
    Ok(ObjectKey {
        group: row.text("api_group")?.into(),
        kind: row.text("kind")?.into(),
        namespace: row.text("namespace")?.into(),
        name: row.text("name")?.into(),
    })
}

/// The key as the columns that order it.
pub(super) fn position(key: &ObjectKey) -> [(&'static str, Value<'_>); 4] {
    let ObjectKey { group, kind, namespace, name } = key;
    [
        ("api_group", (&**group).into()),
        ("kind", (&**kind).into()),
        ("namespace", (&**namespace).into()),
        ("name", (&**name).into()),
    ]
}
