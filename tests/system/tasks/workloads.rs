//! Operations on workloads that are there, in a cluster whose controllers are at work.

use serde_json::{Value, json};
use spindrift_playground::{Effect, Fault, Verb};
use spindrift_testkit::eventually;

use super::{TaskSetup, config_map, deployment, done, failed, history};
use crate::support::LONG;

fn workload(kind: &str, name: &str, image: &str) -> Value {
    let template = json!({ "metadata": { "labels": { "app": name } },
        "spec": { "containers": [{ "name": "main", "image": image }] } });
    json!({ "apiVersion": "apps/v1", "kind": kind, "metadata": { "name": name, "namespace": "default" },
        "spec": { "replicas": 2, "selector": { "matchLabels": { "app": name } }, "template": template } })
}

impl TaskSetup {
    async fn deploy(&self, manifest: Value) -> Value {
        let description = deployment(&self.account, json!([manifest]));
        done(&self.stack.hub, "deployManifest", description).await
    }

    fn about(&self, full_name: &str, more: Value) -> Value {
        let mut description =
            json!({ "account": self.account, "manifestName": full_name, "location": "default" });
        description.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        description
    }

    async fn done(&self, operation: &str, full_name: &str, more: Value) -> Value {
        done(&self.stack.hub, operation, self.about(full_name, more)).await
    }

    async fn failed(&self, operation: &str, full_name: &str, more: Value) -> String {
        failed(&self.stack.hub, operation, self.about(full_name, more)).await
    }

    fn web(&self) -> Value {
        self.object("apps", "deployments", "web")
    }

    fn image(&self) -> String {
        let web = self.web();
        web["spec"]["template"]["spec"]["containers"][0]["image"].as_str().unwrap_or_default().to_owned()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_workload_is_scaled_held_restarted_and_taken_back() {
    let setup = TaskSetup::set().await;
    setup.deploy(workload("Deployment", "web", "nginx:1")).await;
    let task = setup.done("scaleManifest", "deployment web", json!({ "replicas": "3" })).await;
    assert_eq!((&task["resultObjects"], &setup.web()["spec"]["replicas"]), (&json!([]), &json!(3)));
    assert_eq!(
        history(&task)[2..5],
        [
            &*format!("Starting scale operation in account {}...", setup.account),
            "Looking up resource properties...",
            "Calling scale operation for web in namespace web with replicas 3...",
        ]
    );
    let resize = json!({ "account": setup.account, "serverGroupName": "deployment web", "region": "default",
        "capacity": { "desired": 1 } });
    done(&setup.stack.hub, "resizeServerGroup", resize).await;
    assert_eq!(setup.web()["spec"]["replicas"], 1);

    setup.done("pauseRolloutManifest", "deployment web", json!({})).await;
    assert_eq!(setup.web()["spec"]["paused"], true);
    let message = setup.failed("undoRolloutManifest", "deployment web", json!({ "revision": 1 })).await;
    let paused = "error: you cannot rollback a paused deployment; resume it first with 'kubectl rollout resume' and try again\n";
    assert!(message.starts_with("Failed to undo rollout deployment/web from default: "), "{message}");
    assert!(message.ends_with(paused), "{message}");
    let message = setup.failed("pauseRolloutManifest", "deployment web", json!({})).await;
    let already = "Failed to pause rollout deployment/web from default: error: deployments.apps \"web\" is already paused\n";
    assert_eq!(message, already);
    setup.done("resumeRolloutManifest", "deployment web", json!({})).await;
    let message = setup.failed("resumeRolloutManifest", "deployment web", json!({})).await;
    let not = "Failed to resume rollout deployment/web from default: error: deployments.apps \"web\" is not paused\n";
    assert_eq!(message, not);
    setup.done("rollingRestartManifest", "deployment web", json!({})).await;
    let annotations = setup.web()["spec"]["template"]["metadata"]["annotations"].clone();
    assert!(annotations["kubectl.kubernetes.io/restartedAt"].is_string(), "{annotations}");
    let message = setup.failed("scaleManifest", "service web", json!({})).await;
    let unsupported = "Resource with KubernetesCoordinates(kind=service, namespace=default, name=web) does not support scale";
    assert_eq!(message, unsupported);

    setup.deploy(workload("Deployment", "web", "nginx:2")).await;
    assert_eq!(setup.image(), "nginx:2");
    eventually!(
        "there is a revision for each template",
        LONG,
        setup.objects("apps", "replicasets").len() == 3
    );
    let task = setup.done("undoRolloutManifest", "deployment web", json!({ "numRevisionsBack": 1 })).await;
    assert!(history(&task).contains(&"Picked revision 2..."), "{task:#}");
    assert_eq!(setup.image(), "nginx:1");
    let message =
        setup.failed("undoRolloutManifest", "deployment web", json!({ "numRevisionsBack": 99 })).await;
    assert_eq!(message, "There are 3 revision(s) in total, cannot rollback 99");
    let message = setup.failed("undoRolloutManifest", "deployment web", json!({ "revision": 99 })).await;
    assert!(message.ends_with("error: unable to find specified revision 99 in history\n"), "{message}");
}

#[tokio::test(flavor = "multi_thread")]
async fn parts_of_an_object_are_changed_and_deleted() {
    let setup = TaskSetup::set().await;
    setup.deploy(workload("Deployment", "web", "nginx:1")).await;
    let patch =
        |strategy: &str, body: Value| json!({ "options": { "mergeStrategy": strategy }, "patchBody": body });
    let body = json!({ "spec": { "template": { "spec": { "containers": [{ "name": "main", "image": "nginx" }] } } } });
    let mut strategic = patch("strategic", body);
    strategic["options"]["record"] = true.into();
    strategic["allArtifacts"] = json!([{ "type": "docker/image", "name": "nginx", "reference": "nginx:9" }]);
    let task = setup.done("patchManifest", "deployment web", strategic).await;
    assert_eq!(setup.image(), "nginx:9");
    let cause = setup.web()["metadata"]["annotations"]["kubernetes.io/change-cause"].clone();
    assert!(
        cause.as_str().unwrap().starts_with("kubectl patch deployment web --namespace=default"),
        "{cause}"
    );
    let result = &task["resultObjects"][0];
    let stub = json!({ "kind": "deployment", "metadata": { "namespace": "default", "name": "web" } });
    assert_eq!(
        (&result["manifests"][0], &result["boundArtifacts"][0]["reference"]),
        (&stub, &json!("nginx:9"))
    );

    let add = json!([{ "op": "add", "path": "/metadata/labels/tier", "value": "front" }]);
    setup.done("patchManifest", "deployment web", patch("json", add)).await;
    assert_eq!(setup.web()["metadata"]["labels"]["tier"], "front");
    let remove = json!({ "metadata": { "labels": { "tier": null } } });
    setup.done("patchManifest", "deployment web", patch("merge", remove)).await;
    assert!(setup.web()["metadata"]["labels"].get("tier").is_none());
    let message = setup.failed("patchManifest", "deployment nope", patch("merge", json!({}))).await;
    assert_eq!(
        message,
        "Patch failed for: nope in namespace: default: Error from server (NotFound): deployments.apps \"nope\" not found\n"
    );

    let options = json!({ "options": { "cascading": true, "gracePeriodSeconds": null } });
    for names in [json!(["deployment web"]), json!([])] {
        let task = setup.done("deleteManifest", "deployment web", options.clone()).await;
        assert_eq!(
            task["resultObjects"][0]["manifestNamesByNamespace"],
            json!({ "default": names }),
            "{task:#}"
        );
    }
    assert_eq!(setup.web(), Value::Null);
    setup.deploy(workload("Deployment", "web", "nginx:1")).await;
    eventually!("it has a ReplicaSet", LONG, setup.objects("apps", "replicasets").len() == 1);
    let orphans = json!({ "options": { "orphanDependents": true, "cascading": true } });
    setup.done("deleteManifest", "deployment web", orphans).await;
    let left = setup.objects("apps", "replicasets");
    assert_eq!((setup.web(), left.len()), (Value::Null, 1), "what it owned is left");
    assert!(
        left[0]["metadata"].get("ownerReferences").is_none_or(|owners| *owners == json!([])),
        "{left:#?}"
    );
    let message = setup
        .failed("deleteManifest", "deployment web", json!({ "options": { "cascading": "bogus" } }))
        .await;
    assert!(message.ends_with(
        "error: invalid cascade value (bogus). Must be \"background\", \"foreground\", or \"orphan\"\n"
    ));
}

#[tokio::test(flavor = "multi_thread")]
async fn traffic_is_turned_off_and_on_with_the_pods() {
    let setup = TaskSetup::set().await;
    let service = json!({ "apiVersion": "v1", "kind": "Service", "metadata": { "name": "lb", "namespace": "default" },
        "spec": { "selector": { "lb": "shop" }, "ports": [{ "port": 80 }] } });
    setup.deploy(service).await;
    let any = json!({ "matchExpressions": [{ "key": "app", "operator": "In", "values": ["any"] }] });
    for (name, selector) in [("rs", json!({ "matchLabels": { "app": "rs" } })), ("any", any)] {
        let mut manifest = workload("ReplicaSet", name, "nginx:1");
        manifest["spec"]["selector"] = selector;
        let mut description = deployment(&setup.account, json!([manifest]));
        description["services"] = json!(["service lb"]);
        description["enableTraffic"] = true.into();
        done(&setup.stack.hub, "deployManifest", description).await;
        let labelled = || {
            let replica_set = setup.object("apps", "replicasets", &format!("{name}-v000"));
            let template = replica_set["spec"]["template"]["metadata"]["labels"]["lb"] == "shop";
            let pods = setup.objects("", "pods");
            let own = pods.iter().filter(|pod| pod["metadata"]["labels"]["app"] == name);
            (template, own.filter(|pod| pod["metadata"]["labels"]["lb"] == "shop").count())
        };
        eventually!("the pods are there", LONG, labelled() == (true, 2));
        let full_name = format!("replicaSet {name}-v000");
        let task = setup.done("disableManifest", &full_name, json!({})).await;
        assert_eq!(labelled(), (false, 0), "{name}");
        assert!(history(&task).contains(&"Using annotated list [service lb]"), "{task:#}");
        setup.done("enableManifest", &full_name, json!({ "loadBalancers": ["service lb"] })).await;
        assert_eq!(labelled(), (true, 2), "{name}");
    }
    let mut manifest = workload("ReplicaSet", "other", "nginx:1");
    manifest["metadata"]["annotations"] =
        json!({ "traffic.spinnaker.io/load-balancers": "[\"service other\"]" });
    let mut description = deployment(&setup.account, json!([manifest]));
    description["services"] = json!(["service lb"]);
    let message = failed(&setup.stack.hub, "deployManifest", description).await;
    assert_eq!(
        message,
        "Manifest already has traffic.spinnaker.io/load-balancers annotation set to [service other]. Failed attempting \
         to set it to [service lb]."
    );
    let message = setup.failed("disableManifest", "replicaSet nope", json!({})).await;
    let missing = "Could not find kubernetes manifest: KubernetesCoordinates(kind=replicaSet, namespace=default, name=nope)";
    assert_eq!(message, missing);
    let message = setup
        .failed("enableManifest", "replicaSet rs-v000", json!({ "loadBalancers": ["service nope"] }))
        .await;
    assert!(message.starts_with("Could not find load balancer: "), "{message}");
    let message = setup.failed("disableManifest", "Wibble.nope.example.com x", json!({})).await;
    let unknown = "Failed to read Wibble.nope.example.com/x from default: error: ";
    assert!(message.starts_with(unknown), "that there is no such kind is another matter: {message}");
}

#[tokio::test(flavor = "multi_thread")]
async fn versions_are_read_from_annotations_old_ones_too_and_never_guessed() {
    let setup = TaskSetup::set().await;
    // As Clouddriver wrote them long ago: in quotes.
    let annotations = json!({ "artifact.spinnaker.io/type": "\"kubernetes/configMap\"",
        "artifact.spinnaker.io/name": "\"conf\"", "artifact.spinnaker.io/version": "\"v004\"",
        "artifact.spinnaker.io/location": "\"default\"" });
    let mut old = config_map("default", "conf-v004", "0");
    old["metadata"]["annotations"] = annotations;
    setup.stage.fleet.clusters[0].create(old).unwrap();
    let mut manifest = config_map("default", "conf", "1");
    manifest["metadata"]["annotations"] = json!({ "strategy.spinnaker.io/max-version-history": "1" });
    let task = setup.deploy(manifest.clone()).await;
    let result = &task["resultObjects"][0];
    assert_eq!(result["manifestNamesByNamespace"], json!({ "default": ["configMap conf-v005"] }));

    let unlisted = Fault::new(Effect::Status { code: 403, retry_after: None });
    let fault = setup.faults.inject(unlisted.of_verbs([Verb::List]).of_resource("configmaps"));
    let cleanup = json!({ "account": setup.account, "manifests": result["manifests"] });
    let cleaned = done(&setup.stack.hub, "cleanupArtifacts", cleanup.clone()).await;
    assert_eq!(cleaned["resultObjects"][0]["manifestNamesByNamespace"], json!({}), "nothing is seen");
    let message =
        failed(&setup.stack.hub, "deployManifest", deployment(&setup.account, json!([manifest]))).await;
    assert!(message.starts_with("Failed to read [configMap] from default: "), "{message}");
    setup.faults.lift(fault);
    let cleaned = done(&setup.stack.hub, "cleanupArtifacts", cleanup).await;
    let names = json!({ "default": ["configMap conf-v004"] });
    assert_eq!(cleaned["resultObjects"][0]["manifestNamesByNamespace"], names);
}
