//! The client of one API server, and its small requests.

mod call;
mod inspect;
mod review;

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use http::Response;
use http_body_util::{BodyExt, Collected, LengthLimitError, Limited};
use serde::de::DeserializeOwned;
use spindrift_model::ClusterIdentity;
use tokio::time::timeout;

pub use call::{Call, Pieces, Reply};
pub use inspect::{AuthMethod, Inspection};
pub use review::{Access, AccessRules, ReviewError, ServerInfo};

use crate::client::{
    credentials::{ApiOptions, ConnectError, Credentials},
    error::ApiError,
    request::Get,
    status::Status,
    transport::{Body, Login, RequestClass, Transport, TransportStats},
};

/// Client of one API server with one set of credentials. Clones share the connections.
#[derive(Clone)]
pub struct Api {
    pub(super) transport: Arc<Transport>,
    request_timeout: Duration,
}

const DEFAULT_REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

/// Longest response body. An object has at most some 3 MiB; discovery of a bare cluster of 1.36 has 64 KiB, the OpenAPI
/// document of the core group 1.6 MiB, and of a group of 500 custom resources some 15 MiB. Only lists of all objects are
/// longer, and those are split while they arrive.
const LONGEST_BODY: usize = 32 * 1024 * 1024;

/// Longest body of an error response; more than any `Status`. The error page of a proxy may be longer, and is cut.
const LONGEST_ERROR_BODY: usize = 64 * 1024;

#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct GitVersion {
    git_version: String,
}

#[derive(serde::Deserialize)]
struct PartialObject {
    metadata: PartialMetadata,
}

#[derive(serde::Deserialize)]
struct PartialMetadata {
    uid: String,
}

// === impl Api ===

impl Api {
    /// Loads and checks the credentials, and runs their plugin; nothing is sent before the first request.
    pub async fn connect(credentials: &Credentials, options: &ApiOptions) -> Result<Self, ConnectError> {
        let login = Login::open(credentials, options).await?;
        Ok(Self {
            transport: Arc::new(Transport::new(login)),
            request_timeout: options.request_timeout.unwrap_or(DEFAULT_REQUEST_TIMEOUT),
        })
    }

    /// Returns the version of the API server, such as `v1.36.3`.
    pub async fn version(&self) -> Result<String, ApiError> {
        let GitVersion { git_version } = self.read_json(&Get::new(["version"])).await?;
        Ok(git_version)
    }

    /// Returns the identity of the cluster; without the uid where the credentials do not allow reading `kube-system`.
    pub async fn identity(&self) -> Result<ClusterIdentity, ApiError> {
        let get = Get::new(["api", "v1", "namespaces", "kube-system"])
            .accept("application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1");
        let uid = match self.read_json(&get).await {
            Ok(PartialObject { metadata }) => Some(metadata.uid),
            Err(error) if error.is_forbidden() || error.is_not_found() => None,
            Err(error) => return Err(error),
        };
        let server = self.transport.server();
        Ok(ClusterIdentity {
            uid,
            ca_fingerprint: server.ca_fingerprint().map(Into::into),
            host: server.url().into(),
        })
    }

    /// Timeout of one request; of a body that is read chunk by chunk, the timeout of each chunk.
    pub fn request_timeout(&self) -> Duration {
        self.request_timeout
    }

    /// Counts of requests and connections.
    pub fn stats(&self) -> TransportStats {
        self.transport.stats()
    }

    /// Sends a request and reads the whole response body.
    pub(crate) async fn read(&self, get: &Get) -> Result<Bytes, ApiError> {
        self.within_limit(get, async {
            let answer = self.send(RequestClass::Operations, get).await?;
            let body = Limited::new(answer.into_body(), LONGEST_BODY).collect().await;
            let body = body.map_err(|source| unread(get.title().to_owned(), source))?;
            Ok(body.to_bytes())
        })
        .await
    }

    pub(crate) async fn read_json<T: DeserializeOwned>(&self, get: &Get) -> Result<T, ApiError> {
        let body = self.read(get).await?;
        serde_json::from_slice(&body)
            .map_err(|error| ApiError::Malformed { request: get.title().to_owned(), source: error.into() })
    }

    /// Sends a request and returns the response body as soon as it begins. A slow reader delays no other request.
    pub(crate) async fn open(&self, get: &Get) -> Result<Body, ApiError> {
        self.within_limit(get, async { Ok(self.send(RequestClass::Watches, get).await?.into_body()) }).await
    }

    async fn send(&self, class: RequestClass, get: &Get) -> Result<Response<Body>, ApiError> {
        let title = || get.title().to_owned();
        let request = get.build()?;
        // Boxed, since a watch would otherwise keep the memory of this future until it ends.
        let answer = Box::pin(self.transport.send(class, &request)).await;
        let answer =
            answer.map_err(|source| ApiError::Send { request: title(), source: Box::new(source) })?;
        if answer.status().is_success() {
            return Ok(answer);
        }
        let (head, body) = answer.into_parts();
        // The code is enough if the body is too long or cannot be read.
        let body = Limited::new(body, LONGEST_ERROR_BODY).collect().await;
        let body = body.map(Collected::to_bytes).unwrap_or_default();
        Err(ApiError::Refused {
            request: title(),
            source: Status::of_response(head.status, &head.headers, &body).into(),
        })
    }

    async fn within_limit<T>(
        &self,
        get: &Get,
        answer: impl Future<Output = Result<T, ApiError>>,
    ) -> Result<T, ApiError> {
        let limit = self.request_timeout;
        timeout(limit, answer)
            .await
            .unwrap_or_else(|_| Err(ApiError::TimedOut { request: get.title().to_owned(), limit }))
    }
}

/// Error of a body that broke off, or is longer than the limit.
fn unread(request: String, source: Box<dyn std::error::Error + Send + Sync>) -> ApiError {
    if source.is::<LengthLimitError>() {
        return ApiError::TooLong { request, limit: LONGEST_BODY };
    }
    ApiError::Read { request, source }
}
