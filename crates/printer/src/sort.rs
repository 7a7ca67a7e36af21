//! `--sort-by`: numbers and quantities by value, texts as people count, what has no such field first.

use std::{cmp::Ordering, fmt};

use serde_json::Value;

use crate::{
    JsonPath,
    jsonpath::{PathError, SyntaxError},
    quantity,
};

/// What objects are sorted by.
#[derive(Debug, Clone, PartialEq)]
pub struct SortKey {
    path: JsonPath,
    /// As it was written.
    expression: String,
}

// === impl SortKey ===

impl SortKey {
    /// Parses `.metadata.name` and the like, with or without braces.
    pub fn parse(expression: &str) -> Result<Self, SyntaxError> {
        Ok(Self { path: JsonPath::parse_relaxed(expression)?, expression: expression.to_owned() })
    }

    /// What an object is sorted by; none if it has no such field.
    pub fn of(&self, object: &Value) -> Result<Option<Value>, PathError> {
        Ok(self.path.find(object)?.into_iter().next())
    }

    /// Which of two keys comes first.
    pub fn compare(left: Option<&Value>, right: Option<&Value>) -> Ordering {
        match (left, right) {
            (None | Some(Value::Null), None | Some(Value::Null)) => Ordering::Equal,
            (None | Some(Value::Null), _) => Ordering::Less,
            (_, None | Some(Value::Null)) => Ordering::Greater,
            (Some(Value::String(left)), Some(Value::String(right))) => {
                match (quantity::parse(left), quantity::parse(right)) {
                    (Some(left), Some(right)) => left.total_cmp(&right),
                    _ => natural(left, right),
                }
            }
            (Some(Value::Bool(left)), Some(Value::Bool(right))) => left.cmp(right),
            (Some(left), Some(right)) => {
                let number = |value: &Value| value.as_f64().unwrap_or_default();
                number(left).total_cmp(&number(right))
            }
        }
    }
}

impl fmt::Display for SortKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.expression)
    }
}

/// Compares texts so that `web-9` comes before `web-10`.
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
            // Equal in value: the one with fewer zeros in front.
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
    fn keys_are_compared_by_what_they_mean() {
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
}
