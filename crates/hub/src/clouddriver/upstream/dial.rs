//! Connections to the Clouddriver, each by TLS as its files are at that moment.

use std::task::{Context, Poll};

use axum::http::Uri;
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy::connect::HttpConnector;
use spindrift_process::tls::RotatingClientTls;
use tower::Service;

/// Dials, and speaks TLS where the URL says so.
#[derive(Debug, Clone)]
pub(super) struct Dial {
    pub(super) http: HttpConnector,
    pub(super) tls: RotatingClientTls,
}

type Dialled = HttpsConnector<HttpConnector>;

// === impl Dial ===

impl Service<Uri> for Dial {
    type Response = <Dialled as Service<Uri>>::Response;
    type Error = <Dialled as Service<Uri>>::Error;
    type Future = <Dialled as Service<Uri>>::Future;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.http.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, to: Uri) -> Self::Future {
        let is_plain = to.scheme_str() == Some("http");
        let tls = if is_plain { self.tls.last() } else { self.tls.current() };
        Dialled::from((self.http.clone(), tls.config())).call(to)
    }
}
