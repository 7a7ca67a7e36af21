//! Label and field selectors, as text in a query and as objects in a specification.

use serde_json::Value;
use spindrift_kubernetes::selector::LabelSelector;

use crate::status::Status;

mod fields;

pub(crate) use fields::FieldSelector;

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
        let labels = object.pointer("/metadata/labels").unwrap_or(&Value::Null);
        matches(&self.labels, labels) && self.fields.matches(&object)
    }
}

/// Reads the label selector of a query.
pub(crate) fn parse_labels(text: &str) -> Result<LabelSelector, Status> {
    text.parse().map_err(|invalid| Status::bad_request(format!("{invalid}")))
}

fn matches(selector: &LabelSelector, labels: &Value) -> bool {
    selector.matches(|key| labels.get(key).and_then(Value::as_str))
}

/// Whether a `LabelSelector` object selects labels.
pub(crate) fn structured_matches(selector: &Value, labels: &Value) -> bool {
    LabelSelector::of_object(selector).is_ok_and(|selector| matches(&selector, labels))
}

/// Writes a `LabelSelector` object as text, as the scale subresource shows it.
pub(crate) fn structured_text(selector: &Value) -> String {
    LabelSelector::of_object(selector).map(|selector| selector.sorted().to_string()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_operator_selects_as_kubernetes_does() {
        let labels = json!({"app": "web", "tier": "front", "rank": "7"});
        for (selector, selects) in [
            ("", true),
            ("app=web", true),
            ("app==web,tier!=back", true),
            ("app=db", false),
            ("app in (web, db)", true),
            ("app notin (web,db)", false),
            ("none notin (a)", true),
            ("none!=a", true),
            ("app", true),
            ("!app", false),
            ("!none,app in (web),rank>6", true),
            ("rank<7", false),
        ] {
            assert_eq!(matches(&parse_labels(selector).unwrap(), &labels), selects, "{selector}");
        }
    }

    #[test]
    fn broken_selectors_are_refused() {
        for selector in ["app in (a", "app on (a)", "a b=c", "=x"] {
            assert_eq!(parse_labels(selector).unwrap_err().code, 400, "{selector}");
        }
    }
}
