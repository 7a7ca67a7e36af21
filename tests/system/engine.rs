//! The state machine of a scope, through all that an API server can do to it.

mod ends;

use std::{sync::Arc, time::Duration};

use futures::{FutureExt, future::BoxFuture};
use http::{Request, Response};
use serde_json::{Value, json};
use spindrift_playground::{
    Body, ConnectionClosed, Effect, Fault, Faults, Key, Layer, MalformedBody, Next, RequestBody, Timing,
    Verb,
    fleet::{self, Content, Fleet, FleetOptions},
};
use spindrift_process::shutdown::Shutdown;
use spindrift_testkit::{Cluster, eventually, scratch};
use tempfile::TempDir;

use crate::support::{LONG, Stack};

/// A playground cluster with nothing in it, which misbehaves on demand.
pub(crate) struct Stage {
    pub(crate) fleet: Fleet,
    kubeconfig: std::path::PathBuf,
    _files: TempDir,
    _shutdown: Shutdown,
}

// === impl Stage ===

impl Stage {
    pub(crate) async fn set(clusters: usize) -> Self {
        Self::with(clusters, Content::Empty { timing: Timing::FAST }).await
    }

    pub(crate) async fn with(clusters: usize, content: Content) -> Self {
        let shutdown = Shutdown::new();
        let options = FleetOptions { content, ..FleetOptions::shops(clusters) };
        let fleet = fleet::start(options, &shutdown).await.unwrap();
        let files = scratch("playground").unwrap();
        let kubeconfig = files.path().join("kubeconfig");
        std::fs::write(&kubeconfig, fleet.kubeconfig()).unwrap();
        Self { fleet, kubeconfig, _files: files, _shutdown: shutdown }
    }

    /// One account for each cluster, of the cluster's name.
    pub(crate) fn accounts(&self) -> Vec<Value> {
        let account =
            |name: &str| json!({ "name": name, "kubeconfigFile": self.kubeconfig, "context": name });
        self.fleet.names().map(account).collect()
    }

    fn create(&self, kind: &str, name: &str) {
        let body = json!({
            "apiVersion": "v1", "kind": kind, "metadata": { "name": name, "namespace": "default" },
            "data": { "key": "first" },
        });
        self.fleet.clusters[0].create(body).unwrap();
    }

    fn change(&self, name: &str, value: &str) {
        let key = Key::new("", "configmaps", "default", name);
        self.fleet.clusters[0].update(&key, |it| it["data"]["key"] = value.into()).unwrap();
    }
}

/// Waits until the hub has a value of a ConfigMap.
async fn value_arrives(stack: &Stack, name: &str, value: &str) {
    let query = [("kind", "ConfigMap"), ("namespace", "default"), ("name", name)];
    eventually!(format!("{name} = {value} arrives"), LONG, {
        let objects = stack.hub.objects(&query).await.unwrap();
        objects.first().is_some_and(|object| object.object["data"]["key"] == value)
    });
}

/// Number of listings of each kind of the account.
async fn listings(stack: &Stack, account: &str) -> std::collections::BTreeMap<String, u64> {
    let watches = stack.agent.get("/watches").await.unwrap();
    let states = watches[account].as_object().unwrap().values();
    let lines = states.flat_map(|lines| lines.as_array().unwrap().clone());
    lines
        .map(|line| (line["kind"].as_str().unwrap().to_owned(), line["listings"].as_u64().unwrap()))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failing_watch_does_not_make_the_others_list_again() {
    let stage = Stage::set(1).await;
    let faults = Faults::before(&stage.fleet.clusters[0]);
    stage.create("ConfigMap", "steady");
    let kinds = ["ConfigMap", "Secret", "Service"];
    let stack = Stack::with_settings(&kinds, json!(stage.accounts()), &[]).await;
    let account = stage.fleet.clusters[0].name();
    stack.synced(account).await;
    value_arrives(&stack, "steady", "first").await;
    let once =
        |kinds: &[&str], lists: u64| kinds.iter().map(|kind| ((*kind).to_owned(), lists)).collect::<Vec<_>>();

    // None of these requires a new listing: changes meanwhile come by resuming.
    let busy = Effect::Status { code: 429, retry_after: Some(Duration::from_secs(1)) };
    let away = Effect::Status { code: 503, retry_after: None };
    for (name, effect) in [("cut", Effect::Cut), ("busy", busy), ("away", away)] {
        let fault =
            faults.inject(Fault::new(Effect::Cut).of_verbs([Verb::Watch]).of_resource("configmaps").times(1));
        let refusals = faults.inject(Fault::new(effect).of_resource("configmaps").times(2));
        eventually!(
            format!("the watch meets {name}"),
            LONG,
            faults.hits(refusals).is_none_or(|hits| hits >= 2)
        );
        stage.change("steady", name);
        value_arrives(&stack, "steady", name).await;
        faults.lift(fault);
        faults.lift(refusals);
    }
    let all: Vec<_> = listings(&stack, account).await.into_iter().collect();
    assert_eq!(all, once(&kinds, 1), "nothing was listed again");

    // History that is forgotten does, and only for that kind.
    let forgotten = faults.inject(Fault::new(Effect::ExpireHistory).of_resource("configmaps").times(1));
    eventually!(
        "the watch gets 410",
        LONG,
        stack.metric("spindrift_agent_relists_total{reason=\"gone\"}").await == 1
    );
    faults.lift(forgotten);
    stage.change("steady", "after 410");
    value_arrives(&stack, "steady", "after 410").await;
    let all = listings(&stack, account).await;
    assert_eq!((all["ConfigMap"], all["Secret"], all["Service"]), (2, 1, 1));
    assert_eq!(stack.metric("kubesvc_disconnection_total").await, 0, "the session felt nothing of it");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_definition_that_cannot_be_read_disturbs_nothing() {
    let stage = Stage::set(1).await;
    let faults = Faults::before(&stage.fleet.clusters[0]);
    stage.create("ConfigMap", "steady");
    let kinds = ["ConfigMap", "CustomResourceDefinition"];
    let stack = Stack::with_settings(&kinds, json!(stage.accounts()), &[]).await;
    let account = stage.fleet.clusters[0].name();
    stack.synced(account).await;

    let odd = Effect::Malformed(MalformedBody::WrongTypes);
    let odd = faults
        .inject(Fault::new(odd).of_verbs([Verb::Watch]).of_resource("customresourcedefinitions").times(1));
    stage.fleet.clusters[0].create(crate::support::widget_crd("odd.example.com")).unwrap();
    let relists = "spindrift_agent_relists_total{reason=\"unreadable\"}";
    eventually!("it is met, and the definitions are listed again", LONG, stack.metric(relists).await > 0);
    faults.lift(odd);
    eventually!("the definition arrives", LONG, {
        stack.names(account).await.iter().any(|name| name.ends_with("widgets.odd.example.com"))
    });
    stack.synced(account).await;
    stage.change("steady", "after");
    value_arrives(&stack, "steady", "after").await;
    assert_eq!(listings(&stack, account).await["ConfigMap"], 1);
}

/// A server without streaming lists, which takes the request for an ordinary watch.
struct BeforeStreamingLists;

impl Layer for BeforeStreamingLists {
    fn handle(
        &self,
        mut request: Request<RequestBody>,
        next: Next,
    ) -> BoxFuture<'static, Result<Response<Body>, ConnectionClosed>> {
        let uri = request.uri().to_string();
        let (path, query) = uri.split_once('?').unwrap_or((&uri, ""));
        let known = |part: &&str| {
            !query.contains("watch=1")
                || !part.starts_with("sendInitialEvents") && !part.starts_with("resourceVersionMatch")
        };
        let query: Vec<_> = query.split('&').filter(known).collect();
        *request.uri_mut() = format!("{path}?{}", query.join("&")).parse().unwrap();
        async move { Ok(next.run(request).await) }.boxed()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_ignores_the_question_for_a_streamed_list_is_asked_for_pages() {
    let stage = Stage::set(1).await;
    stage.fleet.clusters[0].set_layer(Some(Arc::new(BeforeStreamingLists)));
    stage.create("ConfigMap", "steady");
    let settings = [("/kubernetes/watches", json!({ "silenceMs": 1000 }))];
    let stack = Stack::with_settings(&["ConfigMap"], json!(stage.accounts()), &settings).await;
    value_arrives(&stack, "steady", "first").await;
    let account = stage.fleet.clusters[0].name();
    eventually!("the hub has all of it", LONG, stack.account(account).await["listing"] == 0);
    stage.change("steady", "second");
    value_arrives(&stack, "steady", "second").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn frozen_connections_are_noticed_and_resumed_without_a_list() {
    let cluster = Cluster::builder().bare().start().await.unwrap();
    let namespace = cluster.namespace("frozen").await.unwrap();
    let settings = [("/kubernetes/watches", json!({ "silenceMs": 3000 })), ("/timeoutSeconds", json!(5))];
    let accounts = json!([crate::support::account("main", &cluster)]);
    let stack = Stack::with_settings(&["ConfigMap"], accounts, &settings).await;
    stack.synced("main").await;

    let listed = listings(&stack, "main").await;

    cluster.freeze_api_server().unwrap();
    let before = stack.metric("spindrift_agent_frozen_watches_total").await;
    eventually!(
        "the watch is given up",
        LONG,
        stack.metric("spindrift_agent_frozen_watches_total").await > before
    );
    eventually!("the server is asked, and does not answer", LONG, {
        stack.agent.get("/watches").await.unwrap()["main"]["waiting"][0]["error"].is_string()
    });
    cluster.thaw_api_server().unwrap();
    cluster.kubectl(&["create", "configmap", "thawed", "-n", &namespace]).await.unwrap();
    spindrift_testkit::assert_converged(&cluster, &stack.hub, "main", &[crate::support::CONFIG_MAPS]).await;
    assert_eq!(listings(&stack, "main").await, listed, "nothing was listed again");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_restored_from_a_backup_is_listed_again() {
    let cluster = Cluster::builder().bare().start().await.unwrap();
    let namespace = cluster.namespace("restored").await.unwrap();
    let mut stack =
        Stack::with_settings(&["ConfigMap"], json!([crate::support::account("main", &cluster)]), &[]).await;
    stack.synced("main").await;
    let create = async |name: &str| {
        eventually!("the API server takes it", LONG, {
            cluster.kubectl(&["create", "configmap", name, "-n", &namespace]).await
        });
    };
    create("before").await;
    let backup = cluster.back_up().await.unwrap();
    let lost = crate::support::config_maps(&namespace, "lost", 50, "x");
    cluster.kubectl_stdin(&["create", "-f", "-"], &lost).await.unwrap();
    spindrift_testkit::assert_converged(&cluster, &stack.hub, "main", &[crate::support::CONFIG_MAPS]).await;

    // Under the eyes of the agent.
    cluster.restore(&backup).await.unwrap();
    create("after").await;
    spindrift_testkit::assert_converged(&cluster, &stack.hub, "main", &[crate::support::CONFIG_MAPS]).await;
    assert!(stack.metric("spindrift_agent_relists_total{reason=\"restored\"}").await > 0);

    // And while it is away: the hub's version is from a future that never came.
    cluster.kubectl_stdin(&["create", "-f", "-"], &lost).await.unwrap();
    spindrift_testkit::assert_converged(&cluster, &stack.hub, "main", &[crate::support::CONFIG_MAPS]).await;
    stack.agent.kill();
    cluster.restore(&backup).await.unwrap();
    stack.agent.restart().unwrap();
    spindrift_testkit::assert_converged(&cluster, &stack.hub, "main", &[crate::support::CONFIG_MAPS]).await;
}
