//! Usage of pods and nodes, in kubectl's columns.

use std::collections::BTreeMap;

use serde_json::Value;
use spindrift_printer::quantity;

/// Usage of a pod or node: one row, or one for each container.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Usage {
    pub(super) amount: Amount,
    pub(super) lines: Vec<UsageRow>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct UsageRow {
    pub(super) amount: Amount,
    pub(super) cells: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Amount {
    pub(super) millicores: i64,
    pub(super) bytes: i64,
}

const UNKNOWN: &str = "<unknown>";
const MEBI: i64 = 1 << 20;

/// Rows of pods, or of their containers, sorted by namespace and name.
pub(super) fn pod_rows(pods: &[Value], with_namespace: bool, each_container: bool) -> Vec<Usage> {
    let mut pods: Vec<_> = pods.iter().collect();
    pods.sort_by_key(|pod| (text(pod, "/metadata/namespace"), text(pod, "/metadata/name")));
    let mut rows = Vec::new();
    for pod in pods {
        let containers = pod["containers"].as_array().map(Vec::as_slice).unwrap_or_default();
        let namespace = with_namespace.then(|| text(pod, "/metadata/namespace").to_owned());
        let name = text(pod, "/metadata/name").to_owned();
        let sum =
            |what: &str| containers.iter().map(|container| number(&container["usage"][what])).sum::<f64>();
        let amount = Amount { millicores: rounded_up(sum("cpu") * 1000.0), bytes: rounded_up(sum("memory")) };
        let lines = if each_container {
            let mut containers: Vec<_> = containers.iter().collect();
            containers.sort_by_key(|container| text(container, "/name"));
            let line = |container: &Value| {
                let before =
                    namespace.iter().cloned().chain([name.clone(), text(container, "/name").to_owned()]);
                UsageRow::new(before.collect(), Amount::of(&container["usage"]))
            };
            containers.into_iter().map(line).collect()
        } else {
            vec![UsageRow::new(namespace.into_iter().chain([name]).collect(), amount)]
        };
        rows.push(Usage { amount, lines });
    }
    rows
}

/// Rows of nodes, sorted by name, with the share of their allocatable resources; nodes without metrics come last.
pub(super) fn node_rows(metrics: &[Value], nodes: &[Value]) -> Vec<Usage> {
    let mut available: BTreeMap<_, _> =
        nodes.iter().map(|node| (text(node, "/metadata/name"), &node["status"]["allocatable"])).collect();
    let mut metrics: Vec<_> = metrics.iter().collect();
    metrics.sort_by_key(|node| text(node, "/metadata/name"));
    let mut rows = Vec::new();
    for node in metrics {
        let name = text(node, "/metadata/name");
        let amount = Amount::of(&node["usage"]);
        let Amount { millicores, bytes } = amount;
        let available = available.remove(name);
        let share = |used: i64, has: Option<i64>| match has {
            Some(has) if has > 0 => format!("{}%", used.saturating_mul(100) / has),
            Some(_) => "0%".to_owned(),
            None => UNKNOWN.to_owned(),
        };
        let cells = vec![
            name.to_owned(),
            format!("{millicores}m"),
            share(millicores, available.map(|has| Amount::of(has).millicores)),
            format!("{}Mi", bytes / MEBI),
            share(bytes, available.map(|has| Amount::of(has).bytes)),
        ];
        rows.push(Usage { amount, lines: vec![UsageRow { amount, cells }] });
    }
    let unmeasured = available.into_keys().map(|name| {
        let cells = [name, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN].map(str::to_owned).to_vec();
        let amount = Amount { millicores: -1, bytes: -1 };
        Usage { amount, lines: vec![UsageRow { amount, cells }] }
    });
    rows.extend(unmeasured);
    rows
}

// === impl UsageRow ===

impl UsageRow {
    fn new(mut cells: Vec<String>, amount: Amount) -> Self {
        let Amount { millicores, bytes } = amount;
        cells.extend([format!("{millicores}m"), format!("{}Mi", bytes / MEBI)]);
        Self { amount, cells }
    }
}

// === impl Amount ===

impl Amount {
    /// Amount of a usage or of allocatable resources.
    fn of(usage: &Value) -> Self {
        Self {
            millicores: rounded_up(number(&usage["cpu"]) * 1000.0),
            bytes: rounded_up(number(&usage["memory"])),
        }
    }
}

fn number(value: &Value) -> f64 {
    value.as_str().and_then(quantity).unwrap_or_default()
}

/// Rounds up as Kubernetes does, but ignores the error of float arithmetic.
fn rounded_up(value: f64) -> i64 {
    const NOISE: f64 = 1e-6;
    #[expect(clippy::cast_possible_truncation, reason = "no cluster has so much")]
    let rounded = (value - NOISE).ceil() as i64;
    rounded
}

fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn cells(rows: &[Usage]) -> Vec<String> {
        rows.iter().flat_map(|row| &row.lines).map(|line| line.cells.join(" ")).collect()
    }

    #[test]
    fn usage_of_a_pod_is_the_sum_of_its_containers() {
        let pods = [
            json!({ "metadata": { "namespace": "shop", "name": "web" }, "containers": [
                { "name": "main", "usage": { "cpu": "1500001n", "memory": "10Mi" } },
                { "name": "envoy", "usage": { "cpu": "3m", "memory": "2097151" } },
            ] }),
            json!({ "metadata": { "namespace": "shop", "name": "api" }, "containers": [] }),
        ];
        assert_eq!(cells(&pod_rows(&pods, false, false)), ["api 0m 0Mi", "web 5m 11Mi"]);
        let containers = cells(&pod_rows(&pods, true, true));
        assert_eq!(containers, ["shop web envoy 3m 1Mi", "shop web main 2m 10Mi"]);
    }

    #[test]
    fn nodes_have_their_share_of_allocatable_resources() {
        let metrics = [json!({ "metadata": { "name": "a" }, "usage": { "cpu": "500m", "memory": "1Gi" } })];
        let node = |name: &str| json!({ "metadata": { "name": name }, "status": { "allocatable": { "cpu": "2", "memory": "4Gi" } } });
        let rows = node_rows(&metrics, &[node("a"), node("b")]);
        assert_eq!(cells(&rows), ["a 500m 25% 1024Mi 25%", "b <unknown> <unknown> <unknown> <unknown>"]);
    }
}
