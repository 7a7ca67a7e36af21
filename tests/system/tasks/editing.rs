//! Edits of Secrets in Deck: it deploys the manifest that `GET /manifests` showed, which has no values.

use serde_json::{Value, json};
use spindrift_testkit::{Cluster, Database};

use super::{deployment, done, failed};
use crate::support::Stack;

const PASSWORD: &str = "Y2FuYXJ5LTlhMQ==";

struct Editor<'a> {
    cluster: &'a Cluster,
    namespace: String,
    stack: Stack,
}

// === impl Editor ===

impl<'a> Editor<'a> {
    async fn open(cluster: &'a Cluster, test: &str) -> Self {
        let namespace = cluster.namespace(test).await.unwrap();
        let stack = Stack::start(cluster, Database::sqlite().unwrap(), &["ConfigMap"]).await;
        stack.synced("main").await;
        Self { cluster, namespace, stack }
    }

    /// A Secret with one value and these annotations.
    fn secret(&self, name: &str, annotations: &Value) -> Value {
        let metadata = json!({ "name": name, "namespace": self.namespace, "annotations": annotations });
        json!({ "apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": { "password": PASSWORD } })
    }

    async fn kubectl(&self, verb: &str, manifest: &Value) {
        self.cluster.kubectl_stdin(&[verb, "-f", "-"], &manifest.to_string()).await.unwrap();
    }

    async fn live(&self, name: &str) -> Value {
        let get = ["get", "secret", name, "-n", &self.namespace, "-o", "json"];
        serde_json::from_str(&self.cluster.kubectl(&get).await.unwrap()).unwrap()
    }

    /// The manifest in Deck's editor.
    async fn shown(&self, name: &str) -> Value {
        let path = format!("/manifests/main/{}/secret%20{name}?includeEvents=false", self.namespace);
        let shown = self.stack.hub.get(&path).await.unwrap();
        assert!(!shown.to_string().contains(PASSWORD), "{shown}");
        shown["manifest"].clone()
    }

    /// Deck's call after an edit, as Orca forwards it.
    fn edit(manifest: Value) -> Value {
        let mut description = deployment("main", json!([manifest]));
        description["moniker"]["cluster"] = "secret login".into();
        description["source"] = "text".into();
        description["versioned"] = Value::Null;
        description["relationships"] = json!({ "loadBalancers": [], "securityGroups": [] });
        description
    }

    async fn deploy(&self, manifest: Value) {
        let task = done(&self.stack.hub, "deployManifest", Self::edit(manifest)).await;
        assert!(!task.to_string().contains(PASSWORD), "{task:#}");
    }
}

/// Adds a label, as an edit does.
fn labelled(mut manifest: Value) -> Value {
    manifest["metadata"]["labels"]["edited"] = "yes".into();
    manifest
}

fn applied(secret: &Value) -> &str {
    let annotation = &secret["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-configuration"];
    annotation.as_str().unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edited_secret_keeps_its_values() {
    let cluster = Cluster::shared().await.unwrap();
    let editor = Editor::open(cluster, "edited").await;
    for (name, strategy, verb) in [
        ("applied", None, "apply"),
        ("created", None, "create"),
        ("replaced", Some("replace"), "apply"),
        ("recreated", Some("recreate"), "apply"),
        ("server-side", Some("server-side-apply"), "apply"),
    ] {
        let mut annotations = json!({ "strategy.spinnaker.io/versioned": "false" });
        if let Some(strategy) = strategy {
            annotations[format!("strategy.spinnaker.io/{strategy}")] = "true".into();
        }
        editor.kubectl(verb, &editor.secret(name, &annotations)).await;
        let before = editor.live(name).await;
        editor.deploy(labelled(editor.shown(name).await)).await;
        let after = editor.live(name).await;
        assert_eq!(after["metadata"]["labels"]["edited"], "yes", "{name}");
        assert_eq!(after["data"], before["data"], "{name}");
        let is_same = after["metadata"]["uid"] == before["metadata"]["uid"];
        assert_eq!(is_same, strategy != Some("recreate"), "{name}");
        if name != "server-side" {
            assert!(!applied(&after).contains(PASSWORD), "{name}: {after:#}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_next_version_of_an_edited_secret_has_its_values() {
    let cluster = Cluster::shared().await.unwrap();
    let editor = Editor::open(cluster, "versioned-edit").await;
    editor.kubectl("create", &editor.secret("login", &json!({}))).await;
    editor.deploy(labelled(editor.shown("login").await)).await;
    let version = editor.live("login-v000").await;
    assert_eq!(version["data"], json!({ "password": PASSWORD }));
    assert_eq!(version["metadata"]["labels"]["edited"], "yes");
    assert!(!applied(&version).contains(PASSWORD), "{version:#}");

    // A version is never changed, whatever the values of the source are meanwhile.
    let patch = r#"{"data":{"password":"b3RoZXI="}}"#;
    cluster.kubectl(&["patch", "secret", "login", "-n", &editor.namespace, "-p", patch]).await.unwrap();
    editor.deploy(labelled(editor.shown("login").await)).await;
    assert_eq!(editor.live("login-v000").await["data"], json!({ "password": PASSWORD }));
    assert_eq!(editor.live("login-v001").await["data"], json!({ "password": "b3RoZXI=" }));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_changes_the_values_that_it_names() {
    let cluster = Cluster::shared().await.unwrap();
    let editor = Editor::open(cluster, "named-values").await;
    let annotations = json!({ "strategy.spinnaker.io/versioned": "false" });
    editor.kubectl("apply", &editor.secret("login", &annotations)).await;
    let mut more = editor.shown("login").await;
    more["stringData"] = json!({ "user": "me" });
    editor.deploy(more).await;
    assert_eq!(editor.live("login").await["data"], json!({ "password": PASSWORD, "user": "bWU=" }));

    // A manifest that a pipeline deploys has all values: keys of `data` that it drops are removed, also after an edit.
    let mut whole = editor.secret("login", &annotations);
    whole["data"] = json!({ "token": "dA==", "user": "bWU=" });
    editor.deploy(whole).await;
    assert_eq!(editor.live("login").await["data"], json!({ "token": "dA==", "user": "bWU=" }));

    let mut without = editor.secret("login", &annotations);
    without.as_object_mut().unwrap().remove("data");
    editor.deploy(without.clone()).await;
    let kept = editor.live("login").await;
    assert_eq!(kept["data"], json!({ "token": "dA==", "user": "bWU=" }), "absent is not empty");
    without["data"] = json!({});
    editor.deploy(without).await;
    assert!(editor.live("login").await["data"].as_object().is_none_or(serde_json::Map::is_empty));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_immutable_secret_can_be_labelled() {
    let cluster = Cluster::shared().await.unwrap();
    let editor = Editor::open(cluster, "immutable-edit").await;
    let mut secret = editor.secret("login", &json!({ "strategy.spinnaker.io/versioned": "false" }));
    secret["immutable"] = true.into();
    editor.kubectl("apply", &secret).await;
    editor.deploy(labelled(editor.shown("login").await)).await;
    let after = editor.live("login").await;
    assert_eq!((&after["data"]["password"], &after["immutable"]), (&json!(PASSWORD), &json!(true)));
    assert_eq!(after["metadata"]["labels"]["edited"], "yes");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_of_a_secret_that_is_gone_fails() {
    let cluster = Cluster::shared().await.unwrap();
    let editor = Editor::open(cluster, "gone-edit").await;
    let secret = editor.secret("login", &json!({ "strategy.spinnaker.io/versioned": "false" }));
    editor.kubectl("create", &secret).await;
    let shown = editor.shown("login").await;
    cluster.kubectl(&["delete", "secret", "login", "-n", &editor.namespace]).await.unwrap();
    let said = failed(&editor.stack.hub, "deployManifest", Editor::edit(shown.clone())).await;
    assert!(said.contains(r#"secrets "login" not found, so its values cannot be kept"#), "{said}");
    editor.kubectl("create", &secret).await;
    let said = failed(&editor.stack.hub, "deployManifest", Editor::edit(shown)).await;
    assert!(said.contains("was deleted and created again since it was read"), "{said}");
    assert_eq!(editor.live("login").await["data"], json!({ "password": PASSWORD }));
}
