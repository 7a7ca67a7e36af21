//! Reading objects.

use bytes::Bytes;
use jiff::Timestamp;
use spindrift_model::{
    AccountName, ApiVersion, ObjectKey, ResourceVersion, ScrubRevision, Seq, TenantId, Uid,
};
use sqlx::any::AnyRow;

use super::{Store, StoreError, row::Columns, statement::Value};

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

pub(super) const COLUMNS: &str = "account, api_group, kind, namespace, name, uid, resource_version, api_version, \
    scrub_revision, seq, deleted_at, updated_at, labels, body";

// === impl Store ===

impl Store {
    /// One page of objects, in the order of (account, group, kind, namespace, name).
    pub async fn objects(&self, query: &ObjectQuery) -> Result<Vec<StoredObject>, StoreError> {
        let ObjectQuery { tenant, accounts, kinds, namespace, name, after, limit } = query;
        let nothing =
            accounts.as_ref().is_some_and(Vec::is_empty) || kinds.as_ref().is_some_and(Vec::is_empty);
        if nothing || !query.is_possible() {
            return Ok(Vec::new());
        }
        let mut statement = self
            .statement(format!("SELECT {COLUMNS} FROM spindrift_object WHERE tenant = ? AND deleted_at = 0"))
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
        let mut connection = self.reader("connect to read objects").await?;
        let rows = statement
            .push(" ORDER BY account, api_group, kind, namespace, name LIMIT ?")
            .bind(u64::from(*limit))
            .fetch_all("read objects", &mut connection)
            .await?;
        rows.iter().map(StoredObject::read).collect()
    }
}

// === impl ObjectQuery ===

impl ObjectQuery {
    /// Kubernetes gives no such names, and MariaDB fails to compare them with its ascii columns.
    fn is_possible(&self) -> bool {
        let kinds = self.kinds.iter().flatten().flat_map(|(group, kind)| [group, kind]);
        kinds.chain(&self.namespace).all(|text| text.is_ascii())
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
