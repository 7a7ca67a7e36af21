//! 404 messages of each route.

use super::Refusal;
use crate::Kind;

/// Requested resource that does not exist: 404.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Missing<'a> {
    #[error("Account does not exist (name: {0})")]
    Account(&'a str),
    #[error("Application does not exist (name: {0})")]
    Application(&'a str),
    #[error("No clusters found (application: {application}, account: {account})")]
    Clusters { application: &'a str, account: &'a str },
    #[error("No clusters found (application: {application}, account: {account}, type: {provider})")]
    ClusterOfType { application: &'a str, account: &'a str, provider: &'a str },
    #[error("Cluster not found (application: {application}, account: {account}, name: {name})")]
    Cluster { application: &'a str, account: &'a str, name: &'a str },
    #[error(
        "No cluster provider of type: {provider} found that can handle cluster: {name} in application: {application}, \
         account: {account}"
    )]
    ClusterProvider { provider: &'a str, application: &'a str, account: &'a str, name: &'a str },
    #[error("Server group not found (account: {account}, region: {region}, name: {name})")]
    ServerGroup { account: &'a str, region: &'a str, name: &'a str },
    #[error("Server group not found (account: {account}, name: {name}, type: {provider})")]
    ServerGroupOfCluster { account: &'a str, name: &'a str, provider: &'a str },
    #[error(
        "No server groups found (account: {account}, location: {location}, cluster: {cluster}, type: {provider})"
    )]
    ServerGroups { account: &'a str, location: &'a str, cluster: &'a str, provider: &'a str },
    #[error("Target not found (target: {0})")]
    Target(&'a str),
    #[error("Security group '{0}' does not exist")]
    SecurityGroup(&'a str),
    #[error("Instance not found (id: {0})")]
    Instance(&'a str),
    #[error("Job not found (account: {account}, location: {location}, id: {id})")]
    Job { account: &'a str, location: &'a str, id: &'a str },
    #[error("Manifest (account: {account}, location: {location}, name: {name}) not found")]
    Manifest { account: &'a str, location: &'a str, name: &'a str },
    #[error(
        "No manifests matching (account: {account}, location: {location}, kind: {kind}, app {application}, cluster: \
         {cluster}, criteria: {criteria}) found"
    )]
    Dynamic {
        account: &'a str,
        location: &'a str,
        kind: &'a Kind,
        application: &'a str,
        cluster: &'a str,
        criteria: &'a str,
    },
}

impl From<Missing<'_>> for Refusal {
    fn from(missing: Missing<'_>) -> Self {
        Self::not_found(missing.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn not_found_messages_are_as_recorded() {
        let account = "account1";
        let kind = Kind::parse("rs");
        let table = [
            (Missing::Account("nope"), "Account does not exist (name: nope)"),
            (Missing::Application("SHOP"), "Application does not exist (name: SHOP)"),
            (
                Missing::Clusters { application: "shop", account: "nope" },
                "No clusters found (application: shop, account: nope)",
            ),
            (
                Missing::Cluster { application: "shop", account, name: "deployment nope" },
                "Cluster not found (application: shop, account: account1, name: deployment nope)",
            ),
            (
                Missing::ClusterProvider {
                    provider: "aws",
                    application: "shop",
                    account,
                    name: "deployment shop-web",
                },
                "No cluster provider of type: aws found that can handle cluster: deployment shop-web in application: \
                 shop, account: account1",
            ),
            (
                Missing::ServerGroup { account, region: "account1-testns00", name: "nope" },
                "Server group not found (account: account1, region: account1-testns00, name: nope)",
            ),
            (
                Missing::ServerGroupOfCluster {
                    account,
                    name: "replicaSet shop-rs-v000",
                    provider: "kubernetes",
                },
                "Server group not found (account: account1, name: replicaSet shop-rs-v000, type: kubernetes)",
            ),
            (
                Missing::ServerGroups {
                    account,
                    location: "account1-testns00",
                    cluster: "replicaSet shop-rs",
                    provider: "KUBERNETES",
                },
                "No server groups found (account: account1, location: account1-testns00, cluster: replicaSet shop-rs, \
                 type: KUBERNETES)",
            ),
            (Missing::Target("bogus"), "Target not found (target: bogus)"),
            (Missing::SecurityGroup("shop-netpol"), "Security group 'shop-netpol' does not exist"),
            (Missing::Instance("pod x"), "Instance not found (id: pod x)"),
            (
                Missing::Job { account: "wide", location: "wide-ns00", id: "job nope" },
                "Job not found (account: wide, location: wide-ns00, id: job nope)",
            ),
            (
                Missing::Manifest { account, location: "default", name: "deployment nope" },
                "Manifest (account: account1, location: default, name: deployment nope) not found",
            ),
            (
                Missing::Dynamic {
                    account,
                    location: "account1-testns00",
                    kind: &kind,
                    application: "shop",
                    cluster: "replicaSet nope",
                    criteria: "newest",
                },
                "No manifests matching (account: account1, location: account1-testns00, kind: replicaSet, app shop, \
                 cluster: replicaSet nope, criteria: newest) found",
            ),
        ];
        for (missing, message) in table {
            let refusal = Refusal::from(missing);
            assert_eq!((refusal.status, refusal.message.as_str()), (404, message));
        }
    }
}
