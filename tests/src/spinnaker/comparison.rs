//! Two answers, field by field.
//!
//! Numbers are distinguished as Java does: `2` is not `2.0`. Lists are compared as the sets that most of them are in
//! Clouddriver, except where the order matters.

use std::fmt;

use serde_json::Value;

use super::volatile;

/// Lists whose order a reader can rely on.
const ORDERED: [&str; 11] = [
    "calls",
    "command",
    "containers",
    "errors",
    "events",
    "history",
    "initContainers",
    "output",
    "ports",
    "stages",
    "tasks",
];

/// A field that is not as it was recorded.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// Such as `/resultObjects/0/manifests/0/spec/replicas`.
    pub path: String,
    /// Nothing where the field was not there.
    pub recorded: Option<Value>,
    pub ours: Option<Value>,
}

/// All fields that differ.
pub fn differences(recorded: &Value, ours: &Value) -> Vec<Difference> {
    let mut found = Found::default();
    found.compare("", "", recorded, ours);
    found.0
}

#[derive(Default)]
struct Found(Vec<Difference>);

// === impl Found ===

impl Found {
    /// `key` is the key of the value; an item of a list has the list's.
    fn compare(&mut self, path: &str, key: &str, recorded: &Value, ours: &Value) {
        if volatile::is_volatile(key) && volatile::same_sort(recorded, ours) {
            return;
        }
        match (recorded, ours) {
            (Value::Object(one), Value::Object(other)) => {
                for (key, recorded) in one {
                    let path = format!("{path}/{key}");
                    match other.get(key) {
                        Some(ours) => self.compare(&path, key, recorded, ours),
                        None => self.add(path, Some(recorded), None),
                    }
                }
                for (key, ours) in other.iter().filter(|(key, _)| !one.contains_key(*key)) {
                    self.add(format!("{path}/{key}"), None, Some(ours));
                }
            }
            (Value::Array(one), Value::Array(other)) if ORDERED.contains(&key) => {
                self.compare_in_order(path, key, one, other);
            }
            (Value::Array(one), Value::Array(other)) => self.compare_as_sets(path, key, one, other),
            (Value::String(one), Value::String(other)) if volatile::same_text(one, other) => {}
            _ if recorded == ours => {}
            _ => self.add(path.to_owned(), Some(recorded), Some(ours)),
        }
    }

    fn compare_in_order(&mut self, path: &str, key: &str, recorded: &[Value], ours: &[Value]) {
        for index in 0..recorded.len().max(ours.len()) {
            let path = format!("{path}/{index}");
            match (recorded.get(index), ours.get(index)) {
                (Some(recorded), Some(ours)) => self.compare(&path, key, recorded, ours),
                (recorded, ours) => self.add(path, recorded, ours),
            }
        }
    }

    /// Pairs equal items first, then those that differ least.
    fn compare_as_sets(&mut self, path: &str, key: &str, recorded: &[Value], ours: &[Value]) {
        let between = |one: &Value, other: &Value| {
            let mut found = Self::default();
            found.compare("", key, one, other);
            found.0
        };
        let mut left: Vec<&Value> = ours.iter().collect();
        let mut unpaired = Vec::new();
        for (index, recorded) in recorded.iter().enumerate() {
            match left.iter().position(|ours| between(recorded, ours).is_empty()) {
                Some(twin) => drop(left.remove(twin)),
                None => unpaired.push((index, recorded)),
            }
        }
        for (index, recorded) in unpaired {
            let path = format!("{path}/{index}");
            let nearest = left
                .iter()
                .enumerate()
                .filter(|(_, ours)| identity(recorded) == identity(ours))
                .map(|(at, ours)| (at, between(recorded, ours)))
                .min_by_key(|(_, differences)| differences.len());
            match nearest {
                Some((at, differences)) => {
                    left.remove(at);
                    self.0.extend(
                        differences
                            .into_iter()
                            .map(|it| Difference { path: format!("{path}{}", it.path), ..it }),
                    );
                }
                None => self.add(path, Some(recorded), None),
            }
        }
        for ours in left {
            self.add(format!("{path}/+"), None, Some(ours));
        }
    }

    fn add(&mut self, path: String, recorded: Option<&Value>, ours: Option<&Value>) {
        self.0.push(Difference { path, recorded: recorded.cloned(), ours: ours.cloned() });
    }
}

/// Identity of an item: two of different names are two objects, not one that differs.
fn identity(item: &Value) -> Option<String> {
    let name = item.get("name").or_else(|| item.pointer("/metadata/name")).or_else(|| item.get("id"))?;
    let account = item.get("account").and_then(Value::as_str).unwrap_or_default();
    Some(format!("{account} {}", volatile::blurred(name.as_str()?)))
}

// === impl Difference ===

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |value: &Option<Value>| match value {
            Some(value) => shortened(&value.to_string()),
            None => "(absent)".to_owned(),
        };
        write!(f, "{}: recorded {}, ours {}", self.path, shown(&self.recorded), shown(&self.ours))
    }
}

/// Long values would hide the others.
fn shortened(text: &str) -> String {
    const LONGEST: usize = 400;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::differences;

    fn paths(recorded: &Value, ours: &Value) -> Vec<String> {
        differences(recorded, ours).into_iter().map(|it| it.path).collect()
    }

    #[test]
    fn equal_answers_have_no_difference() {
        for (recorded, ours) in [
            (json!({ "uid": "a", "b": [1, 2] }), json!({ "uid": "x", "b": [2, 1] })),
            (json!([{ "name": "pod a-bcdfg", "n": 1 }]), json!([{ "name": "pod a-xz245", "n": 1 }])),
            (json!({ "createdTime": 1 }), json!({ "createdTime": 2 })),
        ] {
            assert_eq!(paths(&recorded, &ours), Vec::<String>::new());
        }
    }

    #[test]
    fn every_field_that_differs_is_named() {
        let recorded =
            json!({ "replicas": 2.0, "gone": null, "list": [{ "name": "a", "x": 1 }, { "name": "b" }] });
        let ours = json!({ "replicas": 2, "more": true, "list": [{ "name": "a", "x": 3 }, { "name": "c" }] });
        let mut found = paths(&recorded, &ours);
        found.sort_unstable();
        assert_eq!(found, ["/gone", "/list/+", "/list/0/x", "/list/1", "/more", "/replicas"]);
    }

    #[test]
    fn a_time_that_became_a_number_is_noticed() {
        assert_eq!(paths(&json!({ "startTime": "2026" }), &json!({ "startTime": 1 })), ["/startTime"]);
        assert_eq!(paths(&json!({ "createdTime": 1 }), &json!({ "createdTime": 1.0 })), ["/createdTime"]);
    }

    #[test]
    fn the_order_of_a_history_counts() {
        let line = |text| json!({ "status": text });
        let (recorded, ours) =
            (json!({ "history": [line("a"), line("b")] }), json!({ "history": [line("b"), line("a")] }));
        assert_eq!(paths(&recorded, &ours), ["/history/0/status", "/history/1/status"]);
    }
}
