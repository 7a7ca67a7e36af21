//! Refusals of an API server reach the caller unchanged: status, reason, message and causes.

mod webhook;

use http::Request;
use kube::{
    Client, Config,
    client::Body,
    config::{KubeConfigOptions, Kubeconfig},
};
use serde_json::{Value, json};
use spindrift_playground::{Effect, Fault, Faults, Verb};
use spindrift_testkit::{Cluster, Database, eventually};

use crate::{
    load::playground::Playground,
    support::{LONG, Stack, account},
};
use webhook::{Manner, Webhook};

/// The same request for both: a verb for the hub, a request for the API server.
struct Question {
    verb: Value,
    method: &'static str,
    path: String,
    body: Value,
}

// === impl Question ===

impl Question {
    /// Creates an object.
    fn create(namespace: &str, group_version: &str, plural: &str, manifest: Value) -> Self {
        let path = format!("/{group_version}/namespaces/{namespace}/{plural}?fieldValidation=Strict");
        let verb = json!({ "verb": "create", "manifest": &manifest, "namespace": namespace });
        Self { verb, method: "POST", path, body: manifest }
    }

    /// The API server's own answer.
    async fn raw(&self, client: &Client) -> Value {
        let request = Request::builder().method(self.method).uri(&self.path);
        let request = request.header("content-type", "application/json");
        let body = if self.body.is_null() { Vec::new() } else { serde_json::to_vec(&self.body).unwrap() };
        let response = client.send(request.body(Body::from(body)).unwrap()).await.unwrap();
        let code = response.status().as_u16();
        let status: Value =
            serde_json::from_slice(&response.into_body().collect_bytes().await.unwrap()).unwrap();
        assert_eq!(status["code"], code, "it is refused: {status}");
        status
    }
}

fn config_map(name: &str, namespace: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name, "namespace": namespace } })
}

/// The hub refuses as the API server does.
async fn assert_same_words(stack: &Stack, account: &str, question: &Question, raw: &Value) {
    let answer = stack.hub.operations(account).ask(&question.verb).await.unwrap();
    let status = answer.status();
    assert_eq!(i64::from(answer.code), raw["code"], "{status}");
    for field in ["status", "reason", "message", "code", "details"] {
        assert_eq!(status[field], raw[field], "{field} of {status}");
    }
}

/// A client of the API server, with the credentials of a kubeconfig.
async fn client_of(kubeconfig: &std::path::Path) -> Client {
    let kubeconfig = Kubeconfig::read_from(kubeconfig).unwrap();
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
    // Loopback, whatever proxy the machine has.
    config.proxy_url = None;
    Client::try_from(config).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_words_of_the_api_server_arrive_unchanged() {
    let cluster = Cluster::shared().await.unwrap();
    let namespace = &cluster.namespace("refusals").await.unwrap();
    let stack = Stack::start(cluster, Database::sqlite().unwrap(), &["ConfigMap"]).await;
    stack.synced("main").await;
    let client = cluster.client();
    let there = config_map("there", namespace);
    cluster.kubectl_stdin(&["create", "-f", "-"], &there.to_string()).await.unwrap();

    let absent = Question {
        verb: json!({ "verb": "get", "target": { "kind": "ConfigMap", "namespace": namespace, "name": "absent" } }),
        method: "GET",
        path: format!("/api/v1/namespaces/{namespace}/configmaps/absent"),
        body: Value::Null,
    };
    let nowhere = Question::create("nowhere", "api/v1", "configmaps", config_map("lost", "nowhere"));
    let twice = Question::create(namespace, "api/v1", "configmaps", there.clone());
    let mut outdated = there;
    outdated["metadata"]["resourceVersion"] = "1".into();
    let conflict = Question {
        verb: json!({ "verb": "replace", "manifest": &outdated }),
        method: "PUT",
        path: format!("/api/v1/namespaces/{namespace}/configmaps/there"),
        body: outdated,
    };
    let mut bad = config_map("Bad_Name", namespace);
    // One bad key only: several are reported in the order of a Go map, which differs every time.
    bad["data"] = json!({ "bad key": "x" });
    let invalid = Question::create(namespace, "api/v1", "configmaps", bad);
    let mut odd = config_map("odd", namespace);
    odd["colour"] = "blue".into();
    let unknown_field = Question::create(namespace, "api/v1", "configmaps", odd);
    let mut huge = config_map("huge", namespace);
    huge["data"] = json!({ "value": "x".repeat(4 << 20) });
    let too_large = Question::create(namespace, "api/v1", "configmaps", huge);

    for (question, code, reason, causes) in [
        (&absent, 404, "NotFound", 0),
        (&nowhere, 404, "NotFound", 0),
        (&twice, 409, "AlreadyExists", 0),
        (&conflict, 409, "Conflict", 0),
        (&invalid, 422, "Invalid", 2),
        (&unknown_field, 400, "BadRequest", 0),
        (&too_large, 413, "RequestEntityTooLarge", 0),
    ] {
        let raw = question.raw(&client).await;
        assert_same_words(&stack, "main", question, &raw).await;
        assert_eq!((&raw["code"], &raw["reason"]), (&json!(code), &json!(reason)), "{raw}");
        let told = raw["details"]["causes"].as_array().map_or(0, Vec::len);
        assert_eq!(told, causes, "{raw}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn names_that_would_address_another_object_are_refused_by_the_hub() {
    let cluster = Cluster::shared().await.unwrap();
    let namespace = &cluster.namespace("jewels").await.unwrap();
    let jewels = config_map("jewels", namespace).to_string();
    cluster.kubectl_stdin(&["create", "-f", "-"], &jewels).await.unwrap();
    let mut limited = account("main", cluster);
    limited["omitNamespaces"] = json!([namespace]);
    let stack = Stack::with_accounts(Database::sqlite().unwrap(), &["ConfigMap"], json!([limited])).await;
    stack.synced("main").await;
    let name = format!("{namespace}/configmaps/jewels");
    let target = json!({ "kind": "Namespace", "name": name });
    for (verb, field) in [
        (json!({ "verb": "get", "target": target }), "target.name"),
        (json!({ "verb": "patch", "target": target, "patch": { "data": {} } }), "target.name"),
        (json!({ "verb": "delete", "kind": "Namespace", "name": name }), "name"),
        (json!({ "verb": "list", "kind": "Pod", "namespace": ".." }), "namespace"),
        (json!({ "verb": "apply", "manifest": config_map("a%2Fb", "default") }), "manifest.metadata.name"),
    ] {
        let answer = stack.hub.operations("main").ask(&verb).await.unwrap();
        let message = answer.status()["message"].as_str().unwrap_or_default().to_owned();
        assert_eq!(answer.code, 400, "{verb}: {message}");
        assert!(message.starts_with(&format!("{field}: ")), "{verb}: {message}");
    }
    let segment = name.replace('/', "%2F");
    for path in [
        format!("/manifests/main/_/namespace%20{segment}"),
        format!("/manifests/main/{segment}/pod%20x"),
        "/instances/main/..%2F/pod%20x/console".to_owned(),
        format!("/applications/x/jobs/main/default/job%20{segment}"),
        format!("/manifests/main/{segment}/pod/cluster/a/b"),
    ] {
        let answer = reqwest::get(format!("{}{path}", stack.hub.url())).await.unwrap();
        let (status, text) = (answer.status(), answer.text().await.unwrap());
        assert_eq!(status, 400, "{path}: {text}");
        assert!(text.contains("may not contain '/'"), "{path}: {text}");
    }
    let delete = json!([{ "deleteManifest": { "account": "main", "manifestName": format!("namespace {name}"), "location": "" } }]);
    let ops = format!("{}/kubernetes/ops", stack.hub.url());
    let answer = reqwest::Client::new().post(ops).json(&delete).send().await.unwrap();
    let (status, text) = (answer.status(), answer.text().await.unwrap());
    assert!(status == 400 && text.contains("invalidName"), "{status}: {text}");
    cluster.kubectl(&["-n", namespace, "get", "configmap", "jewels"]).await.expect("it was not touched");
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_permissions_are_reported_by_the_api_server() {
    let cluster = Cluster::shared().await.unwrap();
    let namespace = &cluster.namespace("refusals").await.unwrap();
    let kubeconfig = cluster.kubeconfig_for("nobody").unwrap();
    let nobody = json!({ "name": "nobody", "kubeconfigFile": kubeconfig });
    let accounts = json!([account("main", cluster), nobody]);
    let stack = Stack::with_accounts(Database::sqlite().unwrap(), &["ConfigMap"], accounts).await;
    stack.synced("main").await;
    eventually!("the account is known", LONG, !stack.account("nobody").await.is_null());
    let question = Question::create(namespace, "api/v1", "configmaps", config_map("mine", namespace));
    let raw = question.raw(&client_of(&kubeconfig).await).await;
    assert_same_words(&stack, "nobody", &question, &raw).await;
    assert_eq!(raw["reason"], "Forbidden");
    assert!(raw["message"].as_str().unwrap().contains("User \"nobody\" cannot create"), "{raw}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_admission_webhook_has_the_last_word() {
    let cluster = Cluster::shared().await.unwrap();
    let stack = Stack::start(cluster, Database::sqlite().unwrap(), &["ConfigMap"]).await;
    stack.synced("main").await;
    let denies = Manner::Denies { code: 422, reason: "Friday", message: "not on a Friday: \"ask <ops>\"" };
    for (manner, code, words) in [
        (
            denies,
            422,
            "admission webhook \"guard.example.com\" denied the request: not on a Friday: \"ask <ops>\"",
        ),
        (Manner::Hangs, 500, "failed calling webhook \"guard.example.com\""),
    ] {
        let namespace = &cluster.namespace("guarded").await.unwrap();
        let webhook = Webhook::start(manner).await;
        let configuration = webhook.configuration(namespace).to_string();
        cluster.kubectl_stdin(&["create", "-f", "-"], &configuration).await.unwrap();
        let client = cluster.client();
        eventually!("the API server asks the webhook", LONG, {
            let probe =
                json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "generateName": "probe-" } });
            let path = format!("/api/v1/namespaces/{namespace}/configmaps");
            client
                .request::<Value>(Request::post(path).body(serde_json::to_vec(&probe).unwrap()).unwrap())
                .await
                .is_err()
        });
        let question = Question::create(namespace, "api/v1", "configmaps", config_map("guarded", namespace));
        let raw = question.raw(&client).await;
        assert_same_words(&stack, "main", &question, &raw).await;
        assert_eq!(raw["code"], code, "{raw}");
        assert!(raw["message"].as_str().unwrap().contains(words), "{raw}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_timeout_of_the_api_server_is_reported_as_such() {
    let playground = Playground::start().await;
    let stack =
        Stack::with_accounts(Database::sqlite().unwrap(), &["ConfigMap"], playground.accounts()).await;
    stack.synced(playground.name()).await;
    let faults = Faults::before(&playground.cluster());
    let timeout = Effect::Status { code: 504, retry_after: None };
    faults.inject(Fault::new(timeout).of_verbs([Verb::Create]).of_resource("configmaps"));
    let question = Question::create("default", "api/v1", "configmaps", config_map("late", "default"));
    // Not by a client that would try again.
    let url = format!("{}{}", playground.url(), question.path);
    let raw: Value =
        reqwest::Client::new().post(url).json(&question.body).send().await.unwrap().json().await.unwrap();
    assert_same_words(&stack, playground.name(), &question, &raw).await;
    assert_eq!(raw["code"], 504, "{raw}");
}
