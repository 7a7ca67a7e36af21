//! Masks the values of a Secret, as kubectl does.

use serde_json::Value;
use spindrift_kubernetes::Object;

/// Values of both sides, if any.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Masked {
    pub(super) before: Option<Value>,
    pub(super) after: Option<Value>,
}

const SAME: &str = "***";
const BEFORE: &str = "*** (before)";
const AFTER: &str = "*** (after)";

/// Masks values so that their names, and which of them differ, stay visible.
pub(super) fn masked(before: Option<&Value>, after: Option<&Value>) -> Masked {
    let (before, after) = (before.and_then(Value::as_object), after.and_then(Value::as_object));
    let stars = |own: Option<&Object>, other: Option<&Object>, changed: &'static str| -> Option<Value> {
        let star = |(key, value): (&String, &Value)| {
            let differs = other.and_then(|other| other.get(key)).is_some_and(|other| other != value);
            (key.clone(), Value::from(if differs { changed } else { SAME }))
        };
        Some(own?.iter().map(star).collect())
    };
    Masked { before: stars(before, after, BEFORE), after: stars(after, before, AFTER) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_that_a_value_changed_is_shown() {
        let (before, after) =
            (json!({ "a": "1", "b": "2", "gone": "3" }), json!({ "a": "1", "b": "9", "new": "4" }));
        let expected = Masked {
            before: Some(json!({ "a": SAME, "b": BEFORE, "gone": SAME })),
            after: Some(json!({ "a": SAME, "b": AFTER, "new": SAME })),
        };
        assert_eq!(masked(Some(&before), Some(&after)), expected);
        assert_eq!(masked(None, Some(&after)).before, None);
    }
}
