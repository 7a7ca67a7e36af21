//! Comparison with the recorded responses of a real Clouddriver to the same requests and objects.
//!
//! `*.jsonl` is extracted from recordings: requests, responses, ids, times and names of pods are unchanged. The objects of
//! the cluster are reconstructed from the responses.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests may panic")]
#![allow(clippy::needless_pass_by_value, reason = "`json!` is written where it is used")]

mod deployments;
mod manifests;
mod operations;
mod refusals;
mod views;

use serde_json::Value;

/// Entries of a file, one JSON object per line.
fn entries(file: &str) -> Vec<Value> {
    file.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Sorts the lists in a value: most of Clouddriver's are sets.
fn sorted(value: Value) -> Value {
    match value {
        Value::Array(items) => {
            let mut items: Vec<_> = items.into_iter().map(sorted).collect();
            items.sort_by_cached_key(ToString::to_string);
            items.into()
        }
        Value::Object(map) => map.into_iter().map(|(key, value)| (key, sorted(value))).collect(),
        other => other,
    }
}

/// Compares key by key, which is easier to read than two long values.
fn assert_same(ours: Value, recorded: Value, what: &str) {
    let mut differences = Vec::new();
    compare(&sorted(ours), &sorted(recorded), "", &mut differences);
    assert!(differences.is_empty(), "{what}:\n{}", differences.join("\n"));
}

fn compare(ours: &Value, recorded: &Value, path: &str, differences: &mut Vec<String>) {
    match (ours, recorded) {
        (Value::Object(one), Value::Object(other)) => {
            for key in one.keys().chain(other.keys().filter(|key| !one.contains_key(*key))) {
                let absent = Value::String("(absent)".into());
                let (one, other) = (one.get(key).unwrap_or(&absent), other.get(key).unwrap_or(&absent));
                compare(one, other, &format!("{path}/{key}"), differences);
            }
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            for (index, (one, other)) in one.iter().zip(other).enumerate() {
                compare(one, other, &format!("{path}/{index}"), differences);
            }
        }
        _ if ours == recorded => {}
        _ => differences.push(format!("{path}: {ours} instead of {recorded}")),
    }
}
