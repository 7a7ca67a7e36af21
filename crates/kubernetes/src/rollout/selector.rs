//! Label selectors of objects, as queries spell them.

use serde_json::Value;

/// `a=b,c in (d,e)`: of a selector with `matchLabels` and `matchExpressions`, or of a plain map as Services have it.
/// None if it selects nothing.
pub fn selector_text(selector: &Value) -> Option<String> {
    let selector = selector.as_object()?;
    let is_plain = !selector.contains_key("matchLabels") && !selector.contains_key("matchExpressions");
    let labels =
        if is_plain { Some(selector) } else { selector.get("matchLabels").and_then(Value::as_object) };
    let mut terms: Vec<_> = labels
        .into_iter()
        .flatten()
        .map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()))
        .collect();
    let expressions = selector.get("matchExpressions").and_then(Value::as_array);
    terms.extend(expressions.into_iter().flatten().filter_map(term));
    (!terms.is_empty()).then(|| terms.join(","))
}

fn term(expression: &Value) -> Option<String> {
    let key = expression["key"].as_str()?;
    let values: Vec<_> =
        expression["values"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let values = values.join(",");
    Some(match expression["operator"].as_str()? {
        "In" => format!("{key} in ({values})"),
        "NotIn" => format!("{key} notin ({values})"),
        "Exists" => key.to_owned(),
        "DoesNotExist" => format!("!{key}"),
        _ => return None,
    })
}
