//! Objects without a namespace, in an account that is limited to some.

use serde_json::{Value, json};
use spindrift_testkit::Cluster;

use super::{deployment, done, failed};
use crate::support::{Stack, account};

fn role(name: &str, annotations: Value) -> Value {
    let metadata = json!({ "name": name, "labels": { "everywhere": name }, "annotations": annotations });
    json!({ "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": metadata, "rules": [] })
}

#[tokio::test(flavor = "multi_thread")]
async fn cluster_scoped_objects_are_deleted_whichever_namespaces_an_account_has() {
    let cluster = Cluster::shared().await.unwrap();
    let namespace = cluster.namespace("everywhere").await.unwrap();
    let mut limited = account("main", cluster);
    limited["namespaces"] = json!([namespace]);
    let stack = Stack::with_settings(&["ConfigMap"], json!([limited]), &[]).await;
    stack.synced("main").await;
    let deploy = async |role: Value| {
        let task = done(&stack.hub, "deployManifest", deployment("main", json!([role]))).await;
        task["resultObjects"][0]["manifests"].clone()
    };
    let names = |task: &Value| task["resultObjects"][0]["manifestNamesByNamespace"].clone();

    let recreated = role("everywhere-recreated", json!({ "strategy.spinnaker.io/recreate": "true" }));
    let uid = async || deploy(recreated.clone()).await[0]["metadata"]["uid"].clone();
    assert_ne!(uid().await, uid().await, "it is another one");
    let delete =
        |name: &str| json!({ "account": "main", "manifestName": name, "location": "", "options": {} });
    let task = done(&stack.hub, "deleteManifest", delete("clusterRole everywhere-recreated")).await;
    assert_eq!(names(&task), json!({ "": ["clusterRole everywhere-recreated"] }));

    deploy(role("everywhere-labelled", json!({}))).await;
    let selector = json!({ "kind": "EQUALS", "key": "everywhere", "values": ["everywhere-labelled"] });
    let labelled = json!({ "account": "main", "kinds": ["clusterRole"], "location": "", "options": {},
        "labelSelectors": { "selectors": [selector] } });
    let task = done(&stack.hub, "deleteManifest", labelled).await;
    assert_eq!(names(&task), json!({ "": ["clusterRole everywhere-labelled"] }));

    let wishes = json!({ "strategy.spinnaker.io/versioned": "true", "strategy.spinnaker.io/max-version-history": "1" });
    deploy(role("everywhere-versioned", wishes.clone())).await;
    let mut next = role("everywhere-versioned", wishes);
    next["rules"] = json!([{ "apiGroups": [""], "resources": ["pods"], "verbs": ["get"] }]);
    let manifests = deploy(next).await;
    let task =
        done(&stack.hub, "cleanupArtifacts", json!({ "account": "main", "manifests": manifests })).await;
    assert_eq!(names(&task), json!({ "": ["clusterRole everywhere-versioned-v000"] }));
    done(&stack.hub, "deleteManifest", delete("clusterRole everywhere-versioned-v001")).await;

    // An object with a namespace is out of reach.
    let message = failed(&stack.hub, "deleteManifest", delete("configMap kube-root-ca.crt")).await;
    let refused = "namespace default has not been authorized in the configuration of account main";
    assert!(message.contains(refused), "{message}");
}
