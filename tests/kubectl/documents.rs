//! JSON, YAML, names, templates and columns of one's own.

use serde_json::Value;

use crate::fleet::{ACCOUNTS, Fleet};

/// Objects that do not change by themselves.
const QUIET: &str =
    "pods,deploy,rs,sts,ds,jobs,cj,svc,ep,cm,ns,nodes,ing,pv,pvc,sc,hpa,netpol,pdb,events,roles,crd,wd";

#[tokio::test(flavor = "multi_thread")]
async fn objects_are_the_same_as_json_and_as_yaml() {
    let fleet = Fleet::shared().await;
    fleet.prints_like_kubectl(&[QUIET, "-A", "-o", "json"]).await;
    fleet.prints_like_kubectl(&["pod", "cart-running", "-n", "shop", "-o", "json"]).await;
    fleet.prints_like_kubectl(&["pods", "-n", "nowhere", "-o", "json"]).await;
    for args in [&["get", QUIET, "-A", "-o"][..], &["get", "cm", "settings", "-n", "shop", "-o"]] {
        let kubectl = fleet.cluster.kubectl(&[args, &["json"]].concat()).await.unwrap();
        let ours = fleet.spindrift(&[args, &["yaml", "-a", ACCOUNTS[0]]].concat()).await;
        let ours: Value = serde_saphyr::from_str(&ours.stdout).unwrap();
        assert_eq!(ours, serde_json::from_str::<Value>(&kubectl).unwrap(), "{args:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_secret_only_the_metadata_is_there() {
    let fleet = Fleet::shared().await;
    let args = ["get", "secret", "password", "-n", "shop", "-o", "json"];
    let mut theirs: Value = serde_json::from_str(&fleet.cluster.kubectl(&args).await.unwrap()).unwrap();
    let fields = theirs.as_object_mut().unwrap();
    fields.remove("data").unwrap();
    fields.remove("type").unwrap();
    let ours = fleet.spindrift(&[&args[..], &["-a", ACCOUNTS[0]]].concat()).await;
    assert_eq!(serde_json::from_str::<Value>(&ours.stdout).unwrap(), theirs);
}

#[tokio::test(flavor = "multi_thread")]
async fn names_templates_and_columns_are_kubectls() {
    let fleet = Fleet::shared().await;
    for args in [
        &["pods,deploy,wd", "-A", "-o", "name"][..],
        &["pods", "-A", "-o", "jsonpath={.items[*].metadata.name}"],
        &[
            "pods",
            "-n",
            "shop",
            "-o",
            "jsonpath={range .items[*]}{.metadata.name}{\"\\t\"}{.status.phase}{\"\\n\"}{end}",
        ],
        &["pods", "-n", "shop", "-o", "jsonpath={.items[?(@.status.phase==\"Failed\")].metadata.name}"],
        &[
            "pods",
            "-n",
            "shop",
            "-o",
            "jsonpath={.items[*].status.containerStatuses[?(@.restartCount>2)].name}",
        ],
        &["pods", "-n", "shop", "-o", "jsonpath={.items[0:3]['metadata.name','kind']}"],
        &["pods", "-n", "shop", "-o", "jsonpath={.items[-2:].metadata.name}"],
        &["pod", "cart-running", "-n", "shop", "-o", "jsonpath={.spec.containers[*]['name','image']}"],
        &["pod", "cart-running", "-n", "shop", "-o", "jsonpath={.metadata.labels}"],
        &["pod", "cart-running", "-n", "shop", "-o", "jsonpath={.spec.containers[0].env[0]}"],
        &["node", "node-a", "-o", r"jsonpath={.metadata.labels.kubernetes\.io/hostname}"],
        &["cm", "settings", "-n", "shop", "-o", "jsonpath={.data.b}"],
        &["wd", "-n", "shop", "-o", "jsonpath={.items[*].spec.ratio}"],
        &[
            "pods",
            "-A",
            "-o",
            "custom-columns=NAME:.metadata.name,IMAGE:.spec.containers[*].image,NODE:spec.nodeName",
        ],
        &[
            "pods",
            "-n",
            "shop",
            "-o",
            "custom-columns=Name:{.metadata.name},Labels:.metadata.labels,C:.status.conditions",
        ],
        &["wd", "-A", "--no-headers", "-o", "custom-columns=N:.metadata.name,R:.spec.ratio,S:.spec.size"],
        &["svc", "-A", "-o", "custom-columns=N:.metadata.name", "--sort-by=.metadata.name"],
    ] {
        fleet.prints_like_kubectl(args).await;
    }
}
