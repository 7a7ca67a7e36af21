//! An account that acts as another service account.

use serde_json::json;
use spindrift_testkit::{Cluster, Database, eventually};

use crate::support::{LONG, Stack, account};

#[tokio::test(flavor = "multi_thread")]
async fn a_service_account_is_assumed_where_the_agent_allows_it_and_nowhere_else() {
    let cluster = Cluster::shared().await.unwrap();
    let namespace = &cluster.namespace("assume").await.unwrap();
    let kubectl = async |args: &[&str]| cluster.kubectl(args).await.unwrap();
    kubectl(&["create", "serviceaccount", "reader", "-n", namespace]).await;
    let role = format!("reader-{namespace}");
    kubectl(&["create", "clusterrole", &role, "--verb=list,watch", "--resource=configmaps"]).await;
    let subject = format!("--serviceaccount={namespace}:reader");
    let bind = ["create", "clusterrolebinding", &role, &format!("--clusterrole={role}"), &subject];
    kubectl(&bind).await;

    // The administrator, who may do everything, acts as one who may only read ConfigMaps.
    let mut assuming = account("assuming", cluster);
    assuming["assumeServiceAccount"] = json!(format!("{namespace}/reader"));
    let accounts = json!([assuming, account("main", cluster)]);
    let mut stack = Stack::with_accounts(Database::sqlite().unwrap(), &["ConfigMap", "Pod"], accounts).await;
    stack.synced("main").await;
    let line = stack.agent.get("/accounts?Config.Name=assuming").await.unwrap()[0].clone();
    assert_eq!(line["State"]["Name"], "DiscoveryError", "{line}");
    let error = line["State"]["Error"].as_str().unwrap();
    let expected = format!("assumeServiceAccount: {namespace}/reader is not allowed");
    assert!(error.contains(&expected) && error.contains("kubernetes.assumableServiceAccounts"), "{error}");

    // The agent's own configuration allows it: the account comes, with the rights of the service account.
    stack
        .agent
        .reconfigure(|settings| {
            settings["kubernetes"]["assumableServiceAccounts"] = json!([format!("{namespace}/*")]);
        })
        .unwrap();
    let denied = eventually!("Pods are denied to the service account", LONG, {
        let watches = stack.agent.get("/watches").await.unwrap();
        watches["assuming"]["denied"].as_array().cloned()
    });
    assert!(denied.iter().all(|watch| watch["kind"] == "Pod"), "{denied:?}");
    stack.synced("assuming").await;
    let watches = stack.agent.get("/watches").await.unwrap();
    assert_eq!(watches["assuming"]["watching"][0]["kind"], "ConfigMap");
    assert_eq!(watches["main"]["watching"].as_array().unwrap().len(), 2, "the other account is who it was");
}
