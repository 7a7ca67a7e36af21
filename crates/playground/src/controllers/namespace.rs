//! Namespaces: the default service account and the root CA of each.

use serde_json::{Value, json};

use super::{
    fields::{is_deleted, name},
    reconcile::{Kind, ObjectWrite, Plan},
};

/// Not a real certificate; pods only have to find a file.
const AUTHORITY: &str = "-----BEGIN CERTIFICATE-----\nplayground\n-----END CERTIFICATE-----\n";

pub(super) fn decide(namespace: &Value, has_account: bool, has_authority: bool) -> Plan {
    let mut plan = Plan::default();
    if is_deleted(namespace) {
        return plan;
    }
    let metadata = |named: &str| json!({ "name": named, "namespace": name(namespace) });
    if !has_account {
        let account =
            json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata("default") });
        plan.write(ObjectWrite::Create(Kind::ServiceAccount, account));
    }
    if !has_authority {
        let authority = json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": metadata("kube-root-ca.crt"),
            "data": { "ca.crt": AUTHORITY },
        });
        plan.write(ObjectWrite::Create(Kind::ConfigMap, authority));
    }
    plan
}
