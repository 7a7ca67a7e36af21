//! Labels and label selectors as text.

use serde_json::Value;
use spindrift_model::selector::LabelSelector;

const NONE: &str = "<none>";

/// Labels as `a=b,c=d`, sorted, or `<none>`.
pub fn format_labels(labels: &Value) -> String {
    if labels.as_object().is_none_or(serde_json::Map::is_empty) {
        return NONE.to_owned();
    }
    LabelSelector::of_labels(labels).sorted().to_string()
}

/// Label selector in the syntax of `-l`, or `<none>` if it is empty.
pub fn format_selector(selector: &Value) -> String {
    match selector_text(selector) {
        text if text.is_empty() => NONE.to_owned(),
        text => text,
    }
}

/// Label selector in the syntax of `-l`.
pub(crate) fn selector_text(selector: &Value) -> String {
    match LabelSelector::of_object(selector) {
        Ok(selector) => selector.sorted().to_string(),
        // The API server rejects such a selector, and kubectl prints it like this.
        Err(_) => "<invalid>".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn selectors_have_the_syntax_of_the_flag() {
        let selector = json!({
            "matchLabels": { "tier": "web" },
            "matchExpressions": [
                { "key": "app", "operator": "In", "values": ["b", "a"] },
                { "key": "zone", "operator": "NotIn", "values": ["x"] },
                { "key": "old", "operator": "DoesNotExist" },
                { "key": "new", "operator": "Exists" },
            ],
        });
        assert_eq!(format_selector(&selector), "app in (a,b),new,!old,tier=web,zone notin (x)");
        assert_eq!(format_selector(&json!({})), "<none>");
        assert_eq!(format_labels(&json!({ "b": "2", "a": "" })), "a=,b=2");
        assert_eq!(format_labels(&Value::Null), "<none>");
    }
}
