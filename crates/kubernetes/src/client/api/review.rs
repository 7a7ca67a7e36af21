//! What an API server thinks of us: who we are, what we may do, and what time it is.

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

use super::{Api, LARGEST_REFUSAL, Version};
use crate::client::{error::ApiError, request::Get, status::Status, transport::Lane};

/// The first words of an API server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Greeting {
    /// Its version, such as `v1.36.3`.
    pub version: String,
    /// Its clock, as the `Date` of its answer.
    pub date: Option<String>,
}

/// Something that one may be allowed to do.
#[derive(Debug, Clone, Copy)]
pub struct Access<'a> {
    /// Such as `list`.
    pub verb: &'a str,
    /// To which resource.
    pub resource: &'a Resource,
    /// In one namespace, or in all.
    pub namespace: Option<&'a str>,
    /// To one object, or to all.
    pub name: Option<&'a str>,
}

/// A question about ourselves that was not answered.
#[derive(Debug, thiserror::Error)]
pub enum ReviewError {
    /// The API server, or something in between, said no.
    #[error("POST {path} was refused")]
    Refused {
        /// What was asked.
        path: &'static str,
        /// The answer.
        source: Status,
    },
    /// No answer came, or not one that can be understood.
    #[error("POST {path}")]
    Failed {
        /// What was asked.
        path: &'static str,
        /// What happened.
        source: Box<dyn Error + Send + Sync>,
    },
    /// The answer took too long.
    #[error("POST {path} took longer than {limit:?}")]
    TimedOut {
        /// What was asked.
        path: &'static str,
        /// What was allowed.
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
struct Identity {
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
    /// The API server's version and clock.
    pub async fn greet(&self) -> Result<Greeting, ApiError> {
        let get = Get::new(["version"]);
        let (date, body) = self
            .within_limit(&get, async {
                let answer = self.send(Lane::Operations, &get).await?;
                let date = answer.headers().get(header::DATE).and_then(|date| date.to_str().ok());
                let date = date.map(str::to_owned);
                let body = Limited::new(answer.into_body(), LARGEST_REFUSAL).collect().await;
                let body =
                    body.map_err(|source| ApiError::Read { request: get.title().to_owned(), source })?;
                Ok((date, body.to_bytes()))
            })
            .await?;
        let Version { git_version: version } = serde_json::from_slice(&body)
            .map_err(|error| ApiError::Malformed { request: get.title().to_owned(), source: error.into() })?;
        Ok(Greeting { version, date })
    }

    /// The name by which the API server knows us; servers before 1.28 do not tell.
    pub async fn user_name(&self) -> Result<String, ReviewError> {
        let review = json!({ "apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview" });
        let Reviewed { status: Identity { user_info } } = self.review(SELF_REVIEW, &review).await?;
        Ok(user_info.username)
    }

    /// Whether we may do this.
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
        let answer = Box::pin(self.transport.send(Lane::Operations, &request)).await;
        let (head, body) = answer.map_err(|error| failed(error.into()))?.into_parts();
        let body = Limited::new(body, LARGEST_REFUSAL).collect().await.map_err(failed)?.to_bytes();
        if head.status.is_success() {
            return Ok(body);
        }
        Err(ReviewError::Refused { path, source: Status::of_answer(head.status, &head.headers, &body) })
    }
}

// === impl ReviewError ===

impl ReviewError {
    /// What the API server said, if it was the API server that refused.
    pub fn status(&self) -> Option<&Status> {
        match self {
            Self::Refused { source, .. } => Some(source),
            Self::Failed { .. } | Self::TimedOut { .. } => None,
        }
    }
}
