//! Cluster-wide objects of the shop: nodes, namespaces, the definition of promotions.

use serde_json::{Value, json};

use super::{Shop, ShopSize};

pub(super) const GROUP: &str = "shop.example.com";

const NAMESPACES: [(&str, &str); 3] =
    [("shop", "storefront"), ("payments", "money"), ("monitoring", "platform")];

pub(super) fn manifests(shop: &Shop<'_>, rng: &mut fastrand::Rng) -> Vec<Value> {
    let nodes = match shop.size {
        ShopSize::Full => 3 + rng.usize(..2),
        ShopSize::Corner => 2,
    };
    let mut manifests: Vec<_> = (1..=nodes).map(|number| node(shop.cluster, number, rng)).collect();
    for (name, team) in NAMESPACES.iter().take(if shop.size == ShopSize::Full { 3 } else { 2 }) {
        manifests.push(json!({
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": { "name": name, "labels": { "team": team, "region": shop.cluster } },
        }));
    }
    if shop.size == ShopSize::Full {
        manifests.push(promotions());
    }
    manifests
}

fn node(cluster: &str, number: usize, rng: &mut fastrand::Rng) -> Value {
    let name = format!("{cluster}-node-{number}");
    let address = format!("10.12.0.{}", number + 10);
    let cores = 4 << rng.u32(..2);
    let resources = json!({ "cpu": cores.to_string(), "memory": format!("{}Ki", cores * 4_043_000), "pods": "110", "ephemeral-storage": "98831908Ki" });
    let condition = |kind: &str, holds: bool, reason: &str, message: &str| {
        json!({
            "type": kind,
            "status": if holds { "True" } else { "False" },
            "reason": reason,
            "message": message,
            "lastHeartbeatTime": "2026-01-05T08:00:00Z",
            "lastTransitionTime": "2026-01-05T08:00:00Z",
        })
    };
    let zone = format!("{cluster}-{}", ["a", "b", "c"][number % 3]);
    json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {
                "kubernetes.io/hostname": name,
                "kubernetes.io/os": "linux",
                "kubernetes.io/arch": "amd64",
                "node.kubernetes.io/instance-type": format!("m6.{}xlarge", cores / 4),
                "topology.kubernetes.io/region": cluster,
                "topology.kubernetes.io/zone": zone,
            },
        },
        "spec": { "podCIDR": format!("10.244.{number}.0/24"), "providerID": format!("playground://{cluster}/{name}") },
        "status": {
            "addresses": [{ "type": "InternalIP", "address": address }, { "type": "Hostname", "address": name }],
            "capacity": resources,
            "allocatable": resources,
            "conditions": [
                condition("MemoryPressure", false, "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
                condition("DiskPressure", false, "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
                condition("PIDPressure", false, "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
                condition("Ready", true, "KubeletReady", "kubelet is posting ready status"),
            ],
            "nodeInfo": {
                "architecture": "amd64",
                "operatingSystem": "linux",
                "osImage": "Debian GNU/Linux 13 (trixie)",
                "kernelVersion": "6.12.48",
                "containerRuntimeVersion": "containerd://2.1.4",
                "kubeletVersion": "v1.33.4",
                "kubeProxyVersion": "",
                "machineID": format!("{:032x}", rng.u128(..)),
                "systemUUID": format!("{:032x}", rng.u128(..)),
                "bootID": format!("{:032x}", rng.u128(..)),
            },
        },
    })
}

fn promotions() -> Value {
    let column = |name: &str, path: &str, kind: &str| json!({ "name": name, "jsonPath": path, "type": kind });
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("promotions.{GROUP}") },
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": { "plural": "promotions", "singular": "promotion", "kind": "Promotion", "listKind": "PromotionList", "shortNames": ["promo"] },
            "versions": [{
                "name": "v1",
                "served": true,
                "storage": true,
                "subresources": { "status": {} },
                "additionalPrinterColumns": [
                    column("Percent", ".spec.percent", "integer"),
                    column("Category", ".spec.category", "string"),
                    column("Redeemed", ".status.redeemed", "integer"),
                ],
                "schema": { "openAPIV3Schema": {
                    "type": "object",
                    "properties": {
                        "spec": {
                            "type": "object",
                            "required": ["percent"],
                            "properties": {
                                "percent": { "type": "integer", "minimum": 1, "maximum": 90 },
                                "category": { "type": "string" },
                                "code": { "type": "string" },
                            },
                        },
                        "status": { "type": "object", "properties": { "redeemed": { "type": "integer" } } },
                    },
                } },
            }],
        },
    })
}
