//! Values of Secrets are not shown, only whether they differ: by kubectl's rules.

use serde_json::{Map, Value};

const SAME: &str = "***";
const BEFORE: &str = "*** (before)";
const AFTER: &str = "*** (after)";

/// Masks the values of a Secret on both sides.
pub(super) fn mask(live: Option<&mut Value>, merged: &mut Value) {
    if merged["apiVersion"] != "v1" || merged["kind"] != "Secret" {
        return;
    }
    let mut nothing = Value::Null;
    let live = live.unwrap_or(&mut nothing);
    for field in ["data", "stringData"] {
        let before = live.get(field).and_then(Value::as_object).cloned().unwrap_or_default();
        let after = merged.get(field).and_then(Value::as_object).cloned().unwrap_or_default();
        hide(live.get_mut(field).and_then(Value::as_object_mut), &after, BEFORE);
        hide(merged.get_mut(field).and_then(Value::as_object_mut), &before, AFTER);
    }
}

fn hide(values: Option<&mut Map<String, Value>>, others: &Map<String, Value>, word: &str) {
    for (key, value) in values.into_iter().flatten() {
        let differs = others.get(key).is_some_and(|other| other != value && !is_masked(other));
        // The agent may have hidden them already, and have said all.
        if !is_masked(value) {
            *value = Value::from(if differs { word } else { SAME });
        }
    }
}

fn is_masked(value: &Value) -> bool {
    value.as_str().is_some_and(|text| text.starts_with(SAME))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn secret(data: &Value) -> Value {
        json!({ "apiVersion": "v1", "kind": "Secret", "data": data })
    }

    #[test]
    fn values_are_hidden_and_differences_are_not() {
        let mut live = secret(&json!({ "same": "a", "other": "b", "gone": "c" }));
        let mut merged = secret(&json!({ "same": "a", "other": "x", "new": "d" }));
        mask(Some(&mut live), &mut merged);
        assert_eq!(live["data"], json!({ "same": SAME, "other": BEFORE, "gone": SAME }));
        assert_eq!(merged["data"], json!({ "same": SAME, "other": AFTER, "new": SAME }));

        let mut created = secret(&json!({ "new": "d" }));
        mask(None, &mut created);
        assert_eq!(created["data"], json!({ "new": SAME }));

        let (live, merged) =
            (json!({ "other": BEFORE, "same": SAME }), json!({ "other": AFTER, "same": SAME }));
        let (mut before, mut after) = (secret(&live), secret(&merged));
        mask(Some(&mut before), &mut after);
        assert_eq!((&before["data"], &after["data"]), (&live, &merged), "hidden by the agent");
    }

    #[test]
    fn other_kinds_are_left_alone() {
        let mut map = json!({ "apiVersion": "v1", "kind": "ConfigMap", "data": { "a": "b" } });
        mask(None, &mut map);
        assert_eq!(map["data"]["a"], "b");
    }
}
