//! The connection to one API server, and the small questions it is asked.

mod call;
mod inspect;
mod review;

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use http::Response;
use http_body_util::{BodyExt, Collected, Limited};
use serde::de::DeserializeOwned;
use spindrift_model::ClusterIdentity;
use tokio::time::timeout;

pub use call::{Call, Pieces, Reply};
pub use inspect::{Inspection, Way};
pub use review::{Access, AccessRules, Greeting, ReviewError};

use crate::client::{
    credentials::{ApiOptions, ConnectError, Credentials},
    error::ApiError,
    request::Get,
    status::Status,
    transport::{Body, Lane, Login, Transport, TransportStats},
};

/// One API server, as one set of credentials sees it. Clones share the connections.
#[derive(Clone)]
pub struct Api {
    pub(super) transport: Arc<Transport>,
    request_timeout: Duration,
}

const DEFAULT_REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

/// More than any answer but a list's, which is split while it arrives.
const LARGEST_ANSWER: usize = 256 * 1024 * 1024;

/// More than any Status; a proxy's error page may be longer, and is cut.
const LARGEST_REFUSAL: usize = 64 * 1024;

#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct Version {
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
    /// Loads and checks the credentials, and runs their plugin; nothing is sent before the first question.
    pub async fn connect(credentials: &Credentials, options: &ApiOptions) -> Result<Self, ConnectError> {
        let login = Login::open(credentials, options).await?;
        Ok(Self {
            transport: Arc::new(Transport::new(login)),
            request_timeout: options.request_timeout.unwrap_or(DEFAULT_REQUEST_TIMEOUT),
        })
    }

    /// The API server's version, such as `v1.36.3`.
    pub async fn version(&self) -> Result<String, ApiError> {
        let Version { git_version } = self.read_json(&Get::new(["version"])).await?;
        Ok(git_version)
    }

    /// What tells this cluster from others; the uid is unknown where `kube-system` may not be read.
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

    /// Ceiling for one request; for a body that is read piece by piece, for each piece.
    pub fn request_timeout(&self) -> Duration {
        self.request_timeout
    }

    /// How many requests were sent and how many connections are open.
    pub fn stats(&self) -> TransportStats {
        self.transport.stats()
    }

    /// Asks and reads the whole answer.
    pub(crate) async fn read(&self, get: &Get) -> Result<Bytes, ApiError> {
        self.within_limit(get, async {
            let answer = self.send(Lane::Operations, get).await?;
            let body = Limited::new(answer.into_body(), LARGEST_ANSWER).collect().await;
            let body = body.map_err(|source| ApiError::Read { request: get.title().to_owned(), source })?;
            Ok(body.to_bytes())
        })
        .await
    }

    pub(crate) async fn read_json<T: DeserializeOwned>(&self, get: &Get) -> Result<T, ApiError> {
        let body = self.read(get).await?;
        serde_json::from_slice(&body)
            .map_err(|error| ApiError::Malformed { request: get.title().to_owned(), source: error.into() })
    }

    /// Asks and gives the body as soon as it begins. It may be read slowly: nobody else waits for it.
    pub(crate) async fn open(&self, get: &Get) -> Result<Body, ApiError> {
        self.within_limit(get, async { Ok(self.send(Lane::Watches, get).await?.into_body()) }).await
    }

    async fn send(&self, lane: Lane, get: &Get) -> Result<Response<Body>, ApiError> {
        let title = || get.title().to_owned();
        let request = get.build().map_err(|source| ApiError::Build { request: title(), source })?;
        // Boxed, since a watch that was answered would keep the room of its question for as long as it lives.
        let answer = Box::pin(self.transport.send(lane, &request)).await;
        let answer =
            answer.map_err(|source| ApiError::Send { request: title(), source: Box::new(source) })?;
        if answer.status().is_success() {
            return Ok(answer);
        }
        let (head, body) = answer.into_parts();
        // The code alone says enough if its explanation is too long or breaks off.
        let body = Limited::new(body, LARGEST_REFUSAL).collect().await;
        let body = body.map(Collected::to_bytes).unwrap_or_default();
        Err(ApiError::Refused {
            request: title(),
            source: Status::of_answer(head.status, &head.headers, &body).into(),
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
