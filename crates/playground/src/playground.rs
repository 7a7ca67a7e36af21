//! Many clusters behind one listener: `http://host:port/clusters/<name>/…`.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response, Uri};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use parking_lot::RwLock;
use serde_json::{Value, json};
use spindrift_process::serve::SitePolicy;
use spindrift_process::shutdown::Shutdown;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

use crate::cluster::Cluster;
use crate::cluster::{Body, BodyError, ConnectionClosed};
use crate::{Status, http as api};

/// A listener and its clusters; clones share them.
#[derive(Clone)]
pub struct Playground {
    shared: Arc<PlaygroundShared>,
}

struct PlaygroundShared {
    address: SocketAddr,
    policy: SitePolicy,
    listener: parking_lot::Mutex<Option<TcpListener>>,
    clusters: RwLock<BTreeMap<String, Arc<Cluster>>>,
}

/// Buffer per connection. A watch needs little, and a thousand clusters have 30,000 open watches.
const READ_BUFFER: usize = 16 << 10;

/// Limit of unsent data per HTTP/2 stream, for clients that do not read.
const SEND_BUFFER: usize = 64 << 10;

// === impl Playground ===

impl Playground {
    /// Binds the listener; port 0 selects a free one.
    pub async fn bind(address: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        let shared = PlaygroundShared {
            address,
            // Requests without a token are the administrator's, also those of a page in a browser.
            policy: SitePolicy::new(address, &[], &[]),
            listener: parking_lot::Mutex::new(Some(listener)),
            clusters: RwLock::default(),
        };
        Ok(Self { shared: Arc::new(shared) })
    }

    pub fn address(&self) -> SocketAddr {
        self.shared.address
    }

    /// Serves another cluster; it replaces one of the same name.
    pub fn add(&self, cluster: Arc<Cluster>) {
        self.shared.clusters.write().insert(cluster.name().to_owned(), cluster);
    }

    pub fn cluster(&self, name: &str) -> Option<Arc<Cluster>> {
        self.shared.clusters.read().get(name).cloned()
    }

    /// Clusters in the order of their names.
    pub fn clusters(&self) -> Vec<Arc<Cluster>> {
        self.shared.clusters.read().values().cloned().collect()
    }

    /// URL of a cluster's API.
    pub fn url(&self, name: &str) -> String {
        format!("http://{}/clusters/{name}", self.shared.address)
    }

    /// Kubeconfig with a context per cluster; the first is the current one.
    pub fn kubeconfig(&self) -> String {
        let clusters = self.clusters();
        let names: Vec<&str> = clusters.iter().map(|cluster| cluster.name()).collect();
        let server = |name: &&str| json!({"name": name, "cluster": {"server": self.url(name)}});
        let context = |name: &&str| json!({"name": name, "context": {"cluster": name, "user": "playground"}});
        let config = json!({
            "apiVersion": "v1", "kind": "Config",
            "clusters": names.iter().map(server).collect::<Vec<Value>>(),
            "contexts": names.iter().map(context).collect::<Vec<Value>>(),
            "users": [{"name": "playground", "user": {}}],
            "current-context": names.first().unwrap_or(&""),
        });
        // JSON is YAML.
        serde_json::to_string_pretty(&config).expect("JSON values have string keys") + "\n"
    }

    /// Accepts connections until shutdown. A second start does nothing.
    pub fn start(&self, shutdown: &Shutdown) {
        let Some(listener) = self.shared.listener.lock().take() else { return };
        let shared = Arc::clone(&self.shared);
        let token = shutdown.token();
        shutdown.spawn("playground.accept", async move {
            accept(listener, shared, token).await;
            Ok::<(), Infallible>(())
        });
    }
}

async fn accept(listener: TcpListener, shared: Arc<PlaygroundShared>, token: CancellationToken) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            biased;
            () = token.cancelled() => break,
            Some(_) = connections.join_next(), if !connections.is_empty() => {}
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => drop(connections.spawn(serve(stream, Arc::clone(&shared)))),
                // Mostly out of file descriptors: open connections still work.
                Err(error) => {
                    warn!(%error, "cannot accept a connection");
                    tokio::time::sleep(std::time::Duration::from_millis(100)).await;
                }
            },
        }
    }
    // Watches would never end by themselves.
    connections.shutdown().await;
}

async fn serve(stream: TcpStream, shared: Arc<PlaygroundShared>) {
    if let Err(error) = stream.set_nodelay(true) {
        debug!(%error, "cannot turn off Nagle's algorithm");
    }
    let service = service_fn(move |request| answer(Arc::clone(&shared), request));
    let mut builder = auto::Builder::new(TokioExecutor::new());
    // Idle connections stay open, as with the real server; clients reuse them.
    builder.http1().timer(TokioTimer::new()).header_read_timeout(None).max_buf_size(READ_BUFFER);
    // Clients may start with HTTP/2 in plaintext too: a cluster's watches then share one connection.
    builder.http2().timer(TokioTimer::new()).max_concurrent_streams(1_000).max_send_buf_size(SEND_BUFFER);
    if let Err(error) = builder.serve_connection(TokioIo::new(stream), service).await {
        debug!(error = %error, "connection ended");
    }
}

async fn answer(
    shared: Arc<PlaygroundShared>,
    request: Request<Incoming>,
) -> Result<Response<Body>, ConnectionClosed> {
    if let Err(foreign) = shared.policy.check(request.uri(), request.headers()) {
        return Ok(api::respond_status(&Status::new(403, "Forbidden", foreign.to_string())));
    }
    let Some((name, rest)) = split(request.uri()) else { return Ok(index(&shared)) };
    let Some(cluster) = shared.clusters.read().get(&name).cloned() else {
        let status = Status::new(404, "NotFound", format!("no cluster {name:?} here"));
        return Ok(api::respond_status(&status));
    };
    let (mut parts, body) = request.into_parts();
    parts.uri = rest;
    let body = body.map_err(BodyError::other).boxed_unsync();
    // Boxed: idle connections do not keep the memory of a request.
    Box::pin(api::handle(cluster, Request::from_parts(parts, body))).await
}

/// Splits the path into the name of the cluster and the path within it.
fn split(uri: &Uri) -> Option<(String, Uri)> {
    let rest = uri.path().strip_prefix("/clusters/")?;
    let (name, path) = rest.split_once('/').unwrap_or((rest, ""));
    let query = uri.query().map(|query| format!("?{query}")).unwrap_or_default();
    Some((name.to_owned(), format!("/{path}{query}").parse().ok()?))
}

/// Document outside of any cluster: the names of the clusters.
fn index(shared: &PlaygroundShared) -> Response<Body> {
    let names: Vec<String> = shared.clusters.read().keys().cloned().collect();
    api::respond_bytes(Bytes::from(json!({"clusters": names}).to_string()))
}
