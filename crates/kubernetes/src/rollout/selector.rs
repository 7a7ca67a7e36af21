//! Label selectors of workloads and Services, as text for queries.

use serde_json::Value;
use spindrift_model::selector::LabelSelector;

/// Writes a selector with `matchLabels` and `matchExpressions`, or a plain map as Services have it, as `a=b,c in (d,e)`.
/// Returns none if it is empty, which selects nothing here, or has an unknown operator.
pub fn selector_text(selector: &Value) -> Option<String> {
    let fields = selector.as_object()?;
    let is_plain = !fields.contains_key("matchLabels") && !fields.contains_key("matchExpressions");
    let selector = if is_plain {
        LabelSelector::of_labels(selector)
    } else {
        LabelSelector::of_object(selector).ok()?
    };
    (!selector.is_empty()).then(|| selector.to_string())
}
