//! Usage of pods and nodes, by a metrics API of ours behind the real API server.

use serde_json::json;
use spindrift_testkit::{Kubectl, MetricsApi};

use crate::{output::CommandOutput, settings::Settings, tally::Tally, world::Living};

const NAMESPACE: &str = "top";

/// Compares every word of the command line, before and after there is something to show.
pub(crate) async fn compare(living: &Living, settings: &Settings, tally: &mut Tally) {
    let Living { cluster, stack, .. } = living;
    let (kubectl, command) = (Kubectl::with(cluster.kubeconfig()).await.unwrap(), stack.command());
    let mut agree = async |arguments: &[&str]| {
        let theirs: CommandOutput = kubectl.output(arguments, "").await.unwrap().into();
        let ours = command.run(arguments, "").await;
        let difference = CommandOutput::difference(&theirs, &ours);
        let kind = if arguments[1].starts_with("node") { "Node" } else { "Pod" };
        tally.add_plain("top", kind, difference.map(|difference| format!("{arguments:?}: {difference}")));
    };
    agree(&["top", "pods", "-n", NAMESPACE]).await;
    agree(&["top", "nodes"]).await;

    let metrics = MetricsApi::start(cluster).await.unwrap();
    agree(&["top", "pods", "-n", NAMESPACE]).await;
    for (namespace, name, app, containers) in [
        (NAMESPACE, "web-1", "web", &[("main", "12345678n", "20Mi"), ("envoy", "3m", "1500Ki")][..]),
        (NAMESPACE, "web-2", "web", &[("main", "250m", "1Gi"), ("envoy", "0", "0")]),
        (NAMESPACE, "db", "db", &[("main", "1500m", "3000000k")]),
        (NAMESPACE, "idle", "idle", &[]),
        ("elsewhere", "web-1", "web", &[("main", "1", "1")]),
    ] {
        metrics.measure_pod(namespace, name, &json!({ "app": app }), containers);
    }
    metrics.measure_node("node-1", "512m", "1000Mi");
    let in_namespace = [
        &["top", "pods"][..],
        &["top", "pod"],
        &["top", "pods", "--containers"],
        &["top", "pod", "web-1"],
        &["top", "pod", "web-1", "--containers"],
        &["top", "pod", "absent"],
        &["top", "pods", "-l", "app=web"],
        &["top", "pods", "-l", "app=web", "--containers"],
        &["top", "pods", "-l", "app=none"],
        &["top", "pods", "--sort-by=cpu"],
        &["top", "pods", "--sort-by=memory", "--no-headers"],
        &["top", "pods", "--sort-by=cpu", "--containers"],
    ];
    for words in settings.some(in_namespace) {
        agree(&[words, &["-n", NAMESPACE]].concat()).await;
    }
    let anywhere = [
        &["top", "pods", "-A"][..],
        &["top", "pods", "-A", "--containers", "--no-headers"],
        &["top", "nodes"],
        &["top", "node", "node-1"],
        &["top", "node", "absent"],
        &["top", "nodes", "--no-headers"],
    ];
    for words in settings.some(anywhere) {
        agree(words).await;
    }
}
