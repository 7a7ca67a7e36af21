//! Accounts of the operations in a body; nothing else of the body is kept.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::Value;
use spindrift_spinnaker::{Entries, SpinnakerOperation};

use super::plan::OperationsForm;

/// Name and account of an operation.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct OperationAccount {
    pub(super) operation: String,
    pub(super) account: Option<String>,
}

/// Process that runs the operations of a request.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Destination {
    Hub,
    Upstream,
    /// One request is one task, which neither can run for accounts of both.
    Mixed {
        ours: BTreeSet<String>,
        theirs: BTreeSet<String>,
    },
}

/// Fields of a description that name the account.
#[derive(Deserialize)]
struct AccountFields {
    #[serde(default)]
    account: Value,
    #[serde(default)]
    credentials: Value,
}

// === impl OperationAccount ===

impl OperationAccount {
    /// Parses a body. The result is empty if it is not valid: the hub's own route then reports why.
    pub(super) fn read(form: &OperationsForm, body: &[u8]) -> Vec<Self> {
        let entries: Result<Vec<(_, AccountFields)>, _> = match form {
            OperationsForm::Listed => serde_json::from_slice(body).map(|Entries(listed)| listed),
            OperationsForm::Named(name) => {
                serde_json::from_slice(body).map(|description| vec![(name.clone(), description)])
            }
        };
        let entries = entries.unwrap_or_default();
        entries.into_iter().map(|(operation, it)| Self { operation, account: it.account() }).collect()
    }

    /// Whether this hub runs it. It also rejects Kubernetes operations without an account.
    fn is_ours(&self, has: &impl Fn(&str) -> bool) -> bool {
        match &self.account {
            Some(account) => has(account),
            None => SpinnakerOperation::parse(&self.operation).is_some(),
        }
    }
}

// === impl Destination ===

impl Destination {
    /// Chooses by the accounts for which `has` is true.
    pub(super) fn of(operations: &[OperationAccount], has: impl Fn(&str) -> bool) -> Self {
        let (ours, theirs): (Vec<_>, Vec<_>) =
            operations.iter().partition(|operation| operation.is_ours(&has));
        let names = |operations: Vec<&OperationAccount>| {
            operations
                .into_iter()
                .map(|it| it.account.clone().unwrap_or_else(|| it.operation.clone()))
                .collect()
        };
        match (ours.is_empty(), theirs.is_empty()) {
            (_, true) => Self::Hub,
            (true, false) => Self::Upstream,
            (false, false) => Self::Mixed { ours: names(ours), theirs: names(theirs) },
        }
    }
}

// === impl AccountFields ===

impl AccountFields {
    fn account(self) -> Option<String> {
        [self.account, self.credentials].into_iter().find_map(|name| match name {
            Value::String(name) if !name.is_empty() => Some(name),
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn destination(body: &str) -> Destination {
        Destination::of(&OperationAccount::read(&OperationsForm::Listed, body.as_bytes()), |account| {
            account == "prod"
        })
    }

    #[test]
    fn the_accounts_in_a_body_decide_the_destination() {
        for (body, expected) in [
            (r#"[{"deployManifest":{"account":"prod","manifests":[{"kind":"Pod"}]}}]"#, Destination::Hub),
            (r#"[{"deployManifest":{"account":"aws"}}]"#, Destination::Upstream),
            (
                r#"[{"resizeServerGroup":{"credentials":"aws"}},{"enableServerGroup":{"credentials":"aws"}}]"#,
                Destination::Upstream,
            ),
            (r#"[{"scaleManifest":{"account":"prod","credentials":"aws"}}]"#, Destination::Hub),
            (r#"[{"scaleManifest":{}}]"#, Destination::Hub),
            (r#"[{"upsertEntityTags":{"tags":[]}}]"#, Destination::Upstream),
            ("[]", Destination::Hub),
            (r#"{"deployManifest":{"account":"aws"}}"#, Destination::Hub),
            ("nonsense", Destination::Hub),
        ] {
            assert_eq!(destination(body), expected, "{body}");
        }
    }

    #[test]
    fn operations_for_both_have_no_destination() {
        let body = r#"[{"deployManifest":{"account":"prod"}},{"deployManifest":{"account":"aws"}}]"#;
        let (ours, theirs) = (BTreeSet::from(["prod".into()]), BTreeSet::from(["aws".into()]));
        assert_eq!(destination(body), Destination::Mixed { ours, theirs });
    }

    #[test]
    fn an_operation_named_in_the_path_is_parsed_from_its_description() {
        let form = OperationsForm::Named("scaleManifest".into());
        let operations = OperationAccount::read(&form, br#"{"account":"aws","replicas":2}"#);
        assert_eq!(
            operations,
            [OperationAccount { operation: "scaleManifest".into(), account: Some("aws".into()) }]
        );
    }
}
