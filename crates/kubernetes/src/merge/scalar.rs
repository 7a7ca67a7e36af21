//! Scalars as Go's `%v` writes them, by which kubectl sorts lists.

use std::borrow::Cow;

use serde_json::{Number, Value};

/// Returns the text of a scalar.
pub(super) fn text(value: &Value) -> Cow<'_, str> {
    match value {
        Value::String(text) => Cow::Borrowed(text),
        Value::Number(number) => Cow::Owned(number_text(number)),
        Value::Bool(true) => Cow::Borrowed("true"),
        Value::Bool(false) => Cow::Borrowed("false"),
        Value::Null => Cow::Borrowed("<nil>"),
        // No merge key is a map or a list; the text only has to be equal for equal values.
        Value::Array(_) | Value::Object(_) => Cow::Owned(value.to_string()),
    }
}

/// Sorts scalars by their texts.
pub(super) fn sorted(list: &[Value]) -> Vec<&Value> {
    let mut sorted: Vec<_> = list.iter().collect();
    sorted.sort_by(|a, b| text(a).cmp(&text(b)));
    sorted
}

/// Keeps the first of equal scalars; as in kubectl, the last element takes the place of a removed one.
pub(super) fn deduplicate(list: &mut Vec<Value>) {
    let mut first = 0;
    while first < list.len() {
        let mut other = first + 1;
        while other < list.len() {
            if list[first] == list[other] {
                list.swap_remove(other);
            } else {
                other += 1;
            }
        }
        first += 1;
    }
}

/// Formats a number as Go: floating-point numbers with the fewest digits that are exact, and an exponent from 1e21 on.
fn number_text(number: &Number) -> String {
    let Some(float) = number.as_f64().filter(|_| number.is_f64()) else { return number.to_string() };
    let magnitude = float.abs();
    if magnitude != 0.0 && !(1e-4..1e21).contains(&magnitude) {
        let scientific = format!("{float:e}");
        let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
        let (sign, exponent) = exponent.strip_prefix('-').map_or(('+', exponent), |digits| ('-', digits));
        return format!("{digits}e{sign}{exponent:0>2}");
    }
    format!("{float}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_read_as_in_go() {
        let cases = [
            (json!(8080), "8080"),
            (json!(-1), "-1"),
            (json!(1.0), "1"),
            (json!(0.5), "0.5"),
            (json!(1e21), "1e+21"),
            (json!(1.5e-7), "1.5e-07"),
            (json!(1e20), "100000000000000000000"),
            (json!(0.0), "0"),
            (json!(true), "true"),
            (json!(null), "<nil>"),
        ];
        for (value, expected) in cases {
            assert_eq!(text(&value), expected);
        }
    }

    #[test]
    fn the_last_fills_the_gap_of_a_duplicate() {
        let mut list = vec![json!("a"), json!("b"), json!("a"), json!("c")];
        deduplicate(&mut list);
        assert_eq!(list, [json!("a"), json!("b"), json!("c")]);
        let mut list = vec![json!("a"), json!("a"), json!("b"), json!("c")];
        deduplicate(&mut list);
        assert_eq!(list, [json!("a"), json!("c"), json!("b")]);
    }
}
