//! Events around the recorded requests: kubectl's changes, and answers that others had already overtaken.

use spindrift_tests::spinnaker::Recording;

use crate::world::World;

/// An object whose deletion waits until its finalizer is removed.
const HELD: &str = r#"{
    "apiVersion": "v1", "kind": "ConfigMap",
    "metadata": { "name": "held", "namespace": "account1-testns00", "finalizers": ["example.com/hold"] }
}"#;

/// The first request after the cluster was set up: those before saw an empty one.
const FIRST_OPERATION: u32 = 10;

/// Change of another client just before a request.
pub(crate) async fn before(world: &World, recording: &Recording) {
    match recording.name.as_str() {
        _ if recording.number == FIRST_OPERATION => world.set_up().await,
        "task-hanging" => {
            world.cluster.kubectl_stdin(&["create", "-f", "-"], HELD).await.unwrap();
        }
        "task-hanging-end" => {
            let patch = r#"{"metadata":{"finalizers":null}}"#;
            let held = ["patch", "configmap", "held", "-n", "account1-testns00", "--type=merge", "-p", patch];
            world.cluster.kubectl(&held).await.unwrap();
        }
        _ => {}
    }
}

/// The recording that shows the same thing a little later. Who is slow sees this instead: a deployment that has
/// already exceeded its deadline of two seconds, a job that has already failed.
pub(crate) fn overtaken_by(number: u32) -> Option<u32> {
    match number {
        103 => Some(249),
        106 => Some(256),
        107 => Some(257),
        _ => None,
    }
}
