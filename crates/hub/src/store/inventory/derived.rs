//! Rows before they are stored, and the derivation that makes them.

use std::{fmt::Debug, sync::Arc};

use spindrift_model::{AccountName, ObjectKey, Seq, TenantId};
use spindrift_spinnaker::{FullName, Kind, Row, SpinnakerKind};

use crate::store::{dialect::OnConflict, statement::Statement};

/// Derivation of rows, by the rules of one account at one time.
///
/// The store calls it in the path of a commit and treats the rows as columns; `clouddriver`, which reads the rows,
/// implements it.
pub trait DeriveRows: Debug + Send + Sync {
    /// Whether objects of this kind can have rows at all.
    fn applies_to(&self, key: &ObjectKey) -> bool;

    /// Returns the row of an object; none if it has none by these rules.
    fn derive(&self, account: &Arc<str>, key: &ObjectKey, body: &[u8]) -> Option<DerivedRow>;

    /// Revision of the rules: rows of another revision are derived again. The same for all hubs of a release whose
    /// rules are the same.
    fn revision(&self) -> &str;
}

/// Row of an object, as columns.
#[derive(Debug)]
pub struct DerivedRow {
    pub(in crate::store) key: ObjectKey,
    kind: String,
    spinnaker_kind: SpinnakerKind,
    application: String,
    cluster: String,
    owner: String,
    content: Vec<u8>,
}

pub(in crate::store) const COLUMNS: &str = "(tenant, kind, account, namespace, name, api_group, spinnaker_kind, \
    application, cluster, owner, derived, content)";

pub(in crate::store) const VALUES: &str = "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";

/// A row is always replaced, even if it is the same.
pub(in crate::store) const REPLACED: OnConflict = OnConflict {
    table: "spindrift_row",
    key: &["tenant", "kind", "account", "namespace", "name"],
    replaced: &["derived", "api_group", "spinnaker_kind", "application", "cluster", "owner", "content"],
    only_if: None,
};

/// Stored instead of the owner's name if there are several, or if it is longer than Kubernetes allows.
pub(super) const SEVERAL: &str = "*";

/// Width of the columns of names.
const LONGEST_NAME: usize = 253;
const LONGEST_OWNER: usize = 400;

/// Approximate size of a row without its content.
const OVERHEAD: usize = 512;

// === impl DerivedRow ===

impl DerivedRow {
    /// Turns the row of an object into columns.
    pub fn new(key: &ObjectKey, row: &Row) -> Self {
        Self {
            kind: column(&row.object.kind),
            spinnaker_kind: row.spinnaker_kind,
            application: valid_name(row.application.as_deref()),
            cluster: valid_name(row.cluster.as_deref()),
            owner: match &row.owners[..] {
                [] => String::new(),
                [owner] => owner_column(owner),
                _ => SEVERAL.to_owned(),
            },
            content: row.to_bytes(),
            key: key.clone(),
        }
    }

    /// Returns the unique key of the row: kind, namespace and name.
    pub(super) fn unique_key(&self) -> (String, Arc<str>, Arc<str>) {
        (self.kind.clone(), self.key.namespace.clone(), self.key.name.clone())
    }

    pub(in crate::store) fn bytes(&self) -> usize {
        self.content.len() + OVERHEAD
    }

    pub(in crate::store) fn bind(
        &self,
        statement: Statement,
        (tenant, account): (&TenantId, &AccountName),
        seq: Seq,
    ) -> Statement {
        let Self { key, kind, spinnaker_kind, application, cluster, owner, content } = self;
        statement
            .bind(tenant.as_str())
            .bind(&**kind)
            .bind(account.as_str())
            .bind(&*key.namespace)
            .bind(&*key.name)
            .bind(&*key.group)
            .bind(spinnaker_kind.as_str())
            .bind(&**application)
            .bind(&**cluster)
            .bind(&**owner)
            .bind(seq.0)
            .bind(&**content)
    }
}

/// Returns a kind as the column stores it, in lower case.
pub(in crate::store) fn kind_column(group: &str, kind: &str) -> String {
    column(&Kind::of_group(group, kind))
}

pub(super) fn column(kind: &Kind) -> String {
    kind.spelling().to_ascii_lowercase()
}

pub(super) fn owner_column(owner: &FullName) -> String {
    let text = format!("{} {}", column(&owner.kind), owner.name);
    if text.len() > LONGEST_OWNER || text.contains(char::is_control) { SEVERAL.to_owned() } else { text }
}

/// Returns the name of an application or a cluster, or none if it cannot be one: an annotation may be any text.
fn valid_name(name: Option<&str>) -> String {
    let sensible = |name: &&str| name.len() <= LONGEST_NAME && !name.contains(char::is_control);
    name.filter(sensible).unwrap_or_default().to_owned()
}
