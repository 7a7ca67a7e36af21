//! Who answers a request, as far as its method and path tell.

use axum::http::Method;
use percent_encoding::percent_decode_str;

/// Who answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Plan {
    /// This hub alone.
    Ours,
    /// The Clouddriver.
    Theirs,
    /// Whoever has the account.
    Account(String),
    /// Both.
    Merge(List),
    /// Whoever knows the task.
    Task(String),
    /// This hub, if it knows what is asked for.
    OursFirst,
    /// Whoever has the accounts that the body names.
    Operations(Operations),
}

/// What both have a part of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum List {
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

/// How the body of operations is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Operations {
    /// A list of operations by name.
    Listed,
    /// One operation of this name.
    Named(String),
}

/// What is Clouddriver's below this is nobody's (`/v1/data` aside, which is).
const OUR_OWN: [&str; 6] = ["v1", "armory", "agents", "metrics", "prometheus_metrics", "openapi.json"];

const KUBERNETES: &str = "kubernetes";

// === impl Plan ===

impl Plan {
    /// Accounts and lists come first: an application may be called `task` or `ops`.
    pub(super) fn of(method: &Method, path: &str) -> Self {
        let segments: Vec<String> = path.split('/').filter(|it| !it.is_empty()).map(decoded).collect();
        let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
        let reads = *method == Method::GET || *method == Method::HEAD;
        if let Some(list) = List::of(&segments).filter(|_| reads) {
            return Self::Merge(list);
        }
        match &segments[..] {
            ["v1", "data", ..] => Self::Theirs,
            [first, ..] if OUR_OWN.contains(first) => Self::Ours,
            // Definitions of accounts, which live in a Clouddriver's database.
            ["credentials", "type", ..] => Self::Theirs,
            ["credentials" | "manifests" | "instances" | "securityGroups" | "serverGroups", account, ..]
            | ["applications", _, "clusters" | "serverGroups" | "jobs", account, ..]
            | ["applications", _, KUBERNETES, "pods", account, ..]
            | [_, "loadBalancers", account, _, _] => Self::Account((*account).to_owned()),
            ["cache", KUBERNETES, ..] | [KUBERNETES, "loadBalancers", ..] => Self::Ours,
            ["artifacts", ..] => Self::OursFirst,
            ["task", id] | [_, "task", id] | [_, "task", id, "owner" | "restart"] => {
                Self::Task(id.split_once(':').map_or(*id, |(id, _)| id).to_owned())
            }
            // Operations of other providers need no look at their accounts.
            ["ops"] | [KUBERNETES, "ops"] => Self::Operations(Operations::Listed),
            ["ops", name] | [KUBERNETES, "ops", name] => {
                Self::Operations(Operations::Named((*name).to_owned()))
            }
            _ => Self::Theirs,
        }
    }
}

// === impl List ===

impl List {
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

    /// How it looks when there is nothing in it.
    pub(super) fn nothing(self) -> &'static [u8] {
        match self {
            Self::Application | Self::ByAccount | Self::Health => b"{}",
            Self::Search => br#"[{"results":[]}]"#,
            _ => b"[]",
        }
    }

    /// Whether services act on what it lacks: an application is deleted once nothing of it is found, and accounts and
    /// applications that are not told are forgotten. Better an error, after which they ask again.
    pub(super) fn decides(self) -> bool {
        matches!(self, Self::Applications | Self::Application | Self::Credentials | Self::Search)
    }

    /// Whether Gate and Fiat ask for it all the time, and forget what they are not told.
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
    fn a_path_tells_who_answers() {
        use Plan::{Merge, Ours, OursFirst, Theirs};
        let account = |name: &str| Plan::Account(name.into());
        let task = |id: &str| Plan::Task(id.into());
        let table = [
            ("GET", "/v1/accounts", Ours),
            ("GET", "/v1/data/static/x", Theirs),
            ("GET", "/armory/agents", Ours),
            ("GET", "/health", Merge(List::Health)),
            ("GET", "/credentials", Merge(List::Credentials)),
            ("POST", "/credentials", Theirs),
            ("GET", "/credentials/type/kubernetes", Theirs),
            ("GET", "/credentials/prod%20eu", account("prod eu")),
            ("GET", "/credentials/prod/authorized", account("prod")),
            ("GET", "/applications", Merge(List::Applications)),
            ("GET", "/applications/shop/", Merge(List::Application)),
            ("GET", "/applications/shop/clusters", Merge(List::ByAccount)),
            ("GET", "/applications/shop/clusters/prod/x/aws", account("prod")),
            ("GET", "/applications/shop/serverGroups", Merge(List::Entries)),
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
            ("GET", "/securityGroups", Merge(List::ByAccount)),
            ("GET", "/securityGroups/prod/kubernetes", account("prod")),
            ("GET", "/task", Merge(List::Entries)),
            ("GET", "/task/01ABC", task("01ABC")),
            ("POST", "/task/01ABC:resume", task("01ABC")),
            ("PATCH", "/kubernetes/task/01ABC", task("01ABC")),
            ("POST", "/kubernetes/task/01ABC/restart", task("01ABC")),
            ("POST", "/ops", Plan::Operations(Operations::Listed)),
            ("POST", "/kubernetes/ops", Plan::Operations(Operations::Listed)),
            (
                "POST",
                "/kubernetes/ops/scaleManifest",
                Plan::Operations(Operations::Named("scaleManifest".into())),
            ),
            ("POST", "/aws/ops", Theirs),
            ("PUT", "/artifacts/fetch", OursFirst),
            ("GET", "/artifacts/credentials", Merge(List::ArtifactCredentials)),
            ("POST", "/cache/kubernetes/manifest", Ours),
            ("POST", "/cache/aws/ServerGroup", Theirs),
            ("GET", "/applications/task/clusters", Merge(List::ByAccount)),
            ("GET", "/applications/ops/clusters/prod", account("prod")),
            ("GET", "/credentials/ops", account("ops")),
            ("GET", "/networks/aws", Theirs),
            ("GET", "/projects/shop/clusters", Merge(List::Projects)),
            ("GET", "/", Theirs),
        ];
        for (method, path, plan) in table {
            assert_eq!(Plan::of(&method.parse().unwrap(), path), plan, "{method} {path}");
        }
    }
}
