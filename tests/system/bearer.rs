//! The token that an agent shows to the hub.

use std::{net::SocketAddr, sync::Arc};

use parking_lot::Mutex;
use serde_json::{Value, json};
use spindrift_protocol::v1::{self, hub_server};
use spindrift_testkit::{AgentProcess, Cluster, eventually, scratch};
use tokio::net::TcpListener;
use tokio_stream::{Empty, wrappers::TcpListenerStream};
use tonic::{Request, Response, Status, Streaming, transport::Server};

use crate::support::{LONG, account};

/// A gateway before a hub that refuses every request, and records the tokens.
#[derive(Clone, Default)]
struct Porter {
    shown: Arc<Mutex<Vec<String>>>,
}

type Refused<T> = Result<Response<Empty<Result<T, Status>>>, Status>;

#[tonic::async_trait]
impl hub_server::Hub for Porter {
    async fn register(
        &self,
        request: Request<v1::RegisterRequest>,
    ) -> Result<Response<v1::RegisterResponse>, Status> {
        let shown = request.metadata().get("authorization").map(|value| value.to_str().unwrap().to_owned());
        self.shown.lock().push(shown.unwrap_or_default());
        Err(Status::unauthenticated("this token is not known here"))
    }

    type ControlStream = Empty<Result<v1::ControlDown, Status>>;
    async fn control(&self, _: Request<Streaming<v1::ControlUp>>) -> Refused<v1::ControlDown> {
        Err(Status::unauthenticated(""))
    }

    type EventsStream = Empty<Result<v1::EventsDown, Status>>;
    async fn events(&self, _: Request<Streaming<v1::EventsUp>>) -> Refused<v1::EventsDown> {
        Err(Status::unauthenticated(""))
    }

    type ResultsStream = Empty<Result<v1::ResultsDown, Status>>;
    async fn results(&self, _: Request<Streaming<v1::ResultsUp>>) -> Refused<v1::ResultsDown> {
        Err(Status::unauthenticated(""))
    }
}

fn agent(porter: SocketAddr, auth: &Value, cluster: &Cluster) -> AgentProcess {
    let settings = json!({
        "clouddriver": { "grpc": porter, "auth": auth, "backoff": { "baseDelay": 10_000_000, "maxDelay": 50_000_000 } },
        "kubernetes": { "accounts": [account("main", cluster)] },
    });
    AgentProcess::with_settings("agent-a", settings).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_or_what_a_program_prints_is_shown_with_each_registration() {
    let cluster = Cluster::shared().await.unwrap();
    let porter = Porter::default();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = Server::builder()
        .add_service(hub_server::HubServer::new(porter.clone()))
        .serve_with_incoming(TcpListenerStream::new(listener));
    let mut tasks = tokio::task::JoinSet::new();
    tasks.spawn(server);
    let print = |script: &str| json!({ "command": "sh", "args": ["-c", script], "format": "raw" });

    let fixed = agent(address, &json!({ "token": "s3cret" }), cluster);
    eventually!("the token is shown", LONG, porter.shown.lock().contains(&"Bearer s3cret".into()));
    fixed.daemon().wait_for_log("register: this token is not known here").await.unwrap();
    assert!(!fixed.daemon().log().contains("s3cret"), "a token is never logged");
    drop(fixed);

    let directory = scratch("program").unwrap();
    let seen = directory.path().join("environment");
    // Moved into place, so that a reader never finds it half written.
    let script = format!("env > '{0}.new' && mv '{0}.new' '{0}'; echo token-$$", seen.display());
    let _printing = agent(address, &json!({ "tokenCommand": print(&script) }), cluster);
    eventually!("each registration has a fresh token", LONG, {
        let mut printed = porter.shown.lock().clone();
        printed.retain(|token| token.starts_with("Bearer token-"));
        printed.dedup();
        printed.len() > 1
    });
    let seen = std::fs::read_to_string(seen).unwrap();
    assert!(seen.contains("HOSTNAME=agent-a"), "a program has the agent's environment: {seen}");
    assert!(!seen.contains("MALLOC_"), "but not what is for the agent's memory: {seen}");

    let failing =
        agent(address, &json!({ "tokenCommand": print("echo 'log in first' >&2; exit 1") }), cluster);
    failing.daemon().wait_for_log("ended with exit status: 1: log in first").await.unwrap();
}
