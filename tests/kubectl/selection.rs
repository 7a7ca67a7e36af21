//! Namespaces, names, selectors and additional columns.

use crate::fleet::Fleet;

#[tokio::test(flavor = "multi_thread")]
async fn selections_are_those_of_kubectl() {
    let fleet = Fleet::shared().await;
    for args in [
        &["pods", "-n", "shop"][..],
        &["pod", "cart-running", "-n", "shop"],
        &["pods", "failed", "cart-running", "-n", "shop"],
        &["pod/cart-running", "svc/cluster", "pod/failed", "-n", "shop"],
        &["deploy,svc,cm", "-n", "shop"],
        &["deploy,statefulsets.apps,nodes", "-A", "-o", "wide"],
        &["pods,nodes", "-n", "office"],
        &["node", "node-a"],
        &["nodes", "-L", "topology.kubernetes.io/zone,missing"],
        &["pods", "-n", "shop", "-l", "app in (cart,crash),tier!=x"],
        &["pods", "-A", "--field-selector", "status.phase=Running,metadata.namespace!=office"],
        &["pods", "-n", "shop", "--no-headers", "--show-labels"],
        &["svc", "-n", "shop", "--show-kind"],
        &["pods", "-A", "--sort-by", ".metadata.name"],
        &["pods", "-n", "shop", "--sort-by={.status.containerStatuses[0].restartCount}", "-l", "app"],
        &["pv", "--sort-by=.spec.capacity.storage", "-o", "name"],
    ] {
        fleet.prints_like_kubectl(args).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_message_is_that_of_kubectl() {
    let fleet = Fleet::shared().await;
    for (args, message) in [
        (&["get", "pods"][..], "No resources found in default namespace.\n"),
        (&["get", "pods,deploy", "-n", "nowhere"], "No resources found in nowhere namespace.\n"),
        (&["get", "pods", "-A", "-l", "no=body"], "No resources found\n"),
        (&["get", "nodes", "-l", "no=body"], "No resources found\n"),
    ] {
        let printed = fleet.spindrift(args).await;
        assert_eq!(
            (printed.stdout.as_str(), printed.stderr.as_str(), printed.code),
            ("", message, Some(0)),
            "{args:?}"
        );
    }
}
