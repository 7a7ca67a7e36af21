//! Label and field selectors, as text in a query and as objects in a specification.

use serde_json::Value;

use crate::object::{list, text};
use crate::status::Status;

mod fields;
mod labels;

pub(crate) use fields::FieldSelector;
pub(crate) use labels::LabelSelector;

/// Which objects a list or a watch is about.
#[derive(Debug, Clone, Default)]
pub(crate) struct Selector {
    pub(crate) labels: LabelSelector,
    pub(crate) fields: FieldSelector,
}

// === impl Selector ===

impl Selector {
    pub(crate) fn is_everything(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }

    /// Whether an object, as it is stored, is selected.
    pub(crate) fn matches(&self, bytes: &[u8]) -> bool {
        if self.is_everything() {
            return true;
        }
        let Ok(object) = serde_json::from_slice::<Value>(bytes) else { return false };
        self.labels.matches(object.pointer("/metadata/labels").unwrap_or(&Value::Null))
            && self.fields.matches(&object)
    }
}

/// Whether a `LabelSelector` object selects labels.
pub(crate) fn structured_matches(selector: &Value, labels: &Value) -> bool {
    let label = |key: &str| labels.get(key).and_then(Value::as_str);
    let equal = selector.get("matchLabels").and_then(Value::as_object).is_none_or(|wanted| {
        wanted.iter().all(|(key, value)| label(key).is_some() && label(key) == value.as_str())
    });
    equal
        && list(selector, "/matchExpressions").iter().all(|expression| {
            let found = label(text(expression, "/key"));
            let listed = found.is_some_and(|found| {
                list(expression, "/values").iter().any(|value| value.as_str() == Some(found))
            });
            match text(expression, "/operator") {
                "In" => listed,
                "NotIn" => !listed,
                "Exists" => found.is_some(),
                "DoesNotExist" => found.is_none(),
                _ => false,
            }
        })
}

/// A `LabelSelector` object as text, as the scale subresource shows it.
pub(crate) fn structured_text(selector: &Value) -> String {
    let mut words: Vec<String> = selector
        .get("matchLabels")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()))
        .collect();
    for expression in list(selector, "/matchExpressions") {
        let key = text(expression, "/key");
        let values: Vec<&str> = list(expression, "/values").iter().filter_map(Value::as_str).collect();
        words.push(match text(expression, "/operator") {
            "In" => format!("{key} in ({})", values.join(",")),
            "NotIn" => format!("{key} notin ({})", values.join(",")),
            "Exists" => key.to_owned(),
            _ => format!("!{key}"),
        });
    }
    words.join(",")
}

fn unparsable(why: &str) -> Status {
    Status::bad_request(format!("unable to parse requirement: {why}"))
}
