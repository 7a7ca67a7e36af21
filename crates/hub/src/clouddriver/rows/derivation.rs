//! Derivation of rows by the rules of an account.

use std::sync::Arc;

use aws_lc_rs::digest::{SHA256, digest};
use spindrift_model::ObjectKey;
use spindrift_spinnaker::{KindRules, Row, RowRules};

use crate::{
    hex::hex,
    store::{DeriveRows, DerivedRow},
};

/// Rules of an account and their revision: rows of another revision are derived again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Derivation {
    kinds: KindRules,
    only_managed: bool,
    all_applications: bool,
    revision: String,
}

/// Bytes of the hash of the rules; enough to distinguish rules that were not made to collide.
const REVISION_BYTES: usize = 12;

// === impl Derivation ===

impl Derivation {
    pub fn new(rules: RowRules<'_>) -> Self {
        let hash = digest(&SHA256, rules.text().as_bytes());
        let RowRules { kinds, only_managed, all_applications } = rules;
        let revision = hex(hash.as_ref().get(..REVISION_BYTES).unwrap_or_default());
        Self { kinds: kinds.clone(), only_managed, all_applications, revision }
    }

    pub fn rules(&self) -> RowRules<'_> {
        let Self { kinds, only_managed, all_applications, revision: _ } = self;
        RowRules { kinds, only_managed: *only_managed, all_applications: *all_applications }
    }
}

impl DeriveRows for Derivation {
    fn applies_to(&self, key: &ObjectKey) -> bool {
        Row::is_for(key)
    }

    fn derive(&self, account: &Arc<str>, key: &ObjectKey, body: &[u8]) -> Option<DerivedRow> {
        Row::derive(account, key, body, self.rules()).map(|row| DerivedRow::new(key, &row))
    }

    fn revision(&self) -> &str {
        &self.revision
    }
}

/// Rules of an account without settings.
impl Default for Derivation {
    fn default() -> Self {
        let kinds = KindRules::default();
        Self::new(RowRules { kinds: &kinds, only_managed: false, all_applications: false })
    }
}
