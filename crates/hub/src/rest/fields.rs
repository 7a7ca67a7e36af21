//! Field selectors, as kubectl writes them, on any scalar field of the kind.

mod known;

use std::{borrow::Cow, collections::BTreeMap, str::FromStr};

use serde_json::value::RawValue;
use spindrift_model::selector::{FieldRequirement, split_terms};

use super::kinds::GroupKind;

/// All requirements must hold.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct FieldSelector(Vec<Requirement>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Requirement {
    path: Vec<String>,
    value: String,
    is_equal: bool,
}

/// A selector that cannot be understood.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected requirements such as status.phase=Running, spec.nodeName!=a; found {0:?}")]
pub(super) struct InvalidFields(String);

// === impl FieldSelector ===

impl FieldSelector {
    /// Whether an object fits. A field that is not there is like an empty one, as for the API server.
    pub(super) fn matches(&self, object: &[u8]) -> bool {
        self.0.iter().all(|requirement| {
            let found = field(object, &requirement.path);
            let equal = found.is_some_and(|found| found == requirement.value);
            equal == requirement.is_equal
        })
    }

    /// Checks that the kinds have the fields; without kinds, every field is allowed.
    pub(super) fn check(&self, kinds: &[GroupKind]) -> Result<(), impl std::fmt::Display + use<>> {
        self.0.iter().try_for_each(|requirement| known::check(&requirement.path, kinds))
    }

    /// Returns the value that the field must have, if the selector requires one.
    pub(super) fn required(&self, path: &[&str]) -> Option<&str> {
        let requirement =
            self.0.iter().find(|requirement| requirement.is_equal && requirement.path == path)?;
        Some(&requirement.value)
    }
}

impl FromStr for FieldSelector {
    type Err = InvalidFields;
    fn from_str(text: &str) -> Result<Self, InvalidFields> {
        let terms = split_terms(text).into_iter().map(str::trim).filter(|term| !term.is_empty());
        terms
            .map(|term| Requirement::parse(term).ok_or_else(|| InvalidFields(term.to_owned())))
            .collect::<Result<_, _>>()
            .map(Self)
    }
}

// === impl Requirement ===

impl Requirement {
    /// Reads a term; blanks around the path and the value do not count.
    fn parse(term: &str) -> Option<Self> {
        let FieldRequirement { field, value, is_equal } = FieldRequirement::parse(term)?;
        let trimmed =
            FieldRequirement { field: field.trim().to_owned(), value: value.trim().to_owned(), is_equal };
        Some(Self { path: trimmed.path()?, value: trimmed.value, is_equal })
    }
}

/// Returns a field as text; empty if it is missing, none if it is a list or an object. Only its path is parsed.
fn field(object: &[u8], path: &[String]) -> Option<String> {
    let mut at: Cow<'_, [u8]> = Cow::Borrowed(object);
    for key in path {
        let Ok(mut fields) = serde_json::from_slice::<BTreeMap<String, Box<RawValue>>>(&at) else {
            return Some(String::new());
        };
        match fields.remove(key) {
            Some(value) => at = Cow::Owned(Box::<str>::from(value).into_string().into_bytes()),
            None => return Some(String::new()),
        }
    }
    match serde_json::from_slice(&at) {
        Ok(serde_json::Value::String(text)) => Some(text),
        Ok(serde_json::Value::Null) => Some(String::new()),
        Ok(scalar @ (serde_json::Value::Bool(_) | serde_json::Value::Number(_))) => Some(scalar.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const POD: &[u8] = br#"{"metadata":{"name":"web","labels":{"app.io/x":"a,b"}},"spec":{"nodeName":"n1",
        "hostNetwork":true,"containers":[{}],"priority":0},"status":{"phase":"Running","reason":null}}"#;

    #[test]
    fn selectors_mean_the_same_as_in_kubectl() {
        for (selector, fits) in [
            ("", true),
            ("status.phase=Running", true),
            ("status.phase==Running,spec.nodeName=n1", true),
            ("status.phase!=Running", false),
            ("status.phase=Running, spec.nodeName!=n2", true),
            (".metadata.name=web", true),
            ("spec.hostNetwork=true", true),
            ("spec.priority=0", true),
            ("spec.missing=", true),
            ("spec.missing!=x", true),
            ("spec.missing=x", false),
            ("status.reason=", true),
            ("spec.containers=", false),
            ("spec.containers!=x", true),
            ("status.phase.deeper=", true),
            (r"metadata.labels.app\.io/x=a\,b", true),
        ] {
            assert_eq!(selector.parse::<FieldSelector>().unwrap().matches(POD), fits, "{selector}");
        }
    }

    #[test]
    fn invalid_input_is_quoted_in_the_error() {
        for selector in
            ["status.phase", "=x", "a..b=c", "a=b=c", "!a", "a b=c", r"a=\n", "status.phase in (a)"]
        {
            let error = selector.parse::<FieldSelector>().unwrap_err();
            assert!(error.to_string().contains("status.phase=Running"), "{selector}");
        }
    }

    #[test]
    fn a_required_value_is_known() {
        let selector: FieldSelector = "metadata.name=web,spec.nodeName!=x".parse().unwrap();
        assert_eq!(selector.required(&["metadata", "name"]), Some("web"));
        assert_eq!(selector.required(&["spec", "nodeName"]), None);
    }
}
