//! Labels and label selectors as text.

use serde_json::Value;

use crate::look::Look;

const NONE: &str = "<none>";

/// Labels as `a=b,c=d`, sorted; `<none>` where there are none.
pub fn format_labels(labels: &Value) -> String {
    let Some(labels) = labels.as_object().filter(|labels| !labels.is_empty()) else {
        return NONE.to_owned();
    };
    let mut pairs: Vec<_> = labels.iter().collect();
    pairs.sort_unstable_by_key(|(key, _)| *key);
    let pairs: Vec<_> = pairs
        .into_iter()
        .map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()))
        .collect();
    pairs.join(",")
}

/// A label selector as `-l` takes it; `<none>` where it is empty.
pub fn format_selector(selector: &Value) -> String {
    match selector_text(selector) {
        text if text.is_empty() => NONE.to_owned(),
        text => text,
    }
}

/// A label selector as `-l` takes it.
pub(crate) fn selector_text(selector: &Value) -> String {
    let mut requirements = Vec::new();
    if let Some(labels) = selector.at("/matchLabels").as_object() {
        for (key, value) in labels {
            requirements.push((key.as_str(), format!("{key}={}", value.as_str().unwrap_or_default())));
        }
    }
    for expression in selector.list("/matchExpressions") {
        let key = expression.text("/key");
        let mut values: Vec<_> = expression.list("/values").iter().filter_map(Value::as_str).collect();
        values.sort_unstable();
        let values = values.join(",");
        requirements.push((
            key,
            match expression.text("/operator") {
                "In" => format!("{key} in ({values})"),
                "NotIn" => format!("{key} notin ({values})"),
                "Exists" => key.to_owned(),
                "DoesNotExist" => format!("!{key}"),
                // The API server refuses others.
                _ => return "<invalid>".to_owned(),
            },
        ));
    }
    requirements.sort_by_key(|(key, _)| *key);
    let requirements: Vec<_> = requirements.into_iter().map(|(_, text)| text).collect();
    requirements.join(",")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn selectors_read_as_they_are_typed() {
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
