//! Server group managers: deployments, with the replica sets they own.

use serde::Serialize;

use super::{Common, KUBERNETES};
use crate::{Inventory, Moniker, Row};

/// A deployment.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ServerGroupManager<'a> {
    moniker: &'a Moniker,
    server_groups: Vec<ManagedServerGroup<'a>>,
    name: String,
    #[serde(flatten)]
    common: Common<'a>,
    region: &'a str,
    cloud_provider: &'static str,
}

#[derive(Debug, Serialize)]
struct ManagedServerGroup<'a> {
    name: String,
    account: &'a str,
    namespace: &'a str,
    moniker: &'a Moniker,
    region: &'a str,
}

// === impl ServerGroupManager ===

impl<'a> ServerGroupManager<'a> {
    pub fn new(row: &'a Row, inventory: &Inventory<'a>) -> Self {
        let managed = |group: &'a Row| ManagedServerGroup {
            name: group.full_name(),
            account: &group.account,
            namespace: &group.object.namespace,
            moniker: &group.summary.moniker,
            region: &group.object.namespace,
        };
        Self {
            moniker: &row.summary.moniker,
            server_groups: inventory.server_groups_of(row).map(managed).collect(),
            name: row.full_name(),
            common: Common::of(row),
            region: &row.object.namespace,
            cloud_provider: KUBERNETES,
        }
    }
}
