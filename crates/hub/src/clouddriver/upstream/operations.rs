//! Whose operations a body holds, read without keeping anything but the names of accounts.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::Value;
use spindrift_spinnaker::{Entries, Operation};

use super::plan::Operations;

/// An operation, as far as it tells whose it is.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Asked {
    pub(super) operation: String,
    pub(super) account: Option<String>,
}

/// Who is to do the operations of a request.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Doer {
    Us,
    Them,
    /// One request is one task, and there is nobody who could do this one.
    Nobody {
        ours: BTreeSet<String>,
        theirs: BTreeSet<String>,
    },
}

/// The names of accounts in a description.
#[derive(Deserialize)]
struct Description {
    #[serde(default)]
    account: Value,
    #[serde(default)]
    credentials: Value,
}

// === impl Asked ===

impl Asked {
    /// The operations of a body; none if it cannot be read, which is then ours to say.
    pub(super) fn read(form: &Operations, body: &[u8]) -> Vec<Self> {
        let entries: Result<Vec<(_, Description)>, _> = match form {
            Operations::Listed => serde_json::from_slice(body).map(|Entries(listed)| listed),
            Operations::Named(name) => {
                serde_json::from_slice(body).map(|description| vec![(name.clone(), description)])
            }
        };
        let entries = entries.unwrap_or_default();
        entries.into_iter().map(|(operation, it)| Self { operation, account: it.account() }).collect()
    }

    /// Whether we would do it. Without an account, the operations of Kubernetes are ours to refuse.
    fn is_ours(&self, has: &impl Fn(&str) -> bool) -> bool {
        match &self.account {
            Some(account) => has(account),
            None => Operation::parse(&self.operation).is_some(),
        }
    }
}

// === impl Doer ===

impl Doer {
    /// By the accounts that are ours.
    pub(super) fn of(asked: &[Asked], has: impl Fn(&str) -> bool) -> Self {
        let (ours, theirs): (Vec<_>, Vec<_>) = asked.iter().partition(|asked| asked.is_ours(&has));
        let names = |asked: Vec<&Asked>| {
            asked.into_iter().map(|it| it.account.clone().unwrap_or_else(|| it.operation.clone())).collect()
        };
        match (ours.is_empty(), theirs.is_empty()) {
            (_, true) => Self::Us,
            (true, false) => Self::Them,
            (false, false) => Self::Nobody { ours: names(ours), theirs: names(theirs) },
        }
    }
}

// === impl Description ===

impl Description {
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

    fn doer(body: &str) -> Doer {
        Doer::of(&Asked::read(&Operations::Listed, body.as_bytes()), |account| account == "prod")
    }

    #[test]
    fn the_accounts_of_a_body_say_who_does_it() {
        for (body, expected) in [
            (r#"[{"deployManifest":{"account":"prod","manifests":[{"kind":"Pod"}]}}]"#, Doer::Us),
            (r#"[{"deployManifest":{"account":"aws"}}]"#, Doer::Them),
            (
                r#"[{"resizeServerGroup":{"credentials":"aws"}},{"enableServerGroup":{"credentials":"aws"}}]"#,
                Doer::Them,
            ),
            (r#"[{"scaleManifest":{"account":"prod","credentials":"aws"}}]"#, Doer::Us),
            (r#"[{"scaleManifest":{}}]"#, Doer::Us),
            (r#"[{"upsertEntityTags":{"tags":[]}}]"#, Doer::Them),
            ("[]", Doer::Us),
            (r#"{"deployManifest":{"account":"aws"}}"#, Doer::Us),
            ("nonsense", Doer::Us),
        ] {
            assert_eq!(doer(body), expected, "{body}");
        }
    }

    #[test]
    fn what_is_of_both_is_nobodys() {
        let body = r#"[{"deployManifest":{"account":"prod"}},{"deployManifest":{"account":"aws"}}]"#;
        let (ours, theirs) = (BTreeSet::from(["prod".into()]), BTreeSet::from(["aws".into()]));
        assert_eq!(doer(body), Doer::Nobody { ours, theirs });
    }

    #[test]
    fn one_operation_by_name_is_read_as_its_description() {
        let form = Operations::Named("scaleManifest".into());
        let asked = Asked::read(&form, br#"{"account":"aws","replicas":2}"#);
        assert_eq!(asked, [Asked { operation: "scaleManifest".into(), account: Some("aws".into()) }]);
    }
}
