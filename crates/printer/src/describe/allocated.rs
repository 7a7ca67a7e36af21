//! Pods of a node, and the resources that they request.

use jiff::Timestamp;
use serde_json::Value;

use super::{Page, RelatedObjects};
use crate::{
    look::{Look, scalar},
    quantity, since,
};

/// Resources with a row of their own in every table.
const COMMON: [&str; 3] = ["cpu", "memory", "ephemeral-storage"];
/// Lists of a container's resources, in the order of their columns.
const LISTS: [&str; 2] = ["requests", "limits"];

/// Sum of quantities. It is printed with the units of the first one that is not zero, as Kubernetes does.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
struct Total {
    amount: f64,
    is_binary: bool,
}

pub(super) fn describe(node: &Value, related: &RelatedObjects, now: Timestamp, page: &mut Page) {
    if !related.has("Pod") {
        page.field(0, "Pods", "<unknown> (pods are not cached)");
        return;
    }
    let runs_here = |pod: &&Value| {
        pod.text("/spec/nodeName") == node.text("/metadata/name")
            && !matches!(pod.text("/status/phase"), "Succeeded" | "Failed")
    };
    let pods: Vec<_> = related.all("Pod").filter(runs_here).collect();
    page.field(0, "Non-terminated Pods", format!("({} in total)", pods.len()));
    page.line(1, "Namespace\tName\t\tCPU Requests\tCPU Limits\tMemory Requests\tMemory Limits\tAge");
    page.line(1, "---------\t----\t\t------------\t----------\t---------------\t-------------\t---");
    let allocatable = match node.at("/status/allocatable") {
        Value::Object(resources) if !resources.is_empty() => node.at("/status/allocatable"),
        _ => node.at("/status/capacity"),
    };
    for pod in &pods {
        let cells = ["cpu", "memory"].map(|resource| row(&[*pod], resource, allocatable));
        let age = since(now, pod.text("/metadata/creationTimestamp"));
        let (namespace, name) = (pod.text("/metadata/namespace"), pod.text("/metadata/name"));
        page.line(1, format!("{namespace}\t{name}\t\t{}\t{age}", cells.join("\t")));
    }
    page.line(0, "Allocated resources:\n  (Total limits may be over 100 percent, i.e., overcommitted.)");
    page.line(1, "Resource\tRequests\tLimits");
    page.line(1, "--------\t--------\t------");
    let others = allocatable.as_object().into_iter().flatten().map(|(resource, _)| resource.as_str());
    let (huge, extended): (Vec<_>, Vec<_>) = others
        .filter(|resource| !COMMON.contains(resource) && !matches!(*resource, "pods" | "storage"))
        .partition(|resource| resource.starts_with("hugepages-"));
    for resource in COMMON.into_iter().chain(huge) {
        page.line(1, format!("{resource}\t{}", row(&pods, resource, allocatable)));
    }
    for resource in extended {
        let cells = LISTS.map(|list| Total::of_pods(&pods, list, resource).to_string());
        page.line(1, format!("{resource}\t{}", cells.join("\t")));
    }
}

/// Requests and limits of pods, each with its share of the node.
fn row(pods: &[&Value], resource: &str, allocatable: &Value) -> String {
    let whole = allocatable.get(resource).and_then(scalar).and_then(|text| quantity::parse(&text));
    let cell = |list| {
        let total = Total::of_pods(pods, list, resource);
        let share = whole.filter(|whole| *whole > 0.0).map_or(0.0, |whole| total.amount / whole * 100.0);
        format!("{total} ({:.0}%)", share.trunc())
    };
    LISTS.map(cell).join("\t")
}

// === impl Total ===

impl Total {
    fn of_pods(pods: &[&Value], list: &str, resource: &str) -> Self {
        pods.iter().fold(Self::default(), |sum, pod| sum.plus(Self::of_pod(pod, list, resource)))
    }

    /// Containers and sidecars run together, other init containers one after another.
    fn of_pod(pod: &Value, list: &str, resource: &str) -> Self {
        let of = |owner: &Value| Self::of_quantity(owner.at(&format!("/resources/{list}")).get(resource));
        let spec = pod.at("/spec");
        let mut total = if spec.at(&format!("/resources/{list}")).get(resource).is_some() {
            of(spec)
        } else {
            let mut together = spec.list("/containers").iter().map(of).fold(Self::default(), Self::plus);
            let (mut sidecars, mut longest) = (Self::default(), Self::default());
            for container in spec.list("/initContainers") {
                if container.text("/restartPolicy") == "Always" {
                    together = together.plus(of(container));
                    sidecars = sidecars.plus(of(container));
                    longest = longest.larger(sidecars);
                } else {
                    longest = longest.larger(sidecars.plus(of(container)));
                }
            }
            together.larger(longest)
        };
        // A pod without a limit does not get one from its overhead.
        if list == "requests" || total.amount > 0.0 {
            total = total.plus(Self::of_quantity(spec.at("/overhead").get(resource)));
        }
        total
    }

    fn of_quantity(quantity: Option<&Value>) -> Self {
        let text = quantity.and_then(scalar).unwrap_or_default();
        Self { amount: quantity::parse(&text).unwrap_or_default(), is_binary: text.ends_with('i') }
    }

    fn plus(self, other: Self) -> Self {
        let is_binary = if self.amount > 0.0 { self.is_binary } else { other.is_binary };
        Self { amount: self.amount + other.amount, is_binary }
    }

    fn larger(self, other: Self) -> Self {
        if other.amount > self.amount { other } else { self }
    }
}

/// Prints the canonical form of Kubernetes: the largest unit that leaves no fraction.
impl std::fmt::Display for Total {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (base, units) = if self.is_binary {
            (1024f64, ["Ei", "Pi", "Ti", "Gi", "Mi", "Ki"])
        } else {
            (1000f64, ["E", "P", "T", "G", "M", "k"])
        };
        for (power, unit) in (1..=6).rev().zip(units) {
            let size = base.powi(power);
            if self.amount > 0.0 && self.amount % size == 0.0 {
                return write!(f, "{:.0}{unit}", self.amount / size);
            }
        }
        let millis = (self.amount * 1000.0).round();
        if millis % 1000.0 == 0.0 { write!(f, "{:.0}", self.amount) } else { write!(f, "{millis:.0}m") }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn totals_are_canonical() {
        for (amount, is_binary, expected) in [
            (0.25, false, "250m"),
            (2.0, false, "2"),
            (0.0, false, "0"),
            (0.0, true, "0"),
            (1_610_612_736.0, true, "1536Mi"),
            (1000.0, true, "1000"),
            (2_000_000.0, false, "2M"),
        ] {
            assert_eq!(Total { amount, is_binary }.to_string(), expected);
        }
    }

    #[test]
    fn sidecars_count_with_the_containers_and_other_init_containers_alone() {
        let container = |cpu: &str| json!({ "resources": { "requests": { "cpu": cpu } } });
        let mut sidecar = container("100m");
        sidecar["restartPolicy"] = "Always".into();
        let pod = |init: &[Value]| {
            json!({ "spec": { "containers": [container("500m")], "initContainers": init,
            "overhead": { "cpu": "50m" } } })
        };
        let total = |pod: &Value, list| Total::of_pods(&[pod], list, "cpu").to_string();
        assert_eq!(total(&pod(&[]), "requests"), "550m");
        assert_eq!(total(&pod(&[]), "limits"), "0");
        assert_eq!(total(&pod(&[sidecar.clone()]), "requests"), "650m");
        assert_eq!(total(&pod(&[container("1")]), "requests"), "1050m");
        assert_eq!(total(&pod(&[sidecar, container("1")]), "requests"), "1150m");
        assert_eq!(Total::of_pods(&[], "requests", "cpu").to_string(), "0");
    }
}
