//! Deployments to a real API server.

use serde_json::{Value, json};
use spindrift_testkit::{Cluster, Database};

use super::{config_map, deployment, done, failed, history};
use crate::support::{Stack, widget, widget_crd};

async fn stack(cluster: &Cluster) -> Stack {
    let stack = Stack::start(cluster, Database::sqlite().unwrap(), &["ConfigMap"]).await;
    stack.synced("main").await;
    stack
}

fn names(task: &Value) -> &Value {
    &task["resultObjects"][0]["manifestNamesByNamespace"]
}

fn pods(app: &str) -> Value {
    json!({ "metadata": { "labels": { "app": app } }, "spec": { "containers": [{ "name": "main", "image": "nginx" }] } })
}

fn workload(kind: &str, namespace: &str, name: &str) -> Value {
    json!({ "apiVersion": "apps/v1", "kind": kind, "metadata": { "name": name, "namespace": namespace },
        "spec": { "replicas": 1, "selector": { "matchLabels": { "app": name } }, "template": pods(name) } })
}

fn annotated(mut manifest: Value, key: &str, value: &str) -> Value {
    manifest["metadata"]["annotations"][key] = value.into();
    manifest
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deployment_has_the_history_of_clouddriver() {
    let cluster = Cluster::shared().await.unwrap();
    let namespace = cluster.namespace("told").await.unwrap();
    let stack = stack(cluster).await;
    let description = deployment("main", json!([workload("Deployment", &namespace, "web")]));
    let task = done(&stack.hub, "deployManifest", description).await;
    assert_eq!(
        history(&task),
        [
            "Initializing Orchestration Task",
            "Processing op: KubernetesDeployManifestOperation",
            "Beginning deployment of manifests in account main ...",
            "Sorting manifests by priority...",
            "Deploy order is: deployment web",
            "Binding artifacts in deployment web...",
            "Finding deployer for deployment...",
            "Bound artifacts: []...",
            "Finding deployer for deployment...",
            "Annotating manifest deployment web with artifact, relationships & moniker...",
            "Checking if all requested artifacts were bound...",
            "Finding deployer for deployment...",
            "Submitting manifest deployment web to kubernetes master...",
            "Deploy manifest task completed successfully for manifest deployment web in account main",
            "Deploy manifest task completed successfully for all manifests in account main",
            "Orchestration completed.",
        ]
    );
    assert_eq!(names(&task), &json!({ &*namespace: ["deployment web"] }));
    let result = &task["resultObjects"][0];
    let object = &result["manifests"][0];
    assert_eq!(object["spec"]["replicas"].to_string(), "1.0", "numbers are floats");
    assert_eq!(object["metadata"]["annotations"]["moniker.spinnaker.io/cluster"], "deployment web");
    assert_eq!(object["metadata"]["labels"]["app.kubernetes.io/managed-by"], "spinnaker");
    assert!(
        object["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-configuration"].is_string()
    );
    assert_eq!(result["createdArtifacts"][0]["reference"], "web");
    let image = ["get", "deployment", "web", "-n", &namespace, "-o", "jsonpath={.metadata.labels}"];
    assert!(cluster.kubectl(&image).await.unwrap().contains("\"app.kubernetes.io/name\":\"shop\""));
}

#[tokio::test(flavor = "multi_thread")]
async fn fields_outside_of_a_request_or_manifest_stay_unchanged() {
    let cluster = Cluster::shared().await.unwrap();
    let namespace = cluster.namespace("alone").await.unwrap();
    let stack = stack(cluster).await;
    let mut web = workload("Deployment", &namespace, "web");
    web["spec"].as_object_mut().unwrap().remove("replicas");
    let mut description = deployment("main", json!([web]));
    description["skipSpecTemplateLabels"] = true.into();
    let task = done(&stack.hub, "deployManifest", description.clone()).await;
    let object = &task["resultObjects"][0]["manifests"][0];
    assert_eq!(object["metadata"]["labels"]["app.kubernetes.io/name"], "shop");
    assert_eq!(object["spec"]["template"]["metadata"]["labels"], json!({ "app": "web" }));

    // As an autoscaler does, which a manifest with nulls does not undo.
    cluster.kubectl(&["scale", "deployment/web", "--replicas=3", "-n", &namespace]).await.unwrap();
    description["manifests"][0]["spec"]["replicas"] = Value::Null;
    let task = done(&stack.hub, "deployManifest", description).await;
    assert_eq!(task["resultObjects"][0]["manifests"][0]["spec"]["replicas"].to_string(), "3.0");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_content_is_the_same_version_and_other_content_the_next() {
    let cluster = Cluster::shared().await.unwrap();
    let namespace = cluster.namespace("versions").await.unwrap();
    let stack = stack(cluster).await;
    for (kind, field) in [("ConfigMap", "data"), ("Secret", "stringData")] {
        let full_name = |version: &str| format!("{}{} conf-{version}", kind[..1].to_lowercase(), &kind[1..]);
        for (value, version) in
            [("canary-5b1", "v000"), ("canary-5b1", "v000"), ("canary-77e", "v001"), ("canary-5b1", "v000")]
        {
            let metadata = json!({ "name": "conf", "namespace": namespace });
            let manifest =
                json!({ "apiVersion": "v1", "kind": kind, "metadata": metadata, field: { "token": value } });
            let task = done(&stack.hub, "deployManifest", deployment("main", json!([manifest]))).await;
            assert_eq!(names(&task), &json!({ &*namespace: [full_name(version)] }), "{value}");
            if kind == "Secret" {
                assert!(!task.to_string().contains("canary"), "no value of a Secret is told");
            }
        }
    }
    let log = stack.hub.daemon().log();
    assert!(!log.contains("canary"), "nor logged");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_database_holds_no_plaintext_of_a_task() {
    let cluster = Cluster::shared().await.unwrap();
    let namespace = cluster.namespace("unread").await.unwrap();
    let database = Database::sqlite().unwrap();
    let stack = Stack::start(cluster, database, &["ConfigMap"]).await;
    stack.synced("main").await;
    let metadata = json!({ "name": "s", "namespace": namespace });
    let secret = json!({ "apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": { "token": "canary-3d9" } });
    done(&stack.hub, "deployManifest", deployment("main", json!([secret.clone()]))).await;
    let task = done(&stack.hub, "deployManifest", deployment("main", json!([secret]))).await;
    let dump = String::from_utf8_lossy(&stack.database.dump().await.unwrap()).into_owned();
    let id = task["id"].as_str().unwrap();
    assert!(dump.contains(id) && !dump.contains("canary-3d9"), "{}", stack.database.engine());
    cluster.kubectl(&["delete", "secret", "--all", "-n", &namespace]).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn artifacts_of_a_deployment_are_bound_in_later_manifests() {
    let cluster = Cluster::shared().await.unwrap();
    let namespace = cluster.namespace("bound").await.unwrap();
    let stack = stack(cluster).await;
    let mut web = workload("Deployment", &namespace, "web");
    web["spec"]["template"]["spec"]["volumes"] = json!([{ "name": "c", "configMap": { "name": "conf" } }]);
    let image = json!({ "type": "docker/image", "name": "nginx", "reference": "nginx:1.27" });
    let mut description = deployment("main", json!([web, config_map(&namespace, "conf", "1")]));
    description["requiredArtifacts"] = json!([image]);
    let task = done(&stack.hub, "deployManifest", description).await;
    let template = ["get", "deployment", "web", "-n", &namespace, "-o", "jsonpath={.spec.template.spec}"];
    let template: Value = serde_json::from_str(&cluster.kubectl(&template).await.unwrap()).unwrap();
    assert_eq!(template["volumes"][0]["configMap"]["name"], "conf-v000");
    assert_eq!(template["containers"][0]["image"], "nginx:1.27");
    assert_eq!(task["resultObjects"][0]["boundArtifacts"].as_array().unwrap().len(), 2, "{task:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn strategies_decide_how_an_object_is_sent() {
    let cluster = Cluster::shared().await.unwrap();
    let namespace = cluster.namespace("strategies").await.unwrap();
    let stack = stack(cluster).await;
    let uid = async |name: &str| {
        let get = ["get", "serviceaccount", name, "-n", &namespace, "-o", "jsonpath={.metadata.uid}"];
        cluster.kubectl(&get).await.unwrap()
    };
    let account = |name: &str, key: &str| {
        let metadata = json!({ "name": name, "namespace": namespace });
        let manifest = json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata });
        annotated(manifest, &format!("strategy.spinnaker.io/{key}"), "true")
    };
    for (strategy, is_new, is_applied) in
        [("recreate", true, true), ("replace", false, false), ("server-side-apply", false, false)]
    {
        let description = deployment("main", json!([account(strategy, strategy)]));
        done(&stack.hub, "deployManifest", description.clone()).await;
        let first = uid(strategy).await;
        let task = done(&stack.hub, "deployManifest", description).await;
        assert_eq!(uid(strategy).await != first, is_new, "{strategy}");
        let object = &task["resultObjects"][0]["manifests"][0];
        let annotation =
            &object["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-configuration"];
        assert_eq!(annotation.is_string(), is_applied, "{strategy}: {object:#}");
    }
    // As kubectl, which deletes nothing where a name and a selector come together.
    let mut picked = account("recreate", "recreate");
    picked["metadata"]["labels"] = json!({ "pick": "one" });
    let mut description = deployment("main", json!([picked]));
    description["labelSelectors"] = json!({ "selectors": [{ "kind": "EXISTS", "key": "pick" }] });
    let first = uid("recreate").await;
    let task = done(&stack.hub, "deployManifest", description).await;
    let metadata = &task["resultObjects"][0]["manifests"][0]["metadata"];
    assert_eq!(
        (&metadata["uid"], &metadata["labels"]["pick"]),
        (&json!(first), &json!("one")),
        "it is only applied"
    );

    let mut generated = config_map(&namespace, "", "1");
    generated["metadata"] = json!({ "generateName": "gen-", "namespace": namespace,
        "annotations": { "strategy.spinnaker.io/versioned": "false" } });
    let task = done(&stack.hub, "deployManifest", deployment("main", json!([generated, generated]))).await;
    let made = names(&task)[&namespace].as_array().unwrap().clone();
    assert_eq!(made.len(), 2, "{task:#}");
    assert!(made.iter().all(|name| name.as_str().unwrap().starts_with("configMap gen-")));
    let artifact = &task["resultObjects"][0]["createdArtifacts"][0];
    assert!(artifact.get("name").is_none() && artifact.get("reference").is_none(), "{artifact}");
}

#[tokio::test(flavor = "multi_thread")]
async fn labels_select_what_is_deployed_and_deleted() {
    let cluster = Cluster::shared().await.unwrap();
    let namespace = cluster.namespace("labels").await.unwrap();
    let stack = stack(cluster).await;
    let labelled = |name: &str, pick: &str| {
        let mut manifest = config_map(&namespace, name, "1");
        manifest["metadata"]["labels"] = json!({ "pick": pick });
        manifest
    };
    let selectors =
        |value: &str| json!({ "selectors": [{ "kind": "EQUALS", "key": "pick", "values": [value] }] });
    let mut description = deployment("main", json!([labelled("one", "one"), labelled("two", "two")]));
    description["labelSelectors"] = selectors("one");
    let task = done(&stack.hub, "deployManifest", description.clone()).await;
    assert_eq!(names(&task), &json!({ &*namespace: ["configMap one-v000"] }));
    description["labelSelectors"] = selectors("none");
    let message = failed(&stack.hub, "deployManifest", description).await;
    assert_eq!(message, "nothing deployed to account main with label selector(s) pick = none");

    let delete = json!({ "account": "main", "kinds": ["configMap", "secret"], "location": namespace,
        "labelSelectors": selectors("one"), "options": { "cascading": true } });
    let task = done(&stack.hub, "deleteManifest", delete.clone()).await;
    assert_eq!(names(&task), &json!({ &*namespace: ["configMap one-v000"] }));
    let mut both = delete;
    both["manifestName"] = "configMap one-v000".into();
    let message = failed(&stack.hub, "deleteManifest", both).await;
    assert_eq!(
        message,
        format!(
            "Failed to delete configMap/one-v000 from {namespace}: error: selectors and the all flag cannot be used when \
             passing resource/name arguments\n"
        )
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_of_the_api_server_has_kubectls_words() {
    let cluster = Cluster::shared().await.unwrap();
    let namespace = cluster.namespace("words").await.unwrap();
    let stack = stack(cluster).await;
    let mut unknown_field = workload("Deployment", &namespace, "err");
    unknown_field["spec"]["replicaz"] = 1.into();
    let wibble = json!({ "apiVersion": "nope.example.com/v1", "kind": "Wibble",
        "metadata": { "name": "x", "namespace": namespace } });
    let replaced = annotated(config_map("words-nowhere", "r", "1"), "strategy.spinnaker.io/replace", "true");
    let replaced = annotated(replaced, "strategy.spinnaker.io/versioned", "false");
    for (manifest, expected) in [
        (
            replaced,
            "Create failed for manifest: configMap r. Error: Error from server (NotFound): error when creating \"STDIN\": \
             namespaces \"words-nowhere\" not found\n"
                .to_owned(),
        ),
        (
            unknown_field,
            "Deploy failed for manifest: deployment err. Error: Error from server (BadRequest): error when creating \
             \"STDIN\": Deployment in version \"v1\" cannot be handled as a Deployment: strict decoding error: unknown \
             field \"spec.replicaz\"\n"
                .to_owned(),
        ),
        (
            wibble,
            format!(
                "Deploy failed for manifest: Wibble.nope.example.com x. Error: error: resource mapping not found for \
                 name: \"x\" namespace: \"{namespace}\" from \"STDIN\": no matches for kind \"Wibble\" in version \
                 \"nope.example.com/v1\"\nensure CRDs are installed first\n"
            ),
        ),
    ] {
        let message = failed(&stack.hub, "deployManifest", deployment("main", json!([manifest]))).await;
        assert_eq!(message, expected);
    }
    let bad_name = deployment("main", json!([workload("Deployment", &namespace, "Bad_Name")]));
    let message = failed(&stack.hub, "deployManifest", bad_name).await;
    let expected = "Deploy failed for manifest: deployment Bad_Name. Error: The Deployment \"Bad_Name\" is invalid: \
                    metadata.name: Invalid value: \"Bad_Name\": a lowercase RFC 1123 subdomain";
    assert!(message.starts_with(expected) && message.ends_with('\n'), "{message}");

    let scale =
        json!({ "account": "main", "manifestName": "deployment nope", "location": namespace, "replicas": 1 });
    let message = failed(&stack.hub, "scaleManifest", scale).await;
    assert_eq!(
        message,
        format!(
            "Failed to scale deployment/nope from {namespace}: Error from server (NotFound): deployments.apps \"nope\" \
             not found\n"
        )
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn old_versions_are_removed_and_a_job_reports_its_place() {
    let cluster = Cluster::shared().await.unwrap();
    let namespace = cluster.namespace("cleanup").await.unwrap();
    let stack = stack(cluster).await;
    let mut manifests = Value::Null;
    for round in 0..3 {
        let replica_set = workload("ReplicaSet", &namespace, "rs");
        let replica_set = annotated(replica_set, "strategy.spinnaker.io/max-version-history", "2");
        let task = done(&stack.hub, "deployManifest", deployment("main", json!([replica_set]))).await;
        assert_eq!(names(&task), &json!({ &*namespace: [format!("replicaSet rs-v00{round}")] }));
        manifests = task["resultObjects"][0]["manifests"].clone();
    }
    let cleanup = json!({ "account": "main", "manifests": manifests });
    let task = done(&stack.hub, "cleanupArtifacts", cleanup.clone()).await;
    let expected = json!({ "manifestNamesByNamespace": { &*namespace: ["replicaSet rs-v000"] },
        "createdArtifacts": [], "boundArtifacts": [] });
    assert_eq!(task["resultObjects"], json!([expected]));
    let task = done(&stack.hub, "cleanupArtifacts", cleanup).await;
    assert_eq!(names(&task), &json!({}));

    let mut template = pods("job");
    template["spec"]["restartPolicy"] = "Never".into();
    let job = json!({ "apiVersion": "batch/v1", "kind": "Job", "metadata": { "name": "once" }, "spec": { "template": template } });
    let run = json!({ "account": "main", "application": "shop", "namespace": namespace, "manifest": job });
    for _ in 0..2 {
        let task = done(&stack.hub, "runJob", run.clone()).await;
        let location = &task["resultObjects"][0]["deployedNamesByLocation"];
        assert_eq!(location, &json!({ &*namespace: ["job once"] }), "{task:#}");
        assert_eq!(history(&task)[2], "Running Kubernetes job...");
    }
    let not_a_job = json!({ "account": "main", "manifest": config_map(&namespace, "x", "1") });
    let message = failed(&stack.hub, "runJob", not_a_job).await;
    assert_eq!(message, "Only kind of Job is accepted for the Run Job operation.");
}

#[tokio::test(flavor = "multi_thread")]
async fn cluster_scoped_objects_are_not_put_into_a_namespace() {
    let cluster = Cluster::shared().await.unwrap();
    let namespace = cluster.namespace("override").await.unwrap();
    let group = "override.example.com";
    let mut definition = widget_crd(group);
    definition["spec"]["scope"] = "Cluster".into();
    cluster.kubectl_stdin(&["create", "-f", "-"], &definition.to_string()).await.unwrap();
    let established = ["wait", "--for=condition=Established", &format!("crd/widgets.{group}")];
    cluster.kubectl(&established).await.unwrap();
    let stack = stack(cluster).await;
    let mut everywhere = widget(group, "", "global", 1);
    everywhere["metadata"].as_object_mut().unwrap().remove("namespace");
    let mut description = deployment("main", json!([everywhere, config_map("elsewhere", "conf", "1")]));
    description["namespaceOverride"] = json!(namespace);
    let task = done(&stack.hub, "deployManifest", description).await;
    let kind = format!("Widget.{group} global");
    assert_eq!(names(&task), &json!({ "": [kind], &*namespace: ["configMap conf-v000"] }));
    let manifests = task["resultObjects"][0]["manifests"].as_array().unwrap();
    let location = |kind: &str| {
        let found = manifests.iter().find(|manifest| manifest["kind"] == kind).unwrap();
        found["metadata"]["annotations"]["artifact.spinnaker.io/location"].clone()
    };
    assert_eq!((location("Widget"), location("ConfigMap")), (json!(""), json!(namespace)));
}
