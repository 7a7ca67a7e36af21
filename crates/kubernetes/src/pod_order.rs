//! Order in which kubectl chooses a pod of a workload for its logs.

use std::cmp::{Ordering, Reverse};

use serde_json::Value;

/// Order of pods: running, ready, ready for longest, and with most restarts first.
pub fn by_logging(one: &Value, other: &Value) -> Ordering {
    rank(one).cmp(&rank(other))
}

type Rank<'a> = (bool, u8, bool, (bool, &'a str), Reverse<u64>, (bool, &'a str));

fn rank(pod: &Value) -> Rank<'_> {
    let is_unassigned = text(pod, "/spec/nodeName").is_empty();
    let phase = match text(pod, "/status/phase") {
        "Pending" => 2,
        "Unknown" => 1,
        _ => 0,
    };
    let conditions = pod.pointer("/status/conditions").and_then(Value::as_array);
    let ready =
        conditions.into_iter().flatten().find(|one| one["type"] == "Ready" && one["status"] == "True");
    let ready_since =
        ready.and_then(|condition| condition["lastTransitionTime"].as_str()).unwrap_or_default();
    let containers = pod.pointer("/status/containerStatuses").and_then(Value::as_array);
    let restarts = containers.into_iter().flatten().filter_map(|one| one["restartCount"].as_u64()).max();
    // Times are RFC 3339 in UTC, to the second: they sort as text. Pods without one come last.
    (
        is_unassigned,
        phase,
        ready.is_none(),
        (ready_since.is_empty(), ready_since),
        Reverse(restarts.unwrap_or(0)),
        (text(pod, "/metadata/creationTimestamp").is_empty(), text(pod, "/metadata/creationTimestamp")),
    )
}

fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_pod_that_says_most_comes_first() {
        let pod = |name: &str, node: &str, phase: &str, ready: Option<&str>, restarts: u64, created: &str| {
            let ready =
                ready.map(|since| json!({ "type": "Ready", "status": "True", "lastTransitionTime": since }));
            json!({
                "metadata": { "name": name, "creationTimestamp": created },
                "spec": { "nodeName": node },
                "status": { "phase": phase, "conditions": [ready], "containerStatuses": [{ "restartCount": restarts }] },
            })
        };
        let (early, late) = ("2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z");
        let ordered = [
            pod("ready-longest", "n", "Running", Some(early), 0, late),
            pod("ready-restarted", "n", "Running", Some(late), 2, late),
            pod("ready-older", "n", "Running", Some(late), 0, early),
            pod("ready-newer", "n", "Running", Some(late), 0, late),
            pod("not-ready", "n", "Running", None, 9, early),
            pod("unknown", "n", "Unknown", None, 9, early),
            pod("pending", "n", "Pending", None, 9, early),
            pod("unassigned", "", "Pending", None, 9, early),
        ];
        let mut sorted: Vec<_> = ordered.iter().rev().cloned().collect();
        sorted.sort_by(by_logging);
        let names = |pods: &[Value]| {
            pods.iter().map(|pod| text(pod, "/metadata/name").to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(names(&sorted), names(&ordered));
    }
}
