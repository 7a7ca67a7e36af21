//! Values of a Secret never leave their cluster: not to the wire, not to the store, not to a log, not to REST.

use base64::{
    Engine,
    prelude::{BASE64_STANDARD, BASE64_STANDARD_NO_PAD},
};
use regex::bytes::Regex;
use serde_json::{Value, json};
use spindrift_testkit::{AgentProcess, Cluster, Database, FaultProxy, HubProcess, Watch, WatchEvent};

use crate::support::account;

/// The most verbose level, of the libraries below us, too.
const EVERYTHING: &str = "trace,h2=trace,hyper=trace,hyper_util=trace,rustls=trace,tower=trace";

/// Where REST shows objects.
const OBJECTS: &str = "/v1/objects?limit=1000";
const WATCH: &str = "/v1/objects/watch";

/// A random word that is looked for in all forms that it may take.
struct Canary {
    word: String,
    needles: Vec<(&'static str, Regex)>,
}

/// An agent and a hub with verbose logs and a recorded link.
struct Glass {
    agent: AgentProcess,
    wire: FaultProxy,
    hub: HubProcess,
    database: Database,
}

/// A reader of the hub's watch that keeps every event.
struct Reader {
    watch: Watch,
    heard: Vec<u8>,
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

    /// The same, as `data` wants it.
    fn base64(&self) -> String {
        BASE64_STANDARD.encode(self.value())
    }

    /// The form in which it is found in a haystack.
    fn found_in(&self, haystack: &[u8]) -> Option<&'static str> {
        self.needles.iter().find(|(_, needle)| needle.is_match(haystack)).map(|(form, _)| *form)
    }
}

/// Base64 of the word behind so many bytes, without the characters that depend on those.
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
            // Compressed, nothing would be found on the wire, whatever is there.
            "clouddriver": { "grpc": wire.addr().to_string(), "compression": false },
            "kubernetes": { "accounts": [account("main", cluster)] },
            "logging": { "level": EVERYTHING },
        });
        let agent = AgentProcess::with_settings("agent-a", settings).unwrap();
        Self { agent, wire, hub, database }
    }

    /// Opens a watch of all kinds in a namespace.
    async fn reader(&self, namespace: &str) -> Reader {
        let query = [("account", "main"), ("namespace", namespace)];
        Reader { watch: self.hub.watch(&query, None).await.unwrap(), heard: Vec::new() }
    }

    /// All places where something could show, each by name.
    async fn haystacks(&self, reader: Reader) -> Vec<(&'static str, Vec<u8>)> {
        let mut haystacks = vec![
            ("the store", self.database.dump().await.unwrap()),
            ("the wire", self.wire.recorded()),
            ("the agent's log", self.agent.daemon().log().into_bytes()),
            ("the hub's log", self.hub.daemon().log().into_bytes()),
            (WATCH, reader.heard),
        ];
        for path in [OBJECTS, "/v1/accounts", "/agents/kubernetes/accounts/main", "/metrics"] {
            haystacks.push((path, self.hub.text(path).await.unwrap().into_bytes()));
        }
        for path in ["/accounts", "/watches", "/metrics"] {
            haystacks.push((path, self.agent.text(path).await.unwrap().into_bytes()));
        }
        haystacks
    }
}

// === impl Reader ===

impl Reader {
    /// Waits for an event about an object, in a certain round of its life if that matters.
    async fn hears(&mut self, event: &str, name: &str, round: Option<&str>) {
        loop {
            let WatchEvent { event: this, data, .. } = self.watch.next().await.unwrap();
            self.heard.extend(data.to_string().into_bytes());
            let this_round = data["object"]["metadata"]["labels"]["round"].as_str();
            if this == event && data["name"] == name && (round.is_none() || round == this_round) {
                return;
            }
        }
    }
}

/// A manifest with these values.
fn secret(namespace: &str, name: &str, round: &str, mut values: Value) -> String {
    values["apiVersion"] = json!("v1");
    values["kind"] = json!("Secret");
    values["metadata"] = json!({ "name": name, "namespace": namespace, "labels": { "round": round } });
    values.to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_of_a_secrets_values_is_found_anywhere() {
    let cluster = Cluster::shared().await.unwrap();
    for database in [Database::sqlite().unwrap(), Database::postgres().await.unwrap()] {
        let engine = database.engine();
        let namespace = &cluster.namespace("secrets").await.unwrap();
        let secrets: [Canary; 7] = std::array::from_fn(|_| Canary::new());
        let [early, data, string_data, applied, applied_string, reapplied, patched] = &secrets;

        // One is there before anyone watches, so that it is listed.
        let values = json!({ "stringData": { "key": early.value() } });
        let manifest = secret(namespace, "early", "1", values);
        cluster.kubectl_stdin(&["create", "-f", "-"], &manifest).await.unwrap();
        let glass = Glass::start(cluster, database).await;
        let mut reader = glass.reader(namespace).await;
        reader.hears("upsert", "early", Some("1")).await;

        let both =
            json!({ "data": { "key": applied.base64() }, "stringData": { "other": applied_string.value() } });
        for (verb, name, round, values) in [
            ("create", "created", "1", json!({ "data": { "key": data.base64() } })),
            ("create", "strings", "1", json!({ "stringData": { "key": string_data.value() } })),
            ("apply", "applied", "1", both),
            ("apply", "applied", "2", json!({ "stringData": { "key": reapplied.value() } })),
        ] {
            let manifest = secret(namespace, name, round, values);
            cluster.kubectl_stdin(&[verb, "-f", "-"], &manifest).await.unwrap();
            reader.hears("upsert", name, Some(round)).await;
        }
        let patch = secret(namespace, "created", "2", json!({ "stringData": { "key": patched.value() } }));
        let patch = ["patch", "secret", "created", "-n", namespace, "--type=merge", "-p", &patch];
        cluster.kubectl(&patch).await.unwrap();
        reader.hears("upsert", "created", Some("2")).await;
        for name in ["applied", "created"] {
            cluster.kubectl(&["delete", "secret", name, "-n", namespace]).await.unwrap();
            reader.hears("delete", name, None).await;
        }

        // The same, in an object that is no secret: this must be found, or the search is worth nothing.
        let controls = [Canary::new(), Canary::new()];
        let open = json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": { "name": "open", "namespace": namespace },
            "data": { "key": controls[0].value() },
            "binaryData": { "other": controls[1].base64() },
        });
        cluster.kubectl_stdin(&["create", "-f", "-"], &open.to_string()).await.unwrap();
        reader.hears("upsert", "open", None).await;

        for (place, haystack) in glass.haystacks(reader).await {
            for (number, canary) in secrets.iter().enumerate() {
                assert_eq!(canary.found_in(&haystack), None, "canary {number} is in {place}, {engine}");
            }
            let expected = match place {
                "the store" | "the wire" | OBJECTS | WATCH => {
                    [Some("as it is"), Some("as base64, shifted by two")]
                }
                _ => [None, None],
            };
            let found = controls.each_ref().map(|control| control.found_in(&haystack));
            assert_eq!(found, expected, "in {place}, {engine}");
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
