//! Settings of the hub that decide how things are deployed, under Clouddriver's names.

use serde_json::{Value, json};

use super::{TaskSetup, deployment, done};

/// Deploys a Deployment with a tagged image, and an artifact of the image's name; returns the object of the cluster.
async fn deployed(setup: &TaskSetup, name: &str) -> Value {
    let labels = json!({ "app": name });
    let template = json!({ "metadata": { "labels": labels }, "spec": { "containers": [{ "name": "main", "image": "nginx:1" }] } });
    let manifest = json!({ "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": name, "namespace": "default" },
        "spec": { "replicas": 0, "selector": { "matchLabels": labels }, "template": template } });
    let mut description = deployment(&setup.account, json!([manifest]));
    description["optionalArtifacts"] =
        json!([{ "type": "docker/image", "name": "nginx", "reference": "nginx:2" }]);
    done(&setup.stack.hub, "deployManifest", description).await;
    setup.object("apps", "deployments", name)
}

#[tokio::test(flavor = "multi_thread")]
async fn labels_and_images_are_written_as_configured() {
    let mut setup = TaskSetup::set().await;
    let east = json!({ "v2": { "managed-by-suffix": "east" }, "artifact-binding": { "docker-image": "match-name-only" } });
    for (name, settings, manager, image) in [
        ("usual", json!({}), json!("spinnaker"), "nginx:2"),
        ("east", east, json!("spinnaker-east"), "nginx:1"),
        ("bare", json!({ "v2": { "apply-app-labels": false } }), Value::Null, "nginx:2"),
    ] {
        setup.stack.hub.configure("/kubernetes", settings);
        setup.stack.hub.restart().await.unwrap();
        setup.stack.synced(&setup.simulated.account).await;
        let object = deployed(&setup, name).await;
        for place in [&object, &object["spec"]["template"]] {
            let labels = &place["metadata"]["labels"];
            assert_eq!(labels["app.kubernetes.io/managed-by"], manager, "{name}");
            assert_eq!(labels["app.kubernetes.io/name"].is_null(), manager.is_null(), "{name}");
        }
        assert_eq!(object["metadata"]["annotations"]["moniker.spinnaker.io/application"], "shop", "{name}");
        assert_eq!(object["spec"]["template"]["spec"]["containers"][0]["image"], image, "{name}");
    }
}
