//! A request with its body and user.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, Method, Request, header};
use http_body_util::{BodyExt, Limited};
use serde_json::Value;

use super::access::{self, User};
use super::protobuf;
use super::query::Query;
use crate::builtin_schema;
use crate::catalogue::Resource;
use crate::cluster::Cluster;
use crate::cluster::RequestBody;
use crate::status::{Cause, Status};

/// Body size limit of the real server.
const MAX_BODY: usize = 3 << 20;

/// A request, its body and its user.
pub(crate) struct ApiRequest {
    pub(crate) cluster: Arc<Cluster>,
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) query: Query,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    pub(crate) user: User,
}

/// Encoding of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BodyEncoding {
    Json,
    Yaml,
    Protobuf,
}

// === impl ApiRequest ===

impl ApiRequest {
    pub(crate) async fn read(cluster: Arc<Cluster>, request: Request<RequestBody>) -> Result<Self, Status> {
        let (parts, body) = request.into_parts();
        let user = access::authenticate(&cluster, &parts.headers)?;
        let body = match Limited::new(body, MAX_BODY).collect().await {
            Ok(body) => body.to_bytes(),
            Err(error) if error.is::<http_body_util::LengthLimitError>() => {
                let message = format!("Request entity too large: limit is {MAX_BODY}");
                return Err(Status::new(413, "RequestEntityTooLarge", message));
            }
            Err(error) => return Err(Status::bad_request(format!("read the body: {error}"))),
        };
        Ok(Self {
            cluster,
            path: parts.uri.path().to_owned(),
            query: Query::parse(parts.uri.query().unwrap_or_default()),
            method: parts.method,
            headers: parts.headers,
            body,
            user,
        })
    }

    pub(crate) fn header(&self, name: impl header::AsHeaderName) -> &str {
        // A value that is not UTF-8 is not absent: it matches no media type.
        self.headers.get(name).map_or("", |value| std::str::from_utf8(value.as_bytes()).unwrap_or("\u{fffd}"))
    }

    pub(crate) fn dry_run(&self) -> bool {
        self.query.has("dryRun", "All")
    }

    /// Rejects values of `dryRun` other than `All`.
    pub(crate) fn check_dry_run(&self, options: &str) -> Result<(), Status> {
        match self.query.get("dryRun") {
            None | Some("All") => Ok(()),
            Some(other) => {
                let cause = Cause::unsupported("dryRun", &serde_json::json!([other]), &["All"]);
                Err(Status::invalid_options(options, &[cause]))
            }
        }
    }

    /// Removes fields that a built-in kind does not have and returns warnings for them, or rejects them under strict
    /// validation.
    pub(crate) fn drop_unknown_fields(
        &self,
        resource: &Resource,
        object: &mut Value,
    ) -> Result<Vec<String>, Status> {
        let refused = |why: &str| {
            let Resource { kind, version, .. } = resource;
            Status::bad_request(format!("{kind} in version {version:?} cannot be handled as a {kind}: {why}"))
        };
        let unknown = match &resource.custom {
            Some(_) => Vec::new(),
            None => builtin_schema::fit(&resource.api_version(), &resource.kind, object)
                .map_err(|misfit| refused(&misfit.to_string()))?,
        };
        let unknown: Vec<String> = unknown.iter().map(|path| format!("unknown field {path:?}")).collect();
        match self.query.get("fieldValidation") {
            Some("Strict") if !unknown.is_empty() => {
                Err(refused(&format!("strict decoding error: {}", unknown.join(", "))))
            }
            Some("Ignore") => Ok(Vec::new()),
            _ => Ok(unknown),
        }
    }

    /// Manager name for `managedFields`.
    pub(crate) fn field_manager(&self) -> String {
        if let Some(manager) = self.query.get("fieldManager") {
            return manager.to_owned();
        }
        let agent = self.header(header::USER_AGENT);
        agent.split('/').next().filter(|name| !name.is_empty()).unwrap_or("unknown").to_owned()
    }

    /// Media type of the body, without parameters.
    pub(crate) fn content_type(&self) -> &str {
        self.header(header::CONTENT_TYPE).split(';').next().unwrap_or_default().trim()
    }

    /// Parses the body as an object.
    pub(crate) fn object(&self, kind: &str) -> Result<Value, Status> {
        let encoding = match self.content_type() {
            "" | "application/json" => BodyEncoding::Json,
            "application/yaml" => BodyEncoding::Yaml,
            protobuf::MEDIA_TYPE => BodyEncoding::Protobuf,
            _ => {
                let message = "the body of the request was in an unknown format - accepted media types include: application/json, application/yaml, application/vnd.kubernetes.protobuf";
                return Err(Status::new(415, "UnsupportedMediaType", message));
            }
        };
        let value = parse(&self.body, encoding).map_err(|why| {
            let shown: Vec<String> = self.body.iter().take(64).map(|byte| format!("{byte:02x}")).collect();
            let shown = shown.concat();
            Status::bad_request(format!(
                "the object provided is unrecognized (must be of type {kind}): couldn't get version/kind; json parse error: {why} ({shown})"
            ))
        })?;
        if !value.is_object() {
            return Err(Status::bad_request(format!(
                "the object provided is unrecognized (must be of type {kind}): expected a JSON object"
            )));
        }
        Ok(value)
    }
}

pub(crate) fn parse(body: &[u8], encoding: BodyEncoding) -> Result<Value, String> {
    match encoding {
        BodyEncoding::Json => serde_json::from_slice(body).map_err(|error| error.to_string()),
        BodyEncoding::Protobuf => protobuf::decode(body),
        BodyEncoding::Yaml => {
            let text = std::str::from_utf8(body).map_err(|error| error.to_string())?;
            serde_saphyr::from_str(text).map_err(|error| error.to_string())
        }
    }
}
