//! How the objects of an account become rows.

use aws_lc_rs::digest::{SHA256, digest};
use spindrift_spinnaker::{KindRules, RowRules};

use crate::hex::hex;

/// Rules, and what they are called in the store: rows of another revision are derived anew.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Derivation {
    kinds: KindRules,
    only_managed: bool,
    all_applications: bool,
    revision: String,
}

/// Of a hash; enough to tell rules apart that nobody chose to be alike.
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

    /// The same for all hubs of a release whose rules are the same.
    pub fn revision(&self) -> &str {
        &self.revision
    }
}

/// The rules of an account that says nothing.
impl Default for Derivation {
    fn default() -> Self {
        let kinds = KindRules::default();
        Self::new(RowRules { kinds: &kinds, only_managed: false, all_applications: false })
    }
}
