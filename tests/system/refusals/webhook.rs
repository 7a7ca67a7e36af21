//! A small admission webhook: the API server asks it, over HTTPS, whether an object may be stored.

use std::{convert::Infallible, net::SocketAddr, sync::Arc};

use base64::{Engine, prelude::BASE64_STANDARD};
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::{
    body::{Bytes, Incoming},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use rustls::{
    ServerConfig,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};
use serde_json::{Value, json};
use spindrift_testkit::{Certificates, Identity};
use tokio::{net::TcpListener, task::JoinSet};
use tokio_rustls::TlsAcceptor;

/// Answers until it is dropped.
pub(super) struct Webhook {
    address: SocketAddr,
    authority: String,
    _server: JoinSet<()>,
}

/// Answer of the webhook to every object.
#[derive(Debug, Clone, Copy)]
pub(super) enum Manner {
    Denies {
        code: u16,
        reason: &'static str,
        message: &'static str,
    },
    /// Never answers.
    Hangs,
}

// === impl Webhook ===

impl Webhook {
    pub(super) async fn start(manner: Manner) -> Self {
        spindrift_process::tls::install_provider();
        let certificates = Certificates::new().unwrap();
        let Identity { certificate, key } = certificates.server("webhook.example.com").unwrap();
        let chain = CertificateDer::pem_file_iter(certificate).unwrap().map(Result::unwrap).collect();
        let key = PrivateKeyDer::from_pem_file(key).unwrap();
        let config = ServerConfig::builder().with_no_client_auth().with_single_cert(chain, key).unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let authority = BASE64_STANDARD.encode(std::fs::read(certificates.authority()).unwrap());
        let mut server = JoinSet::new();
        server.spawn(serve(listener, acceptor, manner));
        Self { address, authority, _server: server }
    }

    /// Has the API server ask it about ConfigMaps of one namespace.
    pub(super) fn configuration(&self, namespace: &str) -> Value {
        json!({
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingWebhookConfiguration",
            "metadata": { "name": format!("guard-{namespace}") },
            "webhooks": [{
                "name": "guard.example.com",
                "admissionReviewVersions": ["v1"],
                "sideEffects": "None",
                "timeoutSeconds": 1,
                "failurePolicy": "Fail",
                "clientConfig": { "url": format!("https://{}/", self.address), "caBundle": self.authority },
                "namespaceSelector": { "matchLabels": { "kubernetes.io/metadata.name": namespace } },
                "rules": [{
                    "operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"],
                }],
            }],
        })
    }
}

async fn serve(listener: TcpListener, acceptor: TlsAcceptor, manner: Manner) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let acceptor = acceptor.clone();
        connections.spawn(async move {
            let Ok(stream) = acceptor.accept(stream).await else { return };
            let service = service_fn(move |request| answer(request, manner));
            http1::Builder::new().serve_connection(TokioIo::new(stream), service).await.ok();
        });
    }
}

async fn answer(request: Request<Incoming>, manner: Manner) -> Result<Response<Full<Bytes>>, Infallible> {
    let asked = request.into_body().collect().await.unwrap().to_bytes();
    let review: Value = serde_json::from_slice(&asked).unwrap();
    let Manner::Denies { code, reason, message } = manner else { return std::future::pending().await };
    let answer = json!({
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "response": {
            "uid": review["request"]["uid"],
            "allowed": false,
            "status": { "code": code, "reason": reason, "message": message },
        },
    });
    let response = Response::builder().header("content-type", "application/json");
    Ok(response.body(Full::new(answer.to_string().into())).unwrap())
}
