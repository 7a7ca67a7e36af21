//! Objects around the programs: ingress, secrets and promotions.

use serde_json::{Value, json};

use super::{Shop, ShopSize, cluster_wide::GROUP};

const CATEGORIES: [&str; 5] = ["books", "garden", "kitchen", "music", "toys"];

pub(super) fn manifests(shop: &Shop<'_>, rng: &mut fastrand::Rng) -> Vec<Value> {
    let mut manifests = vec![
        ingress(shop.cluster),
        secret("shop", "catalogue-db", "password", rng),
        secret("payments", "card-provider", "apiKey", rng),
    ];
    if shop.size == ShopSize::Full {
        let first = rng.usize(..CATEGORIES.len());
        manifests
            .extend((0..3).map(|number| promotion(CATEGORIES[(first + number) % CATEGORIES.len()], rng)));
    }
    manifests
}

fn ingress(cluster: &str) -> Value {
    let backend = json!({ "service": { "name": "frontend", "port": { "name": "main" } } });
    json!({
        "apiVersion": "networking.k8s.io/v1",
        "kind": "Ingress",
        "metadata": { "name": "shop", "namespace": "shop" },
        "spec": {
            "ingressClassName": "public",
            "rules": [{
                "host": format!("{cluster}.shop.example.com"),
                "http": { "paths": [{ "path": "/", "pathType": "Prefix", "backend": backend }] },
            }],
        },
        "status": { "loadBalancer": { "ingress": [{ "ip": "192.0.2.10" }] } },
    })
}

fn secret(namespace: &str, name: &str, key: &str, rng: &mut fastrand::Rng) -> Value {
    // Any base64 suffices: four characters encode three bytes.
    let value: String = (0..24).map(|_| rng.alphanumeric()).collect();
    json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "Opaque",
        "metadata": { "name": name, "namespace": namespace },
        "data": { key: value },
    })
}

fn promotion(category: &str, rng: &mut fastrand::Rng) -> Value {
    let percent = rng.u8(1..9) * 5;
    json!({
        "apiVersion": format!("{GROUP}/v1"),
        "kind": "Promotion",
        "metadata": { "name": format!("{category}-week"), "namespace": "shop" },
        "spec": { "percent": percent, "category": category, "code": format!("{}{percent}", category.to_uppercase()) },
        "status": { "redeemed": 0 },
    })
}
