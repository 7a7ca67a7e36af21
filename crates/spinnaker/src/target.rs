//! Dynamic targets: choice of an object of a cluster by `newest` or `largest`.

use serde_json::Value;

use crate::{Coordinates, Manifest, annotation::moniker};

/// Criterion for one object of a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Criteria {
    Oldest,
    Newest,
    SecondNewest,
    Largest,
    Smallest,
}

// === impl Criteria ===

impl Criteria {
    pub fn parse(text: &str) -> Option<Self> {
        Some(match text.to_lowercase().as_str() {
            "oldest" => Self::Oldest,
            "newest" => Self::Newest,
            "second_newest" => Self::SecondNewest,
            "largest" => Self::Largest,
            "smallest" => Self::Smallest,
            _ => return None,
        })
    }

    /// Picks an object; of equal ones, the order of the list decides.
    pub fn pick<'a>(self, cluster: &[&'a Manifest]) -> Option<&'a Manifest> {
        let mut objects = cluster.to_vec();
        match self {
            Self::Oldest | Self::Newest | Self::SecondNewest => {
                objects.sort_by_key(|object| object.created());
            }
            Self::Largest | Self::Smallest => objects.sort_by_key(|object| replicas(object)),
        }
        match self {
            Self::Oldest | Self::Smallest => objects.first().copied(),
            Self::Newest | Self::Largest => objects.last().copied(),
            Self::SecondNewest => objects.len().checked_sub(2).and_then(|index| objects.get(index).copied()),
        }
    }
}

#[allow(clippy::cast_possible_truncation)]
fn replicas(object: &Manifest) -> i64 {
    let replicas = object.pointer("/spec/replicas").and_then(Value::as_f64);
    replicas.map_or(-1, |replicas| replicas as i64)
}

/// Objects of a list that belong to a cluster, by annotation only.
pub fn cluster<'a>(objects: &'a [Manifest], application: &str, cluster: &str) -> Vec<&'a Manifest> {
    let is_part = |object: &&Manifest| {
        object.annotation(moniker::APPLICATION) == Some(application)
            && object.annotation(moniker::CLUSTER) == Some(cluster)
    };
    objects.iter().filter(is_part).collect()
}

/// Coordinates of objects, for the response.
pub fn coordinates(objects: &[&Manifest]) -> Vec<Coordinates> {
    objects.iter().map(|object| object.coordinates()).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn replica_set(name: &str, created: u32, replicas: Option<i32>, cluster: &str) -> Manifest {
        json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "spec": {"replicas": replicas}, "metadata": {
            "name": name, "namespace": "ns", "creationTimestamp": format!("2026-11-15T20:37:{created:02}Z"),
            "annotations": {"moniker.spinnaker.io/application": "shop", "moniker.spinnaker.io/cluster": cluster}}})
        .try_into()
        .unwrap()
    }

    #[test]
    fn of_equal_objects_the_order_of_the_list_decides() {
        let sets = |order: [&str; 3]| order.map(|name| replica_set(name, 10, Some(2), "replicaSet shop"));
        for order in [["a", "b", "c"], ["c", "a", "b"]] {
            let objects = sets(order);
            let cluster = cluster(&objects, "shop", "replicaSet shop");
            let [first, second, third] = order;
            let table = [
                (Criteria::Oldest, first),
                (Criteria::Smallest, first),
                (Criteria::SecondNewest, second),
                (Criteria::Newest, third),
                (Criteria::Largest, third),
            ];
            for (criteria, name) in table {
                assert_eq!(criteria.pick(&cluster).unwrap().name(), Some(name), "{criteria:?} of {order:?}");
            }
        }
    }

    #[test]
    fn one_object_of_a_cluster_is_picked() {
        let objects = [
            replica_set("c", 30, Some(1), "replicaSet shop"),
            replica_set("a", 10, Some(2), "replicaSet shop"),
            replica_set("b", 20, None, "replicaSet shop"),
            replica_set("x", 40, Some(9), "replicaSet other"),
        ];
        let cluster = cluster(&objects, "shop", "replicaSet shop");
        let table =
            [("oldest", "a"), ("newest", "c"), ("SECOND_NEWEST", "b"), ("largest", "a"), ("smallest", "b")];
        for (criteria, name) in table {
            let picked = Criteria::parse(criteria).unwrap().pick(&cluster).unwrap();
            assert_eq!(picked.name(), Some(name), "{criteria}");
        }
        assert_eq!(Criteria::parse("middle"), None);
        assert!(Criteria::Newest.pick(&[]).is_none());
        assert!(Criteria::SecondNewest.pick(&cluster[..1]).is_none());
        let json = serde_json::to_value(coordinates(&cluster[..1])).unwrap();
        assert_eq!(json, json!([{"kind": "replicaSet", "namespace": "ns", "name": "c"}]));
    }
}
