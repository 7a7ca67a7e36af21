//! Reviews of the credentials themselves: user name and permissions; and the version and clock of the API server.

mod rules;

use std::{error::Error, time::Duration};

use bytes::Bytes;
use http::{Request, header};
use http_body_util::{BodyExt, Limited};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json};
use spindrift_model::Resource;
use tokio::time::timeout;

pub use rules::AccessRules;

use super::{Api, GitVersion, LONGEST_ERROR_BODY};
use crate::client::{error::ApiError, request::Get, status::Status, transport::RequestClass};

/// GitVersion and clock of an API server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerInfo {
    /// GitVersion, such as `v1.36.3`.
    pub version: String,
    /// Clock, as the `Date` header of its response.
    pub date: Option<String>,
}

/// Access to check.
#[derive(Debug, Clone, Copy)]
pub struct Access<'a> {
    /// Verb, such as `list`.
    pub verb: &'a str,
    /// Resource.
    pub resource: &'a Resource,
    /// Namespace; all if none.
    pub namespace: Option<&'a str>,
    /// Object; all if none.
    pub name: Option<&'a str>,
}

/// A review that failed.
#[derive(Debug, thiserror::Error)]
pub enum ReviewError {
    /// The API server, or a proxy before it, returned an error.
    #[error("POST {path} was refused")]
    Refused {
        /// Path of the review.
        path: &'static str,
        /// The error.
        source: Status,
    },
    /// No response came, or one that cannot be parsed.
    #[error("POST {path}")]
    Failed {
        /// Path of the review.
        path: &'static str,
        /// The cause.
        source: Box<dyn Error + Send + Sync>,
    },
    /// The response took too long.
    #[error("POST {path} took longer than {limit:?}")]
    TimedOut {
        /// Path of the review.
        path: &'static str,
        /// The timeout.
        limit: Duration,
    },
}

const SELF_REVIEW: &str = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
const ACCESS_REVIEW: &str = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";

#[derive(Deserialize)]
struct Reviewed<T> {
    status: T,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ReviewedUser {
    user_info: UserInfo,
}

#[derive(Deserialize)]
struct UserInfo {
    username: String,
}

#[derive(Deserialize)]
struct Verdict {
    #[serde(default)]
    allowed: bool,
}

impl Api {
    /// Returns the version and the clock of the API server.
    pub async fn server_info(&self) -> Result<ServerInfo, ApiError> {
        let get = Get::new(["version"]);
        let (date, body) = self
            .within_limit(&get, async {
                let answer = self.send(RequestClass::Operations, &get).await?;
                let date = answer.headers().get(header::DATE).and_then(|date| date.to_str().ok());
                let date = date.map(str::to_owned);
                let body = Limited::new(answer.into_body(), LONGEST_ERROR_BODY).collect().await;
                let body =
                    body.map_err(|source| ApiError::Read { request: get.title().to_owned(), source })?;
                Ok((date, body.to_bytes()))
            })
            .await?;
        let GitVersion { git_version: version } = serde_json::from_slice(&body)
            .map_err(|error| ApiError::Malformed { request: get.title().to_owned(), source: error.into() })?;
        Ok(ServerInfo { version, date })
    }

    /// Returns the user name of the credentials; servers before 1.28 do not have this review.
    pub async fn user_name(&self) -> Result<String, ReviewError> {
        let review = json!({ "apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview" });
        let Reviewed { status: ReviewedUser { user_info } } = self.review(SELF_REVIEW, &review).await?;
        Ok(user_info.username)
    }

    /// Whether the credentials allow this access.
    pub async fn may(&self, access: Access<'_>) -> Result<bool, ReviewError> {
        let Access { verb, resource, namespace, name } = access;
        let review = json!({
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": { "resourceAttributes": {
                "verb": verb,
                "group": resource.group,
                "version": resource.version.as_str(),
                "resource": resource.plural,
                "namespace": namespace,
                "name": name,
            } },
        });
        let Reviewed { status: Verdict { allowed } } = self.review(ACCESS_REVIEW, &review).await?;
        Ok(allowed)
    }

    async fn review<T: DeserializeOwned>(
        &self,
        path: &'static str,
        review: &Value,
    ) -> Result<T, ReviewError> {
        let limit = self.request_timeout;
        let body = timeout(limit, self.post(path, review)).await;
        let body = body.unwrap_or(Err(ReviewError::TimedOut { path, limit }))?;
        serde_json::from_slice(&body).map_err(|source| ReviewError::Failed { path, source: source.into() })
    }

    async fn post(&self, path: &'static str, review: &Value) -> Result<Bytes, ReviewError> {
        let failed = |source| ReviewError::Failed { path, source };
        let request = Request::post(path)
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::ACCEPT, "application/json")
            .body(Bytes::from(review.to_string()))
            .map_err(|error| failed(error.into()))?;
        let answer = Box::pin(self.transport.send(RequestClass::Operations, &request)).await;
        let (head, body) = answer.map_err(|error| failed(error.into()))?.into_parts();
        let body = Limited::new(body, LONGEST_ERROR_BODY).collect().await.map_err(failed)?.to_bytes();
        if head.status.is_success() {
            return Ok(body);
        }
        Err(ReviewError::Refused { path, source: Status::of_response(head.status, &head.headers, &body) })
    }
}

// === impl ReviewError ===

impl ReviewError {
    /// Returns the error of the API server, if it returned one.
    pub fn status(&self) -> Option<&Status> {
        match self {
            Self::Refused { source, .. } => Some(source),
            Self::Failed { .. } | Self::TimedOut { .. } => None,
        }
    }
}
