//! Realistic small online shop for any number of clusters, and its activity.
//!
//! ```text
//! ingress ─▶ frontend ─▶ cart ─▶ cart-cache          shop
//!                     ─▶ search ─▶ catalogue-db
//!                     ─▶ recommendation
//!                     ─▶ checkout ─▶ payment ─▶ ledger    payments
//! sales-report, stock-sync, settlement               every few minutes
//! prometheus, grafana, log-shipper                   monitoring
//! coredns, kube-proxy                                kube-system
//! promotions.shop.example.com                        custom resources
//! ```
//!
//! The name of a cluster and a seed determine its objects and its activity.

mod activity;
mod cluster_wide;
mod logs;
mod names;
mod programs;
mod services;
mod workload;

use serde_json::Value;

pub use activity::{ActivityRate, ShopActivity};
pub use logs::ShopLogs;
pub use names::cluster_names;

use crate::{cluster::Cluster, status::Status};

/// Size of the shop in a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShopSize {
    /// All programs: some thirty pods.
    Full,
    /// A few pods, so that a thousand clusters fit on one machine.
    Corner,
}

/// Parameters of one shop.
#[derive(Debug, Clone, Copy)]
pub struct Shop<'a> {
    /// The cluster's name.
    pub cluster: &'a str,
    pub size: ShopSize,
    pub seed: u64,
}

// === impl Shop ===

impl Shop<'_> {
    /// Creates all objects of the shop; the controllers do the rest.
    pub fn open(&self, cluster: &Cluster) -> Result<(), Status> {
        for manifest in self.manifests() {
            match cluster.create(manifest) {
                Err(refused) if refused.code != 409 => return Err(refused),
                _ => {}
            }
        }
        Ok(())
    }

    /// The objects, in an order in which they can be created.
    pub fn manifests(&self) -> Vec<Value> {
        let mut rng = fastrand::Rng::with_seed(self.seed);
        let mut manifests = cluster_wide::manifests(self, &mut rng);
        let workloads = programs::WORKLOADS.iter().filter(|workload| workload.is_in(self.size));
        for workload in workloads {
            manifests.extend(workload.manifests(self, &mut rng));
        }
        manifests.extend(services::manifests(self, &mut rng));
        manifests
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controllers::fields;

    #[test]
    fn the_same_seed_makes_the_same_shop_and_another_one_differs() {
        let shop = |seed| Shop { cluster: "eu-west", size: ShopSize::Full, seed }.manifests();
        assert_eq!(shop(1), shop(1));
        assert_ne!(shop(1), shop(2));
    }

    #[test]
    fn every_object_is_named_once() {
        let manifests = Shop { cluster: "eu-west", size: ShopSize::Full, seed: 1 }.manifests();
        let mut names: Vec<_> = manifests
            .iter()
            .map(|object| (fields::text(object, "/kind"), fields::namespace(object), fields::name(object)))
            .collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
        assert!(names.iter().all(|(kind, _, name)| !kind.is_empty() && !name.is_empty()));
    }

    #[test]
    fn a_corner_shop_is_much_smaller() {
        let bytes = |size| -> usize {
            let manifests = Shop { cluster: "eu-west", size, seed: 1 }.manifests();
            manifests.iter().map(|object| object.to_string().len()).sum()
        };
        assert!(bytes(ShopSize::Corner) * 2 < bytes(ShopSize::Full));
    }
}
