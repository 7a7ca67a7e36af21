//! Settings of the hub that decide how things are deployed, under Clouddriver's names.

use serde_json::{Value, json};

use super::{Scene, deployment, done};

/// Deploys a Deployment with a tagged image, and an artifact of the image's name; returns the object of the cluster.
async fn deployed(scene: &Scene, name: &str) -> Value {
    let labels = json!({ "app": name });
    let template = json!({ "metadata": { "labels": labels }, "spec": { "containers": [{ "name": "main", "image": "nginx:1" }] } });
    let manifest = json!({ "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": name, "namespace": "default" },
        "spec": { "replicas": 0, "selector": { "matchLabels": labels }, "template": template } });
    let mut description = deployment(&scene.account, json!([manifest]));
    description["optionalArtifacts"] =
        json!([{ "type": "docker/image", "name": "nginx", "reference": "nginx:2" }]);
    done(&scene.stack.hub, "deployManifest", description).await;
    scene.object("apps", "deployments", name)
}

#[tokio::test(flavor = "multi_thread")]
async fn labels_and_images_are_written_as_the_hub_is_told_to() {
    let mut scene = Scene::set().await;
    let east = json!({ "v2": { "managed-by-suffix": "east" }, "artifact-binding": { "docker-image": "match-name-only" } });
    for (name, settings, manager, image) in [
        ("usual", json!({}), json!("spinnaker"), "nginx:2"),
        ("east", east, json!("spinnaker-east"), "nginx:1"),
        ("bare", json!({ "v2": { "apply-app-labels": false } }), Value::Null, "nginx:2"),
    ] {
        scene.stack.hub.configure("/kubernetes", settings);
        scene.stack.hub.restart().await.unwrap();
        scene.stack.synced(&scene.site.account).await;
        let object = deployed(&scene, name).await;
        for place in [&object, &object["spec"]["template"]] {
            let labels = &place["metadata"]["labels"];
            assert_eq!(labels["app.kubernetes.io/managed-by"], manager, "{name}");
            assert_eq!(labels["app.kubernetes.io/name"].is_null(), manager.is_null(), "{name}");
        }
        assert_eq!(object["metadata"]["annotations"]["moniker.spinnaker.io/application"], "shop", "{name}");
        assert_eq!(object["spec"]["template"]["spec"]["containers"][0]["image"], image, "{name}");
    }
}
