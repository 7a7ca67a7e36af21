//! The two servers, and the requests that facts send to them.

mod api_server;
mod call;
mod expected;
mod living;
mod objects;
mod playground;
mod watch;

use std::future::Future;

use kube::config::AuthInfo;
use serde_json::{Value, json};
use spindrift_playground::Cluster;
use spindrift_testkit::eventually;

pub(crate) use call::{APPLY, Answer, Call, JSON, JSON_PATCH, MERGE, STRATEGIC};
pub(crate) use expected::{Cause, failure, invalid, plain};
pub(crate) use living::Living;
pub(crate) use objects::{config_map, deployment, names, pod, version, version_number, with};
pub(crate) use watch::{Watch, kinds_and_names};

use api_server::ApiServer;
use playground::PlaygroundServer;

/// Either server, with a namespace that no other test uses.
pub(crate) struct Server {
    config: kube::Config,
    client: kube::Client,
    machine: Machine,
    namespace: String,
}

enum Machine {
    ApiServer(ApiServer),
    Playground(PlaygroundServer),
}

/// Makes two tests of each fact. Facts that disturb others, `alone`, get a real server of their own.
macro_rules! facts {
    (alone: $($fact:ident),+ $(,)?) => { facts!(@ own_api_server, $($fact),+); };
    (@ $api_server:ident, $($fact:ident),+) => {
        mod api_server {
            $(#[tokio::test]
            async fn $fact() -> anyhow::Result<()> {
                super::$fact(&$crate::support::Server::$api_server().await?).await
            })+
        }
        mod playground {
            $(#[tokio::test]
            async fn $fact() -> anyhow::Result<()> {
                super::$fact(&$crate::support::Server::playground().await?).await
            })+
        }
    };
    ($($fact:ident),+ $(,)?) => { facts!(@ api_server, $($fact),+); };
}

// === impl Server ===

impl Server {
    /// The real API server that all tests share.
    pub(crate) async fn api_server() -> anyhow::Result<Self> {
        Self::new(Machine::ApiServer(ApiServer::shared().await?)).await
    }

    /// A real API server that the test may restart.
    pub(crate) async fn own_api_server() -> anyhow::Result<Self> {
        Self::new(Machine::ApiServer(ApiServer::own().await?)).await
    }

    /// A playground with one cluster.
    pub(crate) async fn playground() -> anyhow::Result<Self> {
        Self::new(Machine::Playground(PlaygroundServer::start().await?)).await
    }

    async fn new(machine: Machine) -> anyhow::Result<Self> {
        let config = match &machine {
            Machine::ApiServer(server) => server.config().await?,
            Machine::Playground(server) => server.config().await?,
        };
        let mut this =
            Self { client: call::client(config.clone())?, config, machine, namespace: String::new() };
        let created =
            this.post("/api/v1/namespaces", json!({"metadata": {"generateName": "fact-"}})).ok().await?;
        created["metadata"]["name"].as_str().unwrap().clone_into(&mut this.namespace);
        Ok(this)
    }

    pub(crate) fn namespace(&self) -> &str {
        &self.namespace
    }

    /// Path of a resource of the core group in the test's namespace.
    pub(crate) fn core(&self, rest: &str) -> String {
        format!("/api/v1/namespaces/{}/{rest}", self.namespace)
    }

    /// Path of a resource of a named group, such as `apps/v1`, in the test's namespace.
    pub(crate) fn named(&self, group: &str, rest: &str) -> String {
        format!("/apis/{group}/namespaces/{}/{rest}", self.namespace)
    }

    /// A client with another token than the administrator's.
    pub(crate) fn client_with_token(&self, token: &str) -> anyhow::Result<kube::Client> {
        let mut config = self.config.clone();
        config.auth_info = AuthInfo { token: Some(token.to_owned().into()), ..AuthInfo::default() };
        call::client(config)
    }

    pub(crate) fn get(&self, path: impl Into<String>) -> Call<'_> {
        Call::new(&self.client, "GET", path.into())
    }

    pub(crate) fn post(&self, path: impl Into<String>, body: Value) -> Call<'_> {
        Call::new(&self.client, "POST", path.into()).json(&body)
    }

    pub(crate) fn put(&self, path: impl Into<String>, body: Value) -> Call<'_> {
        Call::new(&self.client, "PUT", path.into()).json(&body)
    }

    pub(crate) fn patch(&self, media_type: &'static str, path: impl Into<String>, body: Value) -> Call<'_> {
        Call::new(&self.client, "PATCH", path.into()).json(&body).content_type(media_type)
    }

    pub(crate) fn delete(&self, path: impl Into<String>) -> Call<'_> {
        Call::new(&self.client, "DELETE", path.into())
    }

    /// Creates a config map, the simplest object.
    pub(crate) async fn config_map(&self, name: &str) -> anyhow::Result<Value> {
        self.post(self.core("configmaps"), config_map(name)).ok().await
    }

    /// Opens a watch of the config maps in the test's namespace.
    pub(crate) async fn watch_config_maps(&self, query: &str) -> anyhow::Result<Watch> {
        self.watch(&self.core("configmaps"), query).await
    }

    /// Opens a watch; `query` follows `watch=1&`.
    pub(crate) async fn watch(&self, path: &str, query: &str) -> anyhow::Result<Watch> {
        Watch::open(self.get(format!("{path}?watch=1&{query}"))).await
    }

    /// The playground's cluster, for operations without an API.
    pub(crate) fn playground_cluster(&self) -> &Cluster {
        match &self.machine {
            Machine::Playground(server) => server.cluster(),
            Machine::ApiServer(_) => panic!("the real server has no such thing"),
        }
    }

    /// Makes the server drop its history, as a real one does every five minutes.
    pub(crate) async fn forget_history(&self) -> anyhow::Result<()> {
        match &self.machine {
            Machine::ApiServer(server) => server.forget_history().await,
            Machine::Playground(server) => {
                server.cluster().compact();
                Ok(())
            }
        }
    }

    /// Repeats a call until its response meets the condition: names and roles take effect asynchronously.
    pub(crate) async fn until<F: Future<Output = anyhow::Result<Answer>>>(
        &self,
        what: &str,
        call: impl Fn() -> F,
        wished: impl Fn(&Answer) -> bool,
    ) -> Answer {
        eventually!(what, {
            let answer = call().await;
            match answer {
                Ok(answer) if wished(&answer) => Ok(answer),
                other => Err(other),
            }
        })
    }
}
