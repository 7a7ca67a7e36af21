//! A Clouddriver with recorded answers only.

use std::{collections::HashMap, convert::Infallible, net::SocketAddr, sync::Arc};

use anyhow::Context;
use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::{body::Incoming, service::service_fn};
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::{net::TcpListener, task::JoinSet};

use super::recording::{Recording, recorded};

/// A server that answers as recorded; dropping it closes everything.
///
/// Several answers to the same request are given one after the other, and the last of them from then on. Operations
/// are distinguished by their bodies. `clientRequestId` and other queries count only if they were recorded.
pub struct RecordedClouddriver {
    addr: SocketAddr,
    state: Arc<State>,
    /// Dropping it ends the acceptor, who owns the connections.
    _acceptor: JoinSet<()>,
}

/// A request that came.
#[derive(Debug, Clone)]
pub struct Played {
    pub method: String,
    /// With its query.
    pub path: String,
    pub headers: HashMap<String, String>,
    /// Null if there was none.
    pub body: Value,
}

#[derive(Default)]
struct State {
    answers: Mutex<HashMap<Question, Answers>>,
    received: Mutex<Vec<Played>>,
}

/// Method, path and, where several bodies were recorded, the body.
type Question = (String, String, String);

#[derive(Default)]
struct Answers {
    all: Vec<Reply>,
    /// Number of answers given.
    given: usize,
}

#[derive(Clone)]
struct Reply {
    status: u16,
    headers: Vec<(String, String)>,
    body: Value,
}

// === impl RecordedClouddriver ===

impl RecordedClouddriver {
    /// Starts one with all recorded answers.
    pub async fn start() -> anyhow::Result<Self> {
        Self::knowing(&recorded::clouddriver()).await
    }

    /// Starts one with these answers; [`RecordedClouddriver::answer`] adds more.
    pub async fn knowing(recordings: &[Recording]) -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await.context("listen as Clouddriver")?;
        let addr = listener.local_addr()?;
        let state = Arc::new(State::default());
        for recording in recordings {
            state.learn(recording);
        }
        let serving = Arc::clone(&state);
        let mut acceptor = JoinSet::new();
        acceptor.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((client, _)) = listener.accept().await {
                let state = Arc::clone(&serving);
                let serve = service_fn(move |request| {
                    let state = Arc::clone(&state);
                    async move { Ok::<_, Infallible>(state.serve(request).await) }
                });
                let connection =
                    hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(client), serve);
                // Who goes away in the middle is no failure of the server.
                connections.spawn(async move { drop(connection.await) });
            }
        });
        Ok(Self { addr, state, _acceptor: acceptor })
    }

    /// Its base address, without a trailing slash.
    pub fn url(&self) -> String {
        format!("http://{}", self.addr)
    }

    /// Where it listens.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Adds an answer, to be given after the existing ones.
    pub fn answer(&self, method: &str, path: &str, status: u16, body: Value) {
        self.answer_with(method, path, status, &[("content-type", "application/json;charset=UTF-8")], body);
    }

    /// The same with other headers.
    pub fn answer_with(&self, method: &str, path: &str, status: u16, headers: &[(&str, &str)], body: Value) {
        let headers = headers.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
        self.state.add((method.to_owned(), path.to_owned(), String::new()), Reply { status, headers, body });
    }

    /// All requests that came, in order.
    pub fn received(&self) -> Vec<Played> {
        self.state.received.lock().clone()
    }
}

// === impl State ===

impl State {
    fn learn(&self, recording: &Recording) {
        let Recording { request, status, headers, body, .. } = recording;
        let asked = request.body.as_ref().map(ToString::to_string).unwrap_or_default();
        let headers = headers.clone().into_iter().collect();
        let reply = Reply { status: *status, headers, body: body.clone() };
        self.add((request.method.clone(), request.path.clone(), asked), reply);
    }

    fn add(&self, question: Question, reply: Reply) {
        self.answers.lock().entry(question).or_default().all.push(reply);
    }

    async fn serve(&self, request: Request<Incoming>) -> Response<Full<Bytes>> {
        let (head, body) = request.into_parts();
        let bytes = body.collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
        let path = head.uri.path_and_query().map(ToString::to_string).unwrap_or_default();
        let value = |value: &http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
        let played = Played {
            method: head.method.to_string(),
            path,
            headers: head.headers.iter().map(|(name, it)| (name.to_string(), value(it))).collect(),
            body: serde_json::from_slice(&bytes).unwrap_or_default(),
        };
        let reply = self.reply(&played);
        self.received.lock().push(played);
        reply.respond()
    }

    /// The most exact match: with or without the body, with or without the query.
    fn reply(&self, played: &Played) -> Reply {
        let Played { method, path, body, .. } = played;
        let asked = if body.is_null() { String::new() } else { body.to_string() };
        let bare = path.split('?').next().unwrap_or_default();
        let mut answers = self.answers.lock();
        for (path, asked) in [(path.as_str(), asked.as_str()), (path, ""), (bare, &asked), (bare, "")] {
            if let Some(known) = answers.get_mut(&(method.clone(), path.to_owned(), asked.to_owned())) {
                return known.next();
            }
        }
        Reply::unknown(bare)
    }
}

// === impl Answers ===

impl Answers {
    fn next(&mut self) -> Reply {
        let at = self.given.min(self.all.len() - 1);
        self.given += 1;
        self.all[at].clone()
    }
}

// === impl Reply ===

impl Reply {
    /// As Clouddriver answers to a route that it does not have.
    fn unknown(path: &str) -> Self {
        let detail = format!("No static resource {}.", path.trim_start_matches('/'));
        let body = json!({
            "type": "about:blank", "title": "Not Found", "status": 404, "detail": detail, "instance": path,
        });
        let headers = vec![("content-type".to_owned(), "application/problem+json".to_owned())];
        Self { status: 404, headers, body }
    }

    fn respond(self) -> Response<Full<Bytes>> {
        let text = match &self.body {
            Value::Null => String::new(),
            Value::Object(map) if map.contains_key("@text") => {
                map["@text"].as_str().unwrap_or_default().to_owned()
            }
            other => other.to_string(),
        };
        let mut response = Response::new(Full::new(Bytes::from(text)));
        *response.status_mut() = StatusCode::from_u16(self.status).unwrap_or_default();
        for (name, value) in self.headers {
            if let (Ok(name), Ok(value)) = (name.parse::<http::HeaderName>(), value.parse()) {
                response.headers_mut().append(name, value);
            }
        }
        response
    }
}
