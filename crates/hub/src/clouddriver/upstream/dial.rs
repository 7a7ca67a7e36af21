//! Connections to the upstream Clouddriver. Each TLS connection uses the certificate files as they are at that moment.

use std::task::{Context, Poll};

use axum::http::Uri;
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy::connect::HttpConnector;
use spindrift_process::tls::RotatingClientTls;
use tower::Service;

/// Connector for `http` and, with rotating certificates, `https`.
#[derive(Debug, Clone)]
pub(super) struct Dial {
    pub(super) http: HttpConnector,
    pub(super) tls: RotatingClientTls,
}

type Connector = HttpsConnector<HttpConnector>;

// === impl Dial ===

impl Service<Uri> for Dial {
    type Response = <Connector as Service<Uri>>::Response;
    type Error = <Connector as Service<Uri>>::Error;
    type Future = <Connector as Service<Uri>>::Future;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.http.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, to: Uri) -> Self::Future {
        let is_plain = to.scheme_str() == Some("http");
        let tls = if is_plain { self.tls.last() } else { self.tls.current() };
        Connector::from((self.http.clone(), tls.config())).call(to)
    }
}
