//! `--sort-by`: numbers and quantities by value, strings in natural order, objects without the field first.

use std::{cmp::Ordering, fmt};

use serde_json::{Number, Value};

use crate::{
    JsonPath,
    jsonpath::{PathError, SyntaxError},
    quantity,
};

/// Field by which objects are sorted.
#[derive(Debug, Clone, PartialEq)]
pub struct SortKey {
    path: JsonPath,
    /// Text of the flag.
    expression: String,
}

// === impl SortKey ===

impl SortKey {
    /// Parses a path such as `.metadata.name`, with or without braces.
    pub fn parse(expression: &str) -> Result<Self, SyntaxError> {
        Ok(Self { path: JsonPath::parse_relaxed(expression)?, expression: expression.to_owned() })
    }

    /// Sort key of an object, or `None` without the field.
    pub fn of(&self, object: &Value) -> Result<Option<Value>, PathError> {
        Ok(self.path.find(object)?.into_iter().next())
    }

    /// Compares two keys; a total order for any values, as sorting requires.
    pub fn compare(left: Option<&Value>, right: Option<&Value>) -> Ordering {
        let (left, right) = (left.unwrap_or(&Value::Null), right.unwrap_or(&Value::Null));
        match (left, right) {
            (Value::Bool(left), Value::Bool(right)) => left.cmp(right),
            (Value::Number(left), Value::Number(right)) => {
                let number = |value: &Number| value.as_f64().unwrap_or_default();
                number(left).total_cmp(&number(right))
            }
            (Value::String(left), Value::String(right)) => texts(left, right),
            _ => rank(left).cmp(&rank(right)),
        }
    }
}

impl fmt::Display for SortKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.expression)
    }
}

/// Rank of the type of a value.
fn rank(value: &Value) -> u8 {
    match value {
        Value::Null => 0,
        Value::Bool(_) => 1,
        Value::Number(_) => 2,
        Value::String(_) => 3,
        Value::Array(_) | Value::Object(_) => 4,
    }
}

/// Compares quantities by value; they sort before other strings.
fn texts(left: &str, right: &str) -> Ordering {
    match (quantity::parse(left), quantity::parse(right)) {
        (Some(left), Some(right)) => left.total_cmp(&right),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => natural(left, right),
    }
}

/// Compares strings in natural order: `web-9` before `web-10`.
fn natural(left: &str, right: &str) -> Ordering {
    let (mut left, mut right) = (left, right);
    loop {
        let (Some(l), Some(r)) = (left.chars().next(), right.chars().next()) else {
            return left.len().cmp(&right.len());
        };
        if l.is_ascii_digit() && r.is_ascii_digit() {
            let (left_number, left_rest) = digits(left);
            let (right_number, right_rest) = digits(right);
            let value = |number: &str| number.trim_start_matches('0').to_owned();
            let (left_value, right_value) = (value(left_number), value(right_number));
            let ordering =
                left_value.len().cmp(&right_value.len()).then_with(|| left_value.cmp(&right_value));
            // Equal values: the one with fewer leading zeros first.
            let ordering = ordering.then_with(|| left_number.len().cmp(&right_number.len()));
            if ordering != Ordering::Equal {
                return ordering;
            }
            (left, right) = (left_rest, right_rest);
        } else if l == r {
            (left, right) = (&left[l.len_utf8()..], &right[r.len_utf8()..]);
        } else {
            return l.cmp(&r);
        }
    }
}

fn digits(text: &str) -> (&str, &str) {
    text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn keys_are_compared_by_value() {
        let sorted = [
            [json!(null), json!("a")],
            [json!(9), json!(10)],
            [json!(1.5), json!(2)],
            [json!("web-9"), json!("web-10")],
            [json!("web-10"), json!("web-10-a")],
            [json!("a"), json!("b")],
            [json!("500m"), json!("1")],
            [json!("900Ki"), json!("1Mi")],
            [json!("2026-11-16T01:00:00Z"), json!("2026-11-16T01:00:01Z")],
            [json!(false), json!(true)],
        ];
        for [first, second] in sorted {
            assert_eq!(SortKey::compare(Some(&first), Some(&second)), Ordering::Less, "{first} {second}");
            assert_eq!(SortKey::compare(Some(&second), Some(&first)), Ordering::Greater, "{second} {first}");
        }
        assert_eq!(SortKey::compare(None, Some(&json!(0))), Ordering::Less);
    }

    #[test]
    fn the_order_is_total_for_any_values() {
        let texts =
            "1 2 10 007 7 500m 1Gi 1Mi 2e3 -1 0e999 web-1 web-01 web-2 web-10 1x 2x 10x a b A ü 9a 9-1 1.5.2";
        let mut values: Vec<_> = texts.split(' ').map(|text| json!(text)).collect();
        values.extend((-3..6).map(|number| json!(number)));
        values.extend([1.5, -0.0, 1e300].map(|number| json!(number)));
        values.extend([json!(u64::MAX), json!(""), json!(" "), json!("true"), json!("null")]);
        values.extend([
            json!(null),
            json!(true),
            json!(false),
            json!([]),
            json!([1]),
            json!({}),
            json!({"a": 1}),
        ]);
        values.push(json!("2026-11-16T01:00:00Z"));
        assert!(values.len() >= 50, "{}", values.len());
        let compare = |left, right| SortKey::compare(Some(left), Some(right));
        for a in &values {
            for b in &values {
                assert_eq!(compare(a, b), compare(b, a).reverse(), "{a} {b}");
                for c in &values {
                    if compare(a, b).is_le() && compare(b, c).is_le() {
                        assert!(compare(a, c).is_le(), "{a} {b} {c}");
                    }
                }
            }
        }
    }
}
