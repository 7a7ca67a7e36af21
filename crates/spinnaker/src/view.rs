//! JSON of Clouddriver's responses for Gate and Deck, built from rows.
//!
//! Nulls are never written; lists and maps are always present, perhaps empty.

use serde::Serialize;

use crate::{Kind, Row, row::Labels};

mod account;
mod application;
mod cluster;
mod instance;
mod job;
mod load_balancer;
mod manager;
mod manifest;
mod metrics;
mod project;
mod raw_resource;
mod search;
mod security_group;
mod server_group;

pub use account::{AccountDetails, AccountMarks, AccountSettings, AccountView};
pub use application::{Application, ApplicationDetails, ClusterRef, applications, clusters_of};
pub use cluster::{Cluster, ClusterSummary};
pub use instance::{Console, ConsoleOutput, Instance, containers};
pub use job::{JobState, JobView, NotAJob, PodOfJob, properties};
pub use load_balancer::{LoadBalancer, LoadBalancerServerGroup};
pub use manager::ServerGroupManager;
pub use manifest::{ManifestView, event_selector, sort_events};
pub use metrics::ContainerMetrics;
pub use project::{ClustersOfProject, Project};
pub use raw_resource::{InvalidKindExpression, KindExpressions, RawResource};
pub use search::{Hit, SearchPage, SearchTypes, Searched, search};
pub use security_group::{SecurityGroup, SecurityGroupSummary, security_groups};
pub use server_group::{
    ExpandedServerGroup, InstanceCounts, ServerGroup, ServerGroupSummary, server_group_id,
};

/// The one provider that there is.
pub const KUBERNETES: &str = "kubernetes";

/// Fields of every object.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Common<'a> {
    account: &'a str,
    namespace: &'a str,
    display_name: &'a str,
    api_version: &'a str,
    kind: &'a Kind,
    labels: &'a Labels,
    #[serde(skip_serializing_if = "Option::is_none")]
    created_time: Option<i64>,
}

/// Map that is always empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
struct Empty {}

// === impl Common ===

impl<'a> Common<'a> {
    fn of(row: &'a Row) -> Self {
        Self {
            account: &row.account,
            namespace: &row.object.namespace,
            display_name: &row.object.name,
            api_version: &row.summary.api_version,
            kind: &row.object.kind,
            labels: &row.summary.labels,
            created_time: row.summary.created,
        }
    }
}
