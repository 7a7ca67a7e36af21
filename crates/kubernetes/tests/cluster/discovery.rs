use spindrift_testkit::{Cluster, eventually};

use crate::support::{connect, resource};

const CRD: &str = r#"{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",
    "metadata":{"name":"widgets.later.example.com"},
    "spec":{"group":"later.example.com","scope":"Namespaced",
            "names":{"kind":"Widget","plural":"widgets","singular":"widget","listKind":"WidgetList"},
            "versions":[
                {"name":"v1beta1","served":true,"storage":false,"schema":{"openAPIV3Schema":{"type":"object"}}},
                {"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}]}}"#;

#[tokio::test]
async fn built_in_kinds_and_later_ones_are_discovered() -> anyhow::Result<()> {
    let cluster = Cluster::shared().await?;
    let api = connect(cluster.kubeconfig()).await?;

    let pod = resource(&api, "", "Pod").await?;
    assert_eq!((pod.version.as_str(), &*pod.plural, pod.namespaced), ("v1", "pods", true));
    let deployment = resource(&api, "apps", "Deployment").await?;
    assert_eq!((deployment.version.as_str(), &*deployment.plural), ("v1", "deployments"));
    assert!(!resource(&api, "", "Node").await?.namespaced);
    assert!(resource(&api, "", "Binding").await.is_err(), "it cannot be listed");
    assert!(resource(&api, "later.example.com", "Widget").await.is_err());

    cluster.kubectl_stdin(&["apply", "-f", "-"], CRD).await?;
    let widget =
        eventually!("the new kind is discovered", resource(&api, "later.example.com", "Widget").await);
    assert_eq!((widget.version.as_str(), &*widget.plural), ("v1", "widgets"));
    Ok(())
}

#[tokio::test]
async fn the_identity_of_a_cluster_is_read() -> anyhow::Result<()> {
    let cluster = Cluster::shared().await?;
    let api = connect(cluster.kubeconfig()).await?;
    assert_eq!(api.version().await?, "v1.36.3");

    let identity = eventually!("kube-system is there", {
        let identity = api.identity().await.unwrap();
        identity.uid.is_some().then_some(identity)
    });
    let uid = cluster.kubectl(&["get", "namespace", "kube-system", "-o", "jsonpath={.metadata.uid}"]).await?;
    assert_eq!(identity.uid, Some(uid));
    assert_eq!(identity.host, cluster.url());
    assert_eq!(identity.ca_fingerprint.map(|fingerprint| fingerprint.len()), Some(32 * 3 - 1));

    let namespace = cluster.namespace("seen").await?;
    assert!(api.namespaces().await?.contains(&namespace));
    Ok(())
}

#[tokio::test]
async fn without_access_to_kube_system_the_authority_identifies_the_cluster() -> anyhow::Result<()> {
    let cluster = Cluster::shared().await?;
    let api = connect(&cluster.kubeconfig_for("stranger")?).await?;
    let identity = api.identity().await?;
    assert_eq!(identity.uid, None);
    assert!(identity.ca_fingerprint.is_some());
    assert!(api.namespaces().await.unwrap_err().is_forbidden());
    Ok(())
}
