//! Controllers of an in-process cluster.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};
use spindrift_playground::{
    ActivityRate, Cluster, Controllers, DeleteOptions, Key, Shop, ShopActivity, ShopSize, Timing,
};
use spindrift_process::shutdown::Shutdown;
use spindrift_testkit::eventually;

/// A cluster with controllers, and two nodes.
struct Led {
    cluster: Arc<Cluster>,
    shutdown: Shutdown,
}

impl Led {
    fn start() -> Self {
        let shutdown = Shutdown::new();
        let cluster = Cluster::new("test");
        let (controllers, task) = Controllers::new(shutdown.token());
        shutdown.spawn("controllers", task);
        controllers.manage(&cluster, Timing::FAST, 1, 50);
        for node in ["node-1", "node-2"] {
            cluster
                .create(json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": node } }))
                .unwrap();
        }
        Self { cluster, shutdown }
    }

    fn get(&self, group: &str, plural: &str, name: &str) -> Value {
        self.cluster.get(&Key::new(group, plural, "default", name)).unwrap_or_default()
    }

    fn pods(&self) -> Vec<Value> {
        self.cluster.list("", "pods", Some("default"))
    }

    fn ready_images(&self) -> Vec<String> {
        let ready = |pod: &&Value| {
            let conditions = pod["status"]["conditions"].as_array();
            let is_ready = |it: &Value| it["type"] == "Ready" && it["status"] == "True";
            conditions.is_some_and(|all| all.iter().any(is_ready))
                && pod["metadata"]["deletionTimestamp"].is_null()
        };
        let image =
            |pod: &Value| pod["spec"]["containers"][0]["image"].as_str().unwrap_or_default().to_owned();
        self.pods().iter().filter(ready).map(image).collect()
    }

    fn change(&self, group: &str, plural: &str, name: &str, change: impl FnOnce(&mut Value)) {
        self.cluster.update(&Key::new(group, plural, "default", name), change).unwrap();
    }

    async fn stop(self) {
        self.shutdown.trigger();
        self.shutdown.wait(Duration::from_secs(5)).await.unwrap();
    }
}

fn workload(kind: &str, name: &str, replicas: i64, image: &str) -> Value {
    let labels = json!({ "app": name });
    let container =
        json!({ "name": "main", "image": image, "ports": [{ "name": "http", "containerPort": 8080 }] });
    let mut object = json!({
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": { "name": name, "namespace": "default" },
        "spec": {
            "selector": { "matchLabels": labels },
            "template": { "metadata": { "labels": labels }, "spec": { "containers": [container] } },
        },
    });
    if kind != "DaemonSet" {
        object["spec"]["replicas"] = replicas.into();
    }
    if kind == "StatefulSet" {
        object["spec"]["serviceName"] = name.into();
    }
    object
}

fn job(name: &str, command: &str, spec: &Value) -> Value {
    let container = json!({ "name": "main", "image": "busybox:1", "command": ["sh", "-c", command] });
    let mut object = json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": { "name": name, "namespace": "default" },
        "spec": spec,
    });
    object["spec"]["template"] = json!({ "spec": { "restartPolicy": "Never", "containers": [container] } });
    object
}

fn condition<'a>(object: &'a Value, kind: &str) -> &'a Value {
    let conditions = object["status"]["conditions"].as_array();
    conditions
        .and_then(|all| all.iter().find(|it| it["type"] == kind))
        .map_or(&Value::Null, |it| &it["status"])
}

#[tokio::test]
async fn a_deployment_rolls_out_scales_and_goes_back() {
    let led = Led::start();
    led.cluster.create(workload("Deployment", "web", 3, "web:1")).unwrap();
    eventually!("three pods", led.ready_images() == ["web:1"; 3]);
    led.change("apps", "deployments", "web", |web| {
        web["spec"]["template"]["spec"]["containers"][0]["image"] = "web:2".into();
    });
    eventually!("the rollout", led.ready_images() == ["web:2"; 3]);
    eventually!("it says so", {
        let web = led.get("apps", "deployments", "web");
        let status = &web["status"];
        web["metadata"]["annotations"]["deployment.kubernetes.io/revision"] == "2"
            && status["updatedReplicas"] == 3
            && status["availableReplicas"] == 3
            && status["observedGeneration"] == web["metadata"]["generation"]
            && condition(&web, "Available") == "True"
    });
    led.change("apps", "deployments", "web", |web| web["spec"]["replicas"] = 5.into());
    eventually!("five pods", led.ready_images() == ["web:2"; 5]);
    led.change("apps", "deployments", "web", |web| {
        web["spec"]["template"]["spec"]["containers"][0]["image"] = "web:1".into();
    });
    eventually!("the old set again", led.ready_images() == ["web:1"; 5]);
    assert_eq!(led.cluster.list("apps", "replicasets", Some("default")).len(), 2);
    eventually!(
        "the third revision",
        led.get("apps", "deployments", "web")["metadata"]["annotations"]["deployment.kubernetes.io/revision"]
            == "3"
    );
    led.cluster.delete(&Key::new("apps", "deployments", "default", "web")).unwrap();
    eventually!("everything is gone", led.pods().is_empty());
    led.stop().await;
}

#[tokio::test]
async fn a_rollout_that_cannot_start_keeps_the_old_pods() {
    let led = Led::start();
    led.cluster.create(workload("Deployment", "web", 4, "web:1")).unwrap();
    eventually!("four pods", led.ready_images() == ["web:1"; 4]);
    led.change("apps", "deployments", "web", |web| {
        web["spec"]["template"]["spec"]["containers"][0]["image"] = "web:missing".into();
    });
    eventually!(
        "a pod waits for its image",
        led.pods().iter().any(|pod| {
            pod["status"]["containerStatuses"][0]["state"]["waiting"]["reason"] == "ImagePullBackOff"
        })
    );
    assert_eq!(led.ready_images(), ["web:1"; 3], "a quarter may be unavailable");
    led.stop().await;
}

#[tokio::test]
async fn pods_that_wait_for_a_node_start_when_there_is_one() {
    let led = Led::start();
    let cordon = |node: &str, closed: bool| {
        let key = Key::new("", "nodes", "", node);
        led.cluster.update(&key, |node| node["spec"]["unschedulable"] = closed.into()).unwrap();
    };
    cordon("node-1", true);
    cordon("node-2", true);
    led.cluster.create(workload("Deployment", "web", 2, "web:1")).unwrap();
    eventually!("they cannot be scheduled", {
        let pods = led.pods();
        pods.len() == 2 && pods.iter().all(|pod| condition(pod, "PodScheduled") == "False")
    });
    cordon("node-2", false);
    eventually!("they run", led.ready_images() == ["web:1"; 2]);
    led.stop().await;
}

#[tokio::test]
async fn a_daemon_set_recovers_from_an_image_that_is_missing() {
    let led = Led::start();
    led.cluster.create(workload("DaemonSet", "agent", 0, "agent:missing")).unwrap();
    eventually!("two wait for their image", led.pods().len() == 2);
    led.change("apps", "daemonsets", "agent", |agent| {
        agent["spec"]["template"]["spec"]["containers"][0]["image"] = "agent:1".into();
    });
    eventually!("both are renewed", led.ready_images() == ["agent:1"; 2]);
    led.stop().await;
}

#[tokio::test]
async fn times_that_no_clock_can_tell_stop_nothing() {
    let led = Led::start();
    let mut web = workload("Deployment", "web", 1, "web:1");
    web["spec"]["progressDeadlineSeconds"] = i64::MAX.into();
    web["spec"]["minReadySeconds"] = (i64::MAX - 1).into();
    led.cluster.create(web).unwrap();
    led.cluster.create(job("long", "sleep 1e19", &json!({}))).unwrap();
    eventually!("the job runs", led.get("batch", "jobs", "long")["status"]["ready"] == 1);
    led.cluster.create(workload("Deployment", "api", 1, "api:1")).unwrap();
    eventually!("controllers still work", led.ready_images().contains(&"api:1".to_owned()));
    led.stop().await;
}

#[tokio::test]
async fn budgets_are_counted() {
    let led = Led::start();
    led.cluster.create(workload("Deployment", "web", 3, "web:1")).unwrap();
    let budget = json!({
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": { "name": "web", "namespace": "default" },
        "spec": { "minAvailable": 2, "selector": { "matchLabels": { "app": "web" } } },
    });
    led.cluster.create(budget).unwrap();
    eventually!(
        "one may go",
        led.get("policy", "poddisruptionbudgets", "web")["status"]["disruptionsAllowed"] == 1
    );
    led.stop().await;
}

#[tokio::test]
async fn stateful_sets_daemon_sets_and_their_pods() {
    let led = Led::start();
    led.cluster.create(workload("StatefulSet", "db", 2, "db:1")).unwrap();
    led.cluster.create(workload("DaemonSet", "agent", 0, "agent:1")).unwrap();
    eventually!("two of each", {
        let mut images = led.ready_images();
        images.sort();
        images == ["agent:1", "agent:1", "db:1", "db:1"]
    });
    let names: Vec<_> = led.pods().iter().map(|pod| pod["metadata"]["name"].clone()).collect();
    assert!(names.contains(&"db-0".into()) && names.contains(&"db-1".into()), "{names:?}");
    led.change("apps", "statefulsets", "db", |db| {
        db["spec"]["template"]["spec"]["containers"][0]["image"] = "db:2".into();
    });
    eventually!("both are renewed", {
        let db = led.get("apps", "statefulsets", "db");
        db["status"]["updatedReplicas"] == 2
            && db["status"]["readyReplicas"] == 2
            && db["status"]["currentRevision"] == db["status"]["updateRevision"]
    });
    led.stop().await;
}

#[tokio::test]
async fn jobs_complete_or_fail() {
    let led = Led::start();
    led.cluster.create(job("good", "true", &json!({ "completions": 3, "parallelism": 2 }))).unwrap();
    led.cluster.create(job("bad", "exit 1", &json!({ "backoffLimit": 1 }))).unwrap();
    eventually!("the good one completes", condition(&led.get("batch", "jobs", "good"), "Complete") == "True");
    assert_eq!(led.get("batch", "jobs", "good")["status"]["succeeded"], 3);
    eventually!("the bad one fails", condition(&led.get("batch", "jobs", "bad"), "Failed") == "True");
    assert_eq!(led.get("batch", "jobs", "bad")["status"]["failed"], 2);
    led.stop().await;
}

#[tokio::test]
async fn a_service_knows_its_pods() {
    let led = Led::start();
    let service = json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": { "name": "web", "namespace": "default" },
        "spec": { "selector": { "app": "web" }, "ports": [{ "port": 80, "targetPort": "http" }] },
    });
    led.cluster.create(service).unwrap();
    led.cluster.create(workload("Deployment", "web", 2, "web:1")).unwrap();
    let addresses =
        || led.get("", "endpoints", "web")["subsets"][0]["addresses"].as_array().map_or(0, Vec::len);
    eventually!("two addresses", addresses() == 2);
    led.change("apps", "deployments", "web", |web| web["spec"]["replicas"] = 1.into());
    eventually!("one address", addresses() == 1);
    let slices = led.cluster.list("discovery.k8s.io", "endpointslices", Some("default"));
    let of_web =
        slices.iter().find(|it| it["metadata"]["labels"]["kubernetes.io/service-name"] == "web").unwrap();
    eventually!("the slice too", {
        let name = of_web["metadata"]["name"].as_str().unwrap();
        led.get("discovery.k8s.io", "endpointslices", name)["endpoints"].as_array().map_or(0, Vec::len) == 1
    });
    led.stop().await;
}

#[tokio::test]
async fn a_pod_stops_with_grace_and_a_namespace_takes_its_content_along() {
    let led = Led::start();
    let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "temporary" } });
    led.cluster.create(namespace).unwrap();
    let account = Key::new("", "serviceaccounts", "temporary", "default");
    eventually!("the namespace has its account", led.cluster.get(&account));
    let mut web = workload("Deployment", "web", 2, "web:1");
    web["metadata"]["namespace"] = "temporary".into();
    led.cluster.create(web).unwrap();
    let pods = || led.cluster.list("", "pods", Some("temporary"));
    eventually!("two run", pods().iter().filter(|pod| pod["status"]["phase"] == "Running").count() == 2);
    let key = Key::new("", "namespaces", "", "temporary");
    led.cluster.delete_with(&key, &DeleteOptions::default()).unwrap();
    eventually!("all of it is gone", led.cluster.get(&key).is_none());
    assert!(pods().is_empty());
    led.stop().await;
}

#[tokio::test]
async fn events_tell_what_happened_and_are_few() {
    let led = Led::start();
    led.cluster.create(workload("Deployment", "web", 20, "web:1")).unwrap();
    eventually!("twenty pods", led.ready_images().len() == 20);
    let events = led.cluster.list("", "events", None);
    assert!(events.len() <= 50, "{}", events.len());
    assert!(
        events.iter().any(|event| event["reason"] == "Started" && event["involvedObject"]["kind"] == "Pod")
    );
    led.stop().await;
}

#[tokio::test]
async fn a_shop_opens_and_lives() {
    let led = Led::start();
    Shop { cluster: "eu-west", size: ShopSize::Full, seed: 5 }.open(&led.cluster).unwrap();
    eventually!("every deployment is available", {
        let deployments = led.cluster.list("apps", "deployments", None);
        deployments.len() > 7 && deployments.iter().all(|it| condition(it, "Available") == "True")
    });
    eventually!("every stateful set is ready", {
        let sets = led.cluster.list("apps", "statefulsets", None);
        sets.len() == 3 && sets.iter().all(|set| set["status"]["readyReplicas"] == set["spec"]["replicas"])
    });
    let mut activity = ShopActivity::new(ActivityRate { every: Duration::from_millis(20) });
    activity.add(&led.cluster, ShopSize::Full, 5);
    led.shutdown.spawn("life", activity.run(led.shutdown.token()));
    let promotions = || led.cluster.list("shop.example.com", "promotions", Some("shop"));
    eventually!("a program crashed and was restarted", {
        let pods = led.cluster.list("", "pods", None);
        pods.iter().any(|pod| pod["status"]["containerStatuses"][0]["restartCount"].as_i64() > Some(0))
    });
    eventually!("a release was rolled out", {
        let deployments = led.cluster.list("apps", "deployments", None);
        deployments.iter().any(|it| it["metadata"]["annotations"]["deployment.kubernetes.io/revision"] != "1")
    });
    eventually!(
        "a promotion was redeemed",
        promotions().iter().any(|it| it["status"]["redeemed"].as_i64() > Some(0))
    );
    led.stop().await;
}
