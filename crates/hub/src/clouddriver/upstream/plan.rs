//! Choice of who serves a request, by method and path.

use axum::http::Method;
use percent_encoding::percent_decode_str;

/// Destination of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RoutePlan {
    /// This hub alone.
    Ours,
    /// The upstream alone.
    Theirs,
    /// The owner of the account.
    Account(String),
    /// Both; the responses are merged.
    Merge(MergedList),
    /// The owner of the task.
    Task(String),
    /// This hub, or the upstream if this hub returns 404.
    OursFirst,
    /// The owner of the accounts that the body names.
    Operations(OperationsForm),
}

/// Lists of which both have a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum MergedList {
    Applications,
    Application,
    /// A map by account.
    ByAccount,
    /// A list of entries with an account.
    Entries,
    LoadBalancers,
    Credentials,
    Projects,
    Search,
    Stages,
    ArtifactCredentials,
    Health,
}

/// Format of a body with operations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum OperationsForm {
    /// List of operations by name.
    Listed,
    /// Description of the operation that the path names.
    Named(String),
}

/// First segments that Clouddriver does not have, except `/v1/data`.
const HUB_ONLY: [&str; 7] = ["v1", "armory", "agents", "metrics", "prometheus_metrics", "openapi.json", "ui"];

const KUBERNETES: &str = "kubernetes";

// === impl RoutePlan ===

impl RoutePlan {
    /// Chooses for a request. Accounts and lists come first: an application may be called `task` or `ops`.
    pub(super) fn of(method: &Method, path: &str) -> Self {
        let segments: Vec<String> = path.split('/').filter(|it| !it.is_empty()).map(decoded).collect();
        let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
        let reads = *method == Method::GET || *method == Method::HEAD;
        if let Some(list) = MergedList::of(&segments).filter(|_| reads) {
            return Self::Merge(list);
        }
        match &segments[..] {
            ["v1", "data", ..] => Self::Theirs,
            [first, ..] if HUB_ONLY.contains(first) => Self::Ours,
            // Definitions of accounts, which are in a Clouddriver's database.
            ["credentials", "type", ..] => Self::Theirs,
            ["credentials" | "manifests" | "instances" | "securityGroups" | "serverGroups", account, ..]
            | ["applications", _, "clusters" | "serverGroups" | "jobs", account, ..]
            | ["applications", _, KUBERNETES, "pods", account, ..]
            | [_, "loadBalancers", account, _, _] => Self::Account((*account).to_owned()),
            // The page about this hub, and probes of Kubernetes, which are about this process.
            [] | ["health", ..] | ["cache", KUBERNETES, ..] | [KUBERNETES, "loadBalancers", ..] => Self::Ours,
            ["artifacts", ..] => Self::OursFirst,
            ["task", id] | [_, "task", id] | [_, "task", id, "owner" | "restart"] => {
                Self::Task(id.split_once(':').map_or(*id, |(id, _)| id).to_owned())
            }
            // Operations of other providers go to the upstream whatever their accounts.
            ["ops"] | [KUBERNETES, "ops"] => Self::Operations(OperationsForm::Listed),
            ["ops", name] | [KUBERNETES, "ops", name] => {
                Self::Operations(OperationsForm::Named((*name).to_owned()))
            }
            _ => Self::Theirs,
        }
    }
}

// === impl MergedList ===

impl MergedList {
    fn of(segments: &[&str]) -> Option<Self> {
        Some(match segments {
            ["applications"] => Self::Applications,
            ["applications", _] => Self::Application,
            ["applications", _, "clusters"] | ["securityGroups"] => Self::ByAccount,
            ["applications", _, "loadBalancers"] => Self::LoadBalancers,
            ["applications", _, "serverGroups" | "serverGroupManagers" | "rawResources"]
            | ["serverGroups" | "task"]
            | ["cache", "introspection"] => Self::Entries,
            ["projects", _, "clusters"] => Self::Projects,
            ["credentials"] => Self::Credentials,
            ["artifacts", "credentials"] => Self::ArtifactCredentials,
            ["search"] => Self::Search,
            ["features", "stages"] => Self::Stages,
            ["health"] => Self::Health,
            _ => return None,
        })
    }

    /// Body without entries.
    pub(super) fn empty(self) -> &'static [u8] {
        match self {
            Self::Application | Self::ByAccount | Self::Health => b"{}",
            Self::Search => br#"[{"results":[]}]"#,
            _ => b"[]",
        }
    }

    /// Whether services act on missing entries: they delete an application of which nothing is found, and drop accounts
    /// and applications that are not listed. For these an error is better, after which they retry.
    pub(super) fn is_authoritative(self) -> bool {
        matches!(self, Self::Applications | Self::Application | Self::Credentials | Self::Search)
    }

    /// Whether Gate and Fiat poll it, and drop entries that are missing.
    pub(super) fn is_polled(self) -> bool {
        matches!(self, Self::Applications | Self::Credentials)
    }
}

fn decoded(segment: &str) -> String {
    percent_decode_str(segment).decode_utf8_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn method_and_path_choose_the_plan() {
        use RoutePlan::{Merge, Ours, OursFirst, Theirs};
        let account = |name: &str| RoutePlan::Account(name.into());
        let task = |id: &str| RoutePlan::Task(id.into());
        let table = [
            ("GET", "/v1/accounts", Ours),
            ("GET", "/v1/data/static/x", Theirs),
            ("GET", "/armory/agents", Ours),
            ("GET", "/health", Merge(MergedList::Health)),
            ("GET", "/health/liveness", Ours),
            ("GET", "/credentials", Merge(MergedList::Credentials)),
            ("POST", "/credentials", Theirs),
            ("GET", "/credentials/type/kubernetes", Theirs),
            ("GET", "/credentials/prod%20eu", account("prod eu")),
            ("GET", "/credentials/prod/authorized", account("prod")),
            ("GET", "/applications", Merge(MergedList::Applications)),
            ("GET", "/applications/shop/", Merge(MergedList::Application)),
            ("GET", "/applications/shop/clusters", Merge(MergedList::ByAccount)),
            ("GET", "/applications/shop/clusters/prod/x/aws", account("prod")),
            ("GET", "/applications/shop/serverGroups", Merge(MergedList::Entries)),
            ("GET", "/applications/shop/serverGroups/prod/ns/replicaSet%20x", account("prod")),
            ("GET", "/applications/shop/jobs/prod/ns/job%20x", account("prod")),
            ("DELETE", "/applications/shop/jobs/prod/ns/job%20x", account("prod")),
            ("GET", "/applications/shop/kubernetes/pods/prod/ns/p/log", account("prod")),
            ("GET", "/applications/shop/functions", Theirs),
            ("GET", "/manifests/prod/_/namespace%20x", account("prod")),
            ("GET", "/instances/prod/ns/pod%20x/console", account("prod")),
            ("GET", "/aws/loadBalancers/prod/eu-west-1/lb", account("prod")),
            ("GET", "/aws/loadBalancers", Theirs),
            ("GET", "/kubernetes/loadBalancers", Ours),
            ("GET", "/securityGroups", Merge(MergedList::ByAccount)),
            ("GET", "/securityGroups/prod/kubernetes", account("prod")),
            ("GET", "/task", Merge(MergedList::Entries)),
            ("GET", "/task/01ABC", task("01ABC")),
            ("POST", "/task/01ABC:resume", task("01ABC")),
            ("PATCH", "/kubernetes/task/01ABC", task("01ABC")),
            ("POST", "/kubernetes/task/01ABC/restart", task("01ABC")),
            ("POST", "/ops", RoutePlan::Operations(OperationsForm::Listed)),
            ("POST", "/kubernetes/ops", RoutePlan::Operations(OperationsForm::Listed)),
            (
                "POST",
                "/kubernetes/ops/scaleManifest",
                RoutePlan::Operations(OperationsForm::Named("scaleManifest".into())),
            ),
            ("POST", "/aws/ops", Theirs),
            ("PUT", "/artifacts/fetch", OursFirst),
            ("GET", "/artifacts/credentials", Merge(MergedList::ArtifactCredentials)),
            ("POST", "/cache/kubernetes/manifest", Ours),
            ("POST", "/cache/aws/ServerGroup", Theirs),
            ("GET", "/applications/task/clusters", Merge(MergedList::ByAccount)),
            ("GET", "/applications/ops/clusters/prod", account("prod")),
            ("GET", "/credentials/ops", account("ops")),
            ("GET", "/networks/aws", Theirs),
            ("GET", "/projects/shop/clusters", Merge(MergedList::Projects)),
            ("GET", "/", Ours),
        ];
        for (method, path, plan) in table {
            assert_eq!(RoutePlan::of(&method.parse().unwrap(), path), plan, "{method} {path}");
        }
    }
}
