//! StoredRow form of rows: a short JSON array, since a list of ten thousand pods parses as many of them.

use std::{borrow::Cow, sync::Arc};

use serde::{Deserialize, Serialize};

use super::{Row, Summary};
use crate::{Coordinates, FullName, Kind, SpinnakerKind};

/// Kind, namespace, name, classification, application, cluster, owners, summary.
#[derive(Serialize, Deserialize)]
struct StoredRow<'a>(
    #[serde(borrow)] Cow<'a, str>,
    String,
    String,
    SpinnakerKind,
    Option<String>,
    Option<String>,
    #[serde(borrow)] Vec<Owner<'a>>,
    Summary,
);

/// Kind and name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Owner<'a>(
    #[serde(borrow)] pub(super) Cow<'a, str>,
    #[serde(borrow)] pub(super) Cow<'a, str>,
);

/// The same, borrowed.
#[derive(Serialize)]
struct Storable<'a>(
    &'a Kind,
    &'a str,
    &'a str,
    SpinnakerKind,
    Option<&'a str>,
    Option<&'a str>,
    Vec<(&'a Kind, &'a str)>,
    &'a Summary,
);

/// Parser of rows that shares the accounts and kinds of earlier rows, which most rows repeat.
#[derive(Debug, Default)]
pub struct RowReader {
    account: Option<Arc<str>>,
    kinds: Vec<(String, Kind)>,
}

/// Number of cached kinds, more than an application has.
const REMEMBERED: usize = 16;

// === impl Row ===

impl Row {
    /// All but the account.
    pub fn to_bytes(&self) -> Vec<u8> {
        let Self { account: _, object, spinnaker_kind, application, cluster, owners, summary } = self;
        let stored = Storable(
            &object.kind,
            &object.namespace,
            &object.name,
            *spinnaker_kind,
            application.as_deref(),
            cluster.as_deref(),
            owners.iter().map(|owner| (&owner.kind, &*owner.name)).collect(),
            summary,
        );
        serde_json::to_vec(&stored).expect("texts and numbers become JSON")
    }
}

// === impl RowReader ===

impl RowReader {
    /// Parses a row of an account.
    pub fn read(&mut self, account: &str, bytes: &[u8]) -> Result<Row, serde_json::Error> {
        let StoredRow(kind, namespace, name, spinnaker_kind, application, cluster, owners, summary) =
            serde_json::from_slice(bytes)?;
        let owners = owners.into_iter().map(|Owner(kind, name)| FullName::new(self.kind(&kind), name));
        Ok(Row {
            owners: owners.collect(),
            account: self.account(account),
            object: Coordinates { kind: self.kind(&kind), namespace, name },
            spinnaker_kind,
            application,
            cluster,
            summary,
        })
    }

    /// Shared name of an account.
    pub fn account(&mut self, name: &str) -> Arc<str> {
        match &self.account {
            Some(known) if **known == *name => known.clone(),
            _ => self.account.insert(name.into()).clone(),
        }
    }

    /// Shared kind of a spelling.
    pub fn kind(&mut self, spelling: &str) -> Kind {
        if let Some((_, kind)) = self.kinds.iter().find(|(known, _)| known == spelling) {
            return kind.clone();
        }
        let kind = Kind::parse(spelling);
        if self.kinds.len() < REMEMBERED {
            self.kinds.push((spelling.to_owned(), kind.clone()));
        }
        kind
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use spindrift_model::ObjectKey;

    use super::*;
    use crate::{KindRules, RowRules};

    #[test]
    fn a_row_is_read_as_it_was_stored() {
        let metadata = |name: &str| {
            json!({"name": name, "namespace": "web", "uid": "u1", "labels": {"a\"b": "ü"},
                "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "shop-5c6"},
                    {"apiVersion": "example.com/v1", "kind": "Odd\"Kind", "name": "x"}]})
        };
        let spec = json!({"replicas": 3, "serviceName": "svc", "selector": {"app": "shop"},
            "template": {"metadata": {"labels": {"app": "shop"}}, "spec": {"containers": [{"image": "nginx"}]}},
            "ingress": [{"ports": [{"protocol": "TCP", "port": 80}, {"port": "http"}]}]});
        let status = json!({"phase": "Running", "containerStatuses": [{"name": "main", "ready": true}]});
        let mut reader = RowReader::default();
        for (group, kind) in [
            ("", "Pod"),
            ("apps", "StatefulSet"),
            ("", "Service"),
            ("networking.k8s.io", "NetworkPolicy"),
            ("", "ConfigMap"),
            ("stable.example.com", "CronTab"),
        ] {
            let key = ObjectKey {
                group: group.into(),
                kind: kind.into(),
                namespace: "web".into(),
                name: "shop-web-v003".into(),
            };
            let (metadata, spec) = (
                metadata(&key.name),
                if kind == "Service" { json!({"selector": {"a": "b"}}) } else { spec.clone() },
            );
            let body = json!({"apiVersion": "v1", "kind": kind, "metadata": metadata, "spec": spec, "status": status});
            let kinds = KindRules::default();
            let rules = RowRules { kinds: &kinds, only_managed: false, all_applications: true };
            let row = Row::derive(&"prod".into(), &key, body.to_string().as_bytes(), rules).unwrap();
            assert_eq!(row.owners.len(), 2);
            assert_eq!(reader.read("prod", &row.to_bytes()).unwrap(), row, "{kind}");
        }
    }
}
