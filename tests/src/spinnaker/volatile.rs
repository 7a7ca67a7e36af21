//! Values that differ between two runs of the same scenario without meaning: ids, times, addresses, generated names.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

/// Keys with generated values. They must be present, and of the same type.
const KEYS: [&str; 33] = [
    "clusterIP",
    "clusterIPs",
    "createdTime",
    "creationTimestamp",
    "deletionTimestamp",
    "eventTime",
    "finishedAt",
    "firstTimestamp",
    "holderIdentity",
    "hostIP",
    "hostIPs",
    "kubectl.kubernetes.io/restartedAt",
    "lastExecutionDurationMs",
    "lastExecutionStartDate",
    "lastExecutionStartMs",
    "lastProbeTime",
    "lastScheduleTime",
    "lastTimestamp",
    "lastTransitionTime",
    "lastUpdateTime",
    "nodeName",
    "nodePort",
    "ownerId",
    "podIP",
    "podIPs",
    "reportingInstance",
    "resourceVersion",
    "startTime",
    "startTimeMs",
    "startedAt",
    "timestamp",
    "totalAdditions",
    "uid",
];

/// Generated parts of texts, and their replacements.
static PARTS: LazyLock<[(Regex, &str); 9]> = LazyLock::new(|| {
    let part = |pattern, name| (Regex::new(pattern).expect("the pattern is part of the program"), name);
    [
        part(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", "‹id›"),
        part(r"\b0[0-9A-HJKMNP-TV-Z]{25}\b", "‹id›"),
        part(r"clientRequestId=[0-9a-f]{64}\b", "clientRequestId=‹id›"),
        part(r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:?\d\d)?", "‹time›"),
        part(r"\b\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}(:\d+)?\b", "‹address›"),
        part(r"\bSuccessfully assigned (\S+) to \S+", "assigned $1 to ‹node›"),
        // Of events: the object's name and a time.
        part(r"\.[0-9a-f]{14,16}\b", ".‹event›"),
        // Of replica sets and pods, in the letters that Kubernetes takes for them.
        part(r"-[bcdfghjklmnpqrstvwxz2456789]{8,10}\b", "-‹hash›"),
        part(r"-[bcdfghjklmnpqrstvwxz2456789]{5}\b", "-‹pod›"),
    ]
});

/// Whether values under this key are generated.
pub(super) fn is_volatile(key: &str) -> bool {
    KEYS.binary_search(&key).is_ok()
}

/// Whether two values under such a key are of the same sort.
pub(super) fn same_sort(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one.is_f64() == other.is_f64(),
        _ => std::mem::discriminant(one) == std::mem::discriminant(other),
    }
}

/// Whether two texts differ in generated parts only.
pub(super) fn same_text(one: &str, other: &str) -> bool {
    one == other || blurred(one) == blurred(other)
}

/// A text with its generated parts replaced.
pub(super) fn blurred(text: &str) -> String {
    PARTS.iter().fold(text.to_owned(), |text, (pattern, name)| match pattern.replace_all(&text, *name) {
        std::borrow::Cow::Borrowed(_) => text,
        std::borrow::Cow::Owned(replaced) => replaced,
    })
}

#[cfg(test)]
mod tests {
    use super::{KEYS, same_text};

    #[test]
    fn the_keys_are_sorted() {
        assert!(KEYS.is_sorted());
    }

    #[test]
    fn only_generated_values_are_skipped() {
        for (one, other, same) in [
            ("pod shop-web-565d5b9787-dpxjp", "pod shop-web-565d5b9787-zz9kw", true),
            ("shop-web-565d5b9787", "shop-web-7bdcf6d5f8", true),
            ("at 2026-11-15T20:40:24.506+00:00", "at 2027-01-01T00:00:00Z", true),
            ("07210790-213f-4b8c-aa4e-6186d4baabe9@vm", "cfa8c2b1-5182-4b5d-9454-bd8294de03f7@vm", true),
            ("dial 127.0.0.1:443", "dial 10.0.0.1:6443", true),
            ("shop-web", "shop-stuck", false),
            ("shop-rs-v000", "shop-rs-v001", false),
            ("replicas 3", "replicas 4", false),
        ] {
            assert_eq!(same_text(one, other), same, "{one} and {other}");
        }
    }
}
