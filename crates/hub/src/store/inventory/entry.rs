//! A row on its way into the table.

use std::sync::Arc;

use spindrift_model::{AccountName, ObjectKey, Seq, TenantId};
use spindrift_spinnaker::{FullName, Kind, Row, RowRules, SpinnakerKind};

use crate::store::{dialect::OnConflict, statement::Statement};

/// The row of an object, as columns.
#[derive(Debug)]
pub(in crate::store) struct Entry {
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

/// A row is replaced, whether it differs or not.
pub(in crate::store) const REPLACED: OnConflict = OnConflict {
    table: "spindrift_row",
    key: &["tenant", "kind", "account", "namespace", "name"],
    replaced: &["derived", "api_group", "spinnaker_kind", "application", "cluster", "owner", "content"],
    only_if: None,
};

/// In place of the owner's name: there are several, or it is longer than Kubernetes lets names be.
pub(super) const SEVERAL: &str = "*";

/// The width of the columns of names.
const LONGEST_NAME: usize = 253;
const LONGEST_OWNER: usize = 400;

/// What an entry takes beside its content, roughly.
const OVERHEAD: usize = 512;

// === impl Entry ===

impl Entry {
    /// The row of an object; none if it is not to have one.
    pub(in crate::store) fn derive(
        account: &Arc<str>,
        key: &ObjectKey,
        body: &[u8],
        rules: RowRules<'_>,
    ) -> Option<Self> {
        let row = Row::derive(account, key, body, rules)?;
        Some(Self {
            kind: column(&row.object.kind),
            spinnaker_kind: row.spinnaker_kind,
            application: listed(row.application.as_deref()),
            cluster: listed(row.cluster.as_deref()),
            owner: match &row.owners[..] {
                [] => String::new(),
                [owner] => owner_column(owner),
                _ => SEVERAL.to_owned(),
            },
            content: row.to_bytes(),
            key: key.clone(),
        })
    }

    /// What there may be one of: kind, namespace and name.
    pub(super) fn place(&self) -> (String, Arc<str>, Arc<str>) {
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

/// A kind as the column has it, whose case nobody needs to know.
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

/// An application or a cluster that something can be listed under: an annotation may be anything.
fn listed(name: Option<&str>) -> String {
    let sensible = |name: &&str| name.len() <= LONGEST_NAME && !name.contains(char::is_control);
    name.filter(sensible).unwrap_or_default().to_owned()
}
