//! What is in a Secret never leaves its cluster: not to the wire, not to the store, not to a log, not to REST.

use base64::{Engine, prelude::BASE64_STANDARD_NO_PAD};
use regex::bytes::Regex;
use serde_json::{Value, json};
use spindrift_testkit::{AgentProcess, Cluster, Database, FaultProxy, HubProcess, Watch, WatchEvent};

use crate::support::account;

/// As much as the libraries below us can be made to say, too.
const EVERYTHING: &str = "trace,h2=trace,hyper=trace,hyper_util=trace,rustls=trace,tower=trace";

/// A random word that is looked for in all forms that it may take.
struct Canary {
    word: String,
    needles: Vec<(&'static str, Regex)>,
}

/// An agent and a hub that say all they can, with their wire recorded.
struct Glass {
    agent: AgentProcess,
    wire: FaultProxy,
    hub: HubProcess,
    database: Database,
}

// === impl Canary ===

impl Canary {
    fn new() -> Self {
        let word: String = std::iter::repeat_with(fastrand::alphanumeric).take(32).collect();
        let needles = [
            ("as it is", word.clone()),
            ("as base64", base64_within(&word, 0)),
            ("as base64, shifted by one", base64_within(&word, 1)),
            ("as base64, shifted by two", base64_within(&word, 2)),
        ];
        let needles = needles.map(|(form, text)| (form, Regex::new(&regex::escape(&text)).unwrap()));
        Self { word, needles: needles.into() }
    }

    /// A value that has to be escaped in JSON, with the word in its midst.
    fn value(&self) -> String {
        format!("<\"{}\\é\">", self.word)
    }

    /// The form in which it is found in a haystack.
    fn found_in(&self, haystack: &[u8]) -> Option<&'static str> {
        self.needles.iter().find(|(_, needle)| needle.is_match(haystack)).map(|(form, _)| *form)
    }
}

/// What base64 makes of the word wherever it stands behind so many bytes, whatever those are.
fn base64_within(word: &str, shift: usize) -> String {
    let encoded = BASE64_STANDARD_NO_PAD.encode([&vec![0; shift], word.as_bytes()].concat());
    // The digits at both ends hold bits of the neighbours, too.
    let first = (shift * 8).div_ceil(6);
    let end = (shift + word.len()) * 8 / 6;
    encoded[first..end].to_owned()
}

// === impl Glass ===

impl Glass {
    async fn start(cluster: &Cluster, database: Database) -> Self {
        let settings = [
            ("/kubesvc/cache/cacheKinds", json!(["ConfigMap", "Secret"])),
            ("/logging/level", json!(EVERYTHING)),
        ];
        let hub = HubProcess::start("hub-a", &database, &settings).await.unwrap();
        let wire = FaultProxy::start(hub.grpc()).await.unwrap();
        wire.record();
        let settings = json!({
            "clouddriver": { "grpc": wire.addr().to_string() },
            "kubernetes": { "accounts": [account("main", cluster)] },
            "logging": { "level": EVERYTHING },
        });
        let agent = AgentProcess::with_settings("agent-a", settings).unwrap();
        Self { agent, wire, hub, database }
    }

    /// All places where something could show, each by name.
    async fn haystacks(&self) -> Vec<(String, Vec<u8>)> {
        let mut haystacks = vec![
            ("the store".to_owned(), self.database.dump().await.unwrap()),
            ("the wire".to_owned(), self.wire.recorded()),
            ("the agent's log".to_owned(), self.agent.daemon().log().into_bytes()),
            ("the hub's log".to_owned(), self.hub.daemon().log().into_bytes()),
        ];
        for path in ["/v1/objects?limit=1000", "/v1/accounts", "/agents/kubernetes/accounts/main", "/metrics"]
        {
            haystacks.push((format!("the hub's {path}"), self.hub.text(path).await.unwrap().into_bytes()));
        }
        for path in ["/accounts", "/watches", "/metrics"] {
            haystacks
                .push((format!("the agent's {path}"), self.agent.text(path).await.unwrap().into_bytes()));
        }
        haystacks
    }
}

/// Waits for an event about an object, and keeps all that was told on the way.
async fn told(watch: &mut Watch, heard: &mut Vec<u8>, event: &str, name: &str, label: Option<&str>) {
    loop {
        let WatchEvent { event: this, data, .. } = watch.next().await.unwrap();
        heard.extend(data.to_string().into_bytes());
        let labelled = label.is_none() || data["object"]["metadata"]["labels"]["round"].as_str() == label;
        if this == event && data["name"] == name && labelled {
            return;
        }
    }
}

fn secret(namespace: &str, name: &str, round: &str, fields: Value) -> String {
    let mut secret = fields;
    secret["apiVersion"] = json!("v1");
    secret["kind"] = json!("Secret");
    secret["metadata"] = json!({ "name": name, "namespace": namespace, "labels": { "round": round } });
    secret.to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_of_a_secrets_values_is_found_anywhere() {
    let cluster = Cluster::shared().await.unwrap();
    for database in [Database::sqlite().unwrap(), Database::postgres().await.unwrap()] {
        let engine = database.engine();
        let namespace = &cluster.namespace("secrets").await.unwrap();
        let secret_canaries: [Canary; 7] = std::array::from_fn(|_| Canary::new());
        let [early, data, string_data, applied, applied_string, reapplied, patched] = &secret_canaries;
        let controls: [Canary; 2] = std::array::from_fn(|_| Canary::new());
        let base64 = |canary: &Canary| base64::prelude::BASE64_STANDARD.encode(canary.value());

        // One is there before anyone watches, so that it is listed.
        let create = ["create", "-f", "-"];
        let fields = json!({ "stringData": { "key": early.value() } });
        cluster.kubectl_stdin(&create, &secret(namespace, "early", "1", fields)).await.unwrap();
        let glass = Glass::start(cluster, database).await;
        let query = [("account", "main"), ("namespace", namespace.as_str())];
        let mut watch = glass.hub.watch(&query, None).await.unwrap();
        let mut heard = Vec::new();
        told(&mut watch, &mut heard, "upsert", "early", None).await;

        let fields = json!({ "data": { "key": base64(data) } });
        cluster.kubectl_stdin(&create, &secret(namespace, "created", "1", fields)).await.unwrap();
        told(&mut watch, &mut heard, "upsert", "created", Some("1")).await;
        let fields = json!({ "stringData": { "key": string_data.value() } });
        cluster.kubectl_stdin(&create, &secret(namespace, "strings", "1", fields)).await.unwrap();
        told(&mut watch, &mut heard, "upsert", "strings", Some("1")).await;
        let apply = ["apply", "-f", "-"];
        let fields =
            json!({ "data": { "key": base64(applied) }, "stringData": { "other": applied_string.value() } });
        cluster.kubectl_stdin(&apply, &secret(namespace, "applied", "1", fields)).await.unwrap();
        told(&mut watch, &mut heard, "upsert", "applied", Some("1")).await;

        let fields = json!({ "stringData": { "key": reapplied.value() } });
        cluster.kubectl_stdin(&apply, &secret(namespace, "applied", "2", fields)).await.unwrap();
        told(&mut watch, &mut heard, "upsert", "applied", Some("2")).await;
        let patch =
            json!({ "stringData": { "key": patched.value() }, "metadata": { "labels": { "round": "2" } } });
        let patch = ["patch", "secret", "created", "-n", namespace, "--type=merge", "-p", &patch.to_string()];
        cluster.kubectl(&patch).await.unwrap();
        told(&mut watch, &mut heard, "upsert", "created", Some("2")).await;
        for name in ["applied", "created"] {
            cluster.kubectl(&["delete", "secret", name, "-n", namespace]).await.unwrap();
            told(&mut watch, &mut heard, "delete", name, None).await;
        }

        // The same, in an object that is no secret: this must be found, or the search is worth nothing.
        let open = json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": { "name": "open", "namespace": namespace },
            "data": { "key": controls[0].value() },
            "binaryData": { "other": base64(&controls[1]) },
        });
        cluster.kubectl_stdin(&create, &open.to_string()).await.unwrap();
        told(&mut watch, &mut heard, "upsert", "open", None).await;

        let mut haystacks = glass.haystacks().await;
        haystacks.push(("the hub's /v1/objects/watch".to_owned(), heard));
        for (place, haystack) in &haystacks {
            for (number, canary) in secret_canaries.iter().enumerate() {
                assert_eq!(canary.found_in(haystack), None, "canary {number} is in {place} of {engine}");
            }
            let expected = matches!(
                place.as_str(),
                "the store" | "the wire" | "the hub's /v1/objects?limit=1000" | "the hub's /v1/objects/watch"
            );
            let found = controls.each_ref().map(|control| control.found_in(haystack));
            let forms = expected.then_some(["as it is", "as base64, shifted by two"]);
            assert_eq!(
                found,
                forms.map_or([None; 2], |forms| forms.map(Some)),
                "controls in {place} of {engine}"
            );
        }
    }
}

#[test]
fn the_search_finds_every_form() {
    let canary = Canary::new();
    let value = canary.value();
    assert_eq!(canary.found_in(value.as_bytes()), Some("as it is"));
    let json = json!({ "outer": json!({ "inner": value }).to_string() }).to_string();
    assert_eq!(canary.found_in(json.as_bytes()), Some("as it is"), "escaped twice");
    for (before, form) in [
        ("", "as base64"),
        ("1", "as base64, shifted by one"),
        ("12", "as base64, shifted by two"),
        ("123", "as base64"),
    ] {
        let encoded = BASE64_STANDARD_NO_PAD.encode(format!("{before}{}behind", canary.word));
        assert_eq!(canary.found_in(encoded.as_bytes()), Some(form));
    }
    assert_eq!(canary.found_in(Canary::new().word.as_bytes()), None);
}
