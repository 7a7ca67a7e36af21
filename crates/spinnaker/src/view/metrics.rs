//! Resource usage of containers, as in `kubectl top`.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

/// Resource usage of a container.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ContainerMetrics {
    container_name: String,
    metrics: BTreeMap<&'static str, String>,
}

const CPU: &str = "CPU(cores)";
const MEMORY: &str = "MEMORY(bytes)";
const MEBIBYTE: f64 = 1024.0 * 1024.0;

// === impl ContainerMetrics ===

impl ContainerMetrics {
    /// Parses an object of `metrics.k8s.io`; missing values are left out.
    pub fn of_pod(pod: &Value) -> Vec<Self> {
        let containers = pod.get("containers").and_then(Value::as_array).into_iter().flatten();
        containers.filter_map(Self::of_container).collect()
    }

    fn of_container(container: &Value) -> Option<Self> {
        let used = |name: &str| quantity(container.get("usage")?.get(name)?.as_str()?);
        let cpu = used("cpu").map(|cores| (CPU, format!("{:.0}m", (cores * 1000.0).ceil())));
        let memory = used("memory").map(|bytes| (MEMORY, format!("{:.0}Mi", (bytes / MEBIBYTE).floor())));
        let container_name = container.get("name")?.as_str()?.to_owned();
        Some(Self { container_name, metrics: cpu.into_iter().chain(memory).collect() })
    }
}

/// Parses a Kubernetes quantity: a number and its unit.
fn quantity(text: &str) -> Option<f64> {
    let end = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, suffix) = text.split_at(end);
    let factor = match suffix {
        "" => 1.0,
        "n" => 1e-9,
        "u" => 1e-6,
        "m" => 1e-3,
        "k" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        "Ki" => 1024.0,
        "Mi" => MEBIBYTE,
        "Gi" => MEBIBYTE * 1024.0,
        _ => return text.parse().ok(),
    };
    number.parse::<f64>().ok().map(|number| number * factor)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn quantities_are_shown_as_kubectl_shows_them() {
        let pod = json!({"containers": [
            {"name": "app", "usage": {"cpu": "2345678n", "memory": "20992Ki"}},
            {"name": "idle", "usage": {"cpu": "0", "memory": "1e7"}},
            {"name": "odd", "usage": {"cpu": "lots"}}]});
        let shown = serde_json::to_value(ContainerMetrics::of_pod(&pod)).unwrap();
        assert_eq!(
            shown,
            json!([
                {"containerName": "app", "metrics": {"CPU(cores)": "3m", "MEMORY(bytes)": "20Mi"}},
                {"containerName": "idle", "metrics": {"CPU(cores)": "0m", "MEMORY(bytes)": "9Mi"}},
                {"containerName": "odd", "metrics": {}},
            ])
        );
        assert!(ContainerMetrics::of_pod(&json!({})).is_empty());
    }
}
