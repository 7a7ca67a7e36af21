//! JSON merge patches (RFC 7386).

use serde_json::Value;

use crate::object::fields;

/// Merges a patch into a value: null removes, objects merge, everything else replaces.
pub(crate) fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *target = patch.clone();
        return;
    };
    let target = fields(target);
    for (key, value) in patch {
        if value.is_null() {
            target.remove(key);
        } else {
            merge(target.entry(key).or_insert(Value::Null), value);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::merge;

    #[test]
    fn null_removes_objects_merge_and_lists_are_replaced() {
        let mut object = json!({"a": {"b": 1, "c": 2}, "l": [1, 2], "s": "x"});
        merge(&mut object, &json!({"a": {"b": null, "d": {"e": null, "f": 1}}, "l": [3], "s": {"t": 1}}));
        assert_eq!(object, json!({"a": {"c": 2, "d": {"f": 1}}, "l": [3], "s": {"t": 1}}));
    }
}
