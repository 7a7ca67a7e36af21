//! Instances as lists show them. Most rows are instances, and lists show little of each: only those fields are parsed, and
//! their strings are borrowed from the stored bytes.

use std::{borrow::Cow, sync::Arc};

use serde::{Deserialize, de::IgnoredAny};

use super::{HealthState, PodHealth, Row, stored::Owner};
use crate::FullName;

/// Separator of concatenated rows: the ASCII record separator, which JSON text never contains.
pub const RECORDS: u8 = 30;

/// ListedRow rows of instances, in pieces: a single growing buffer would be copied again and again.
#[derive(Debug, Default)]
pub struct InstanceRows {
    pieces: Vec<Piece>,
}

/// Rows of one account.
#[derive(Debug)]
struct Piece {
    account: Arc<str>,
    rows: Vec<u8>,
}

/// Size of a piece that collects single rows.
const PIECE: usize = 64 * 1024;

/// Instance as a list shows it.
#[derive(Debug, Clone, PartialEq)]
pub struct ListedInstance<'a> {
    pub(crate) account: &'a str,
    pub(crate) kind: Cow<'a, str>,
    pub(crate) namespace: Cow<'a, str>,
    pub(crate) name: Cow<'a, str>,
    pub(crate) uid: Cow<'a, str>,
    health: Option<ListedHealth<'a>>,
    owners: Vec<Owner<'a>>,
}

/// Health of a pod and of its containers.
#[derive(Debug, Clone, PartialEq, Deserialize)]
struct ListedHealth<'a> {
    pod: HealthState,
    #[serde(default, borrow)]
    containers: Vec<ContainerHealth<'a>>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
struct ContainerHealth<'a>(#[serde(borrow)] Cow<'a, str>, HealthState);

/// Fields of a stored row that a list shows.
#[derive(Deserialize)]
struct ListedRow<'a>(
    #[serde(borrow)] Cow<'a, str>,
    #[serde(borrow)] Cow<'a, str>,
    #[serde(borrow)] Cow<'a, str>,
    IgnoredAny,
    IgnoredAny,
    IgnoredAny,
    #[serde(borrow)] Vec<Owner<'a>>,
    #[serde(borrow)] ShownOfSummary<'a>,
);

#[derive(Deserialize)]
struct ShownOfSummary<'a> {
    #[serde(borrow)]
    uid: Cow<'a, str>,
    #[serde(default, borrow)]
    aspect: ShownOfAspect<'a>,
}

#[derive(Deserialize, Default)]
struct ShownOfAspect<'a> {
    #[serde(borrow)]
    instance: Option<ListedHealth<'a>>,
}

// === impl InstanceRows ===

impl InstanceRows {
    /// Adds stored rows of an account: one, or several separated by [`RECORDS`].
    pub fn add(&mut self, account: &str, rows: &[u8]) {
        let account = match self.pieces.last_mut() {
            Some(last) if *last.account == *account => {
                if last.rows.len() + rows.len() < last.rows.capacity() {
                    last.rows.push(RECORDS);
                    last.rows.extend_from_slice(rows);
                    return;
                }
                last.account.clone()
            }
            _ => account.into(),
        };
        let mut piece = Piece { account, rows: Vec::with_capacity(rows.len().max(PIECE)) };
        piece.rows.extend_from_slice(rows);
        self.pieces.push(piece);
    }

    /// Size of all rows.
    pub fn bytes(&self) -> usize {
        self.pieces.iter().map(|piece| piece.rows.len()).sum()
    }

    /// Parses each row; an error means that another release wrote it.
    pub fn read(&self) -> impl Iterator<Item = Result<ListedInstance<'_>, serde_json::Error>> {
        self.pieces.iter().flat_map(|Piece { account, rows }| {
            let rows = rows.split(|byte| *byte == RECORDS).filter(|row| !row.is_empty());
            rows.map(|row| ListedInstance::read(account, row))
        })
    }
}

// === impl ListedInstance ===

impl<'a> ListedInstance<'a> {
    fn read(account: &'a str, stored: &'a [u8]) -> Result<Self, serde_json::Error> {
        let ListedRow(kind, namespace, name, _, _, _, owners, summary) = serde_json::from_slice(stored)?;
        let ShownOfSummary { uid, aspect } = summary;
        Ok(Self { account, kind, namespace, name, uid, health: aspect.instance, owners })
    }

    /// Kind and name of its owners.
    pub(crate) fn owners(&self) -> impl Iterator<Item = (&str, &str)> {
        self.owners.iter().map(|Owner(kind, name)| (&**kind, &**name))
    }

    pub(crate) fn sort_key(&self) -> (&str, &str) {
        (&self.kind, &self.name)
    }

    /// Health of the pod, if known.
    pub(crate) fn pod(&self) -> Option<HealthState> {
        self.health.as_ref().map(|health| health.pod)
    }

    /// Health of its containers, by name.
    pub(crate) fn containers(&self) -> impl DoubleEndedIterator<Item = (&str, HealthState)> {
        let containers = self.health.as_ref().map_or(&[][..], |health| &health.containers);
        containers.iter().map(|ContainerHealth(name, state)| (&**name, *state))
    }
}

impl<'a> From<&'a Row> for ListedInstance<'a> {
    fn from(row: &'a Row) -> Self {
        let health = |health: &'a PodHealth| ListedHealth {
            pod: health.pod,
            containers: health
                .containers()
                .map(|(name, state)| ContainerHealth(name.into(), state))
                .collect(),
        };
        let owner = |owner: &'a FullName| Owner(owner.kind.spelling(), (&owner.name).into());
        Self {
            account: &row.account,
            kind: row.object.kind.spelling(),
            namespace: (&row.object.namespace).into(),
            name: (&row.object.name).into(),
            uid: (&row.summary.uid).into(),
            health: row.health().map(health),
            owners: row.owners.iter().map(owner).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use spindrift_model::ObjectKey;

    use super::*;
    use crate::{KindRules, RowRules};

    fn pod(name: &str) -> Row {
        let body = json!({"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "namespace": "web", "uid": format!("uid of \"{name}\""), "labels": {"a": "b"},
                "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "shop-5c6"},
                    {"apiVersion": "example.com/v1", "kind": "Odd\"Kind", "name": "x"}]},
            "status": {"phase": "Running", "containerStatuses": [
                {"name": "main", "ready": true, "state": {"running": {}}}, {"name": "side", "ready": false}]}});
        let key =
            ObjectKey { group: "".into(), kind: "Pod".into(), namespace: "web".into(), name: name.into() };
        let kinds = KindRules::default();
        let rules = RowRules { kinds: &kinds, only_managed: false, all_applications: false };
        Row::derive(&"prod".into(), &key, body.to_string().as_bytes(), rules).unwrap()
    }

    #[test]
    fn an_instance_is_listed_alike_from_its_row_and_from_stored_bytes() {
        let pods: Vec<_> = (0..1000).map(|number| pod(&format!("shop-5c6-{number}"))).collect();
        let (mut one_by_one, mut gathered) = (InstanceRows::default(), InstanceRows::default());
        for pod in &pods {
            one_by_one.add("prod", &pod.to_bytes());
        }
        let stored: Vec<_> = pods.iter().map(Row::to_bytes).collect();
        gathered.add("prod", &stored.join(&RECORDS));
        gathered.add("prod", &[]);
        let expected: Vec<_> = pods.iter().map(ListedInstance::from).collect();
        assert!(one_by_one.pieces.len() > 1, "they are more than a piece holds");
        for rows in [&one_by_one, &gathered] {
            let read: Vec<_> = rows.read().map(Result::unwrap).collect();
            assert!(read == expected);
        }
    }

    #[test]
    fn an_invalid_row_does_not_affect_others() {
        let mut rows = InstanceRows::default();
        rows.add("prod", &[&*pod("a").to_bytes(), b"{}", &*pod("b").to_bytes()].join(&RECORDS));
        rows.add("test", b"nonsense");
        let names: Vec<_> = rows.read().map(|read| read.ok().map(|instance| instance.name)).collect();
        assert_eq!(names, [Some("a".into()), None, Some("b".into()), None]);
    }
}
