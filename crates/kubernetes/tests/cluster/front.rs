//! Gateway before an API server, with its own version of HTTP.

use std::{
    convert::Infallible,
    fs,
    net::SocketAddr,
    path::{Path, PathBuf},
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use anyhow::Context;
use base64::{Engine, prelude::BASE64_STANDARD};
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, combinators::UnsyncBoxBody};
use hyper::{
    body::Incoming,
    server::conn::{http1, http2},
    service::service_fn,
};
use hyper_util::rt::{TokioExecutor, TokioIo};
use spindrift_process::tls::{ClientAuth, PemFile, ServerTls, ServerTlsFiles};
use spindrift_testkit::{Certificates, Cluster, scratch};
use tempfile::TempDir;
use tokio::{net::TcpListener, sync::watch, task::JoinSet};
use tokio_rustls::TlsAcceptor;

type Body = UnsyncBoxBody<Bytes, Box<dyn std::error::Error + Send + Sync>>;

/// Gateway that terminates TLS and forwards requests to the API server, as its administrator.
pub(crate) struct Front {
    addr: SocketAddr,
    certificates: Option<Certificates>,
    go_away_tx: watch::Sender<()>,
    accepted: Arc<AtomicUsize>,
    directory: TempDir,
    _acceptor: JoinSet<()>,
}

/// HTTP version that clients must use.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Speaks {
    Http1,
    Http2 { max_streams: u32 },
}

/// Security of the connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Security {
    Tls,
    /// Clients must present a certificate.
    MutualTls,
    Plaintext,
}

// === impl Front ===

impl Front {
    pub(crate) async fn start(cluster: &Cluster, speaks: Speaks, security: Security) -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let addr = listener.local_addr()?;
        let certificates = (security != Security::Plaintext).then(Certificates::new).transpose()?;
        let tls = certificates.as_ref().map(|certificates| acceptor(certificates, speaks, security));
        let tls = tls.transpose()?;
        let (go_away_tx, go_away_rx) = watch::channel(());
        let accepted = Arc::new(AtomicUsize::new(0));
        let (client, count) = (cluster.client(), Arc::clone(&accepted));
        let mut acceptor = JoinSet::new();
        acceptor.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                count.fetch_add(1, Ordering::Relaxed);
                let (tls, client, go_away_rx) = (tls.clone(), client.clone(), go_away_rx.clone());
                connections.spawn(async move {
                    match tls {
                        None => serve(stream, speaks, client, go_away_rx).await,
                        // Clients without TLS are not served.
                        Some(tls) => {
                            if let Ok(stream) = tls.accept(stream).await {
                                serve(stream, speaks, client, go_away_rx).await;
                            }
                        }
                    }
                });
            }
        });
        let directory = scratch("front")?;
        Ok(Self { addr, certificates, go_away_tx, accepted, directory, _acceptor: acceptor })
    }

    /// Number of connections accepted so far.
    pub(crate) fn accepted(&self) -> usize {
        self.accepted.load(Ordering::Relaxed)
    }

    /// Sends GOAWAY on all connections.
    pub(crate) fn send_go_away(&self) {
        self.go_away_tx.send_replace(());
    }

    pub(crate) fn kubeconfig(&self) -> anyhow::Result<PathBuf> {
        let path = self.directory.path().join("kubeconfig");
        let addr = self.addr;
        let cluster = match &self.certificates {
            None => format!("server: \"http://{addr}\""),
            Some(certificates) => {
                let authority = BASE64_STANDARD.encode(fs::read(certificates.authority())?);
                format!("server: \"https://{addr}\", certificate-authority-data: {authority}")
            }
        };
        let text = format!(
            "current-context: c\ncontexts: [{{name: c, context: {{cluster: c, user: u}}}}]\n\
             clusters: [{{name: c, cluster: {{{cluster}}}}}]\nusers: [{{name: u, user: {{}}}}]\n"
        );
        fs::write(&path, text)?;
        Ok(path)
    }
}

fn acceptor(certificates: &Certificates, speaks: Speaks, security: Security) -> anyhow::Result<TlsAcceptor> {
    let identity = certificates.server("localhost")?;
    let file = |path: &Path| PemFile::new("test", &path.to_string_lossy());
    let tls = ServerTls::open(ServerTlsFiles {
        certificate_chain: file(&identity.certificate),
        private_key: file(&identity.key),
        client_auth: match security {
            Security::MutualTls => ClientAuth::Require,
            Security::Tls | Security::Plaintext => ClientAuth::None,
        },
        trust: Some(file(certificates.authority())),
        alpn: match speaks {
            Speaks::Http1 => vec![b"http/1.1".to_vec()],
            Speaks::Http2 { .. } => vec![b"h2".to_vec()],
        },
    });
    Ok(TlsAcceptor::from(tls.context("the test's certificates are good")?.config()))
}

/// Serves one connection; its end by the client is not an error.
async fn serve<IO>(stream: IO, speaks: Speaks, client: kube::Client, mut go_away_rx: watch::Receiver<()>)
where
    IO: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
{
    let service = service_fn(move |request| {
        let client = client.clone();
        async move { Ok::<_, Infallible>(forward(client, request).await) }
    });
    let stream = TokioIo::new(stream);
    let max_streams = match speaks {
        Speaks::Http1 => {
            http1::Builder::new().serve_connection(stream, service).await.ok();
            return;
        }
        Speaks::Http2 { max_streams } => max_streams,
    };
    let mut builder = http2::Builder::new(TokioExecutor::new());
    builder.max_concurrent_streams(max_streams);
    let mut connection = pin!(builder.serve_connection(stream, service));
    go_away_rx.mark_unchanged();
    tokio::select! {
        _ = connection.as_mut() => return,
        _ = go_away_rx.changed() => connection.as_mut().graceful_shutdown(),
    }
    connection.await.ok();
}

async fn forward(client: kube::Client, request: Request<Incoming>) -> Response<Body> {
    let (mut head, body) = request.into_parts();
    let body = body.collect().await.expect("the request is whole").to_bytes();
    head.uri = head.uri.path_and_query().expect("it has a path").clone().into();
    head.version = http::Version::HTTP_11;
    let request = Request::from_parts(head, kube::client::Body::from(body.to_vec()));
    let answer = client.send(request).await.expect("the API server answers");
    answer.map(|body| body.map_err(Into::into).boxed_unsync())
}
