//! A request that was read completely.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, Method, Request, header};
use http_body_util::{BodyExt, Limited};
use serde_json::Value;

use super::access::{self, User};
use super::layer::RequestBody;
use super::protobuf;
use super::query::Query;
use crate::catalogue::Resource;
use crate::cluster::Cluster;
use crate::status::{Cause, Status};

/// The real server's limit of a request's body.
const MAX_BODY: usize = 3 << 20;

/// The outermost fields of all built-in kinds.
const KNOWN_FIELDS: &[&str] = &[
    "action",
    "addressType",
    "aggregationRule",
    "allowVolumeExpansion",
    "allowedTopologies",
    "apiVersion",
    "automountServiceAccountToken",
    "binaryData",
    "capacity",
    "count",
    "data",
    "deprecatedCount",
    "deprecatedFirstTimestamp",
    "deprecatedLastTimestamp",
    "deprecatedSource",
    "description",
    "endpoints",
    "eventTime",
    "firstTimestamp",
    "globalDefault",
    "handler",
    "imagePullSecrets",
    "immutable",
    "involvedObject",
    "kind",
    "lastTimestamp",
    "maximumVolumeSize",
    "message",
    "metadata",
    "mountOptions",
    "nodeTopology",
    "note",
    "overhead",
    "parameters",
    "ports",
    "preemptionPolicy",
    "provisioner",
    "reason",
    "reclaimPolicy",
    "regarding",
    "related",
    "reportingComponent",
    "reportingController",
    "reportingInstance",
    "revision",
    "roleRef",
    "rules",
    "scheduling",
    "secrets",
    "series",
    "source",
    "spec",
    "status",
    "storageClassName",
    "stringData",
    "subjects",
    "subsets",
    "template",
    "type",
    "value",
    "volumeBindingMode",
    "webhooks",
    "driverName",
];

/// A request, its body and who sent it.
pub(crate) struct Call {
    pub(crate) cluster: Arc<Cluster>,
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) query: Query,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    pub(crate) user: User,
}

/// In which language a body is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Encoding {
    Json,
    Yaml,
    Protobuf,
}

// === impl Call ===

impl Call {
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
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    pub(crate) fn dry_run(&self) -> bool {
        self.query.has("dryRun", "All")
    }

    /// The only kind of dry run is a complete one.
    pub(crate) fn check_dry_run(&self, options: &str) -> Result<(), Status> {
        match self.query.get("dryRun") {
            None | Some("All") => Ok(()),
            Some(other) => {
                let cause = Cause::unsupported("dryRun", &serde_json::json!([other]), &["All"]);
                Err(Status::invalid_options(options, &[cause]))
            }
        }
    }

    /// Takes out fields that no built-in kind has and gives their names, or refuses them if that is wanted.
    ///
    /// Only the outermost fields are looked at: there are no schemas of what is below.
    pub(crate) fn drop_unknown_fields(
        &self,
        resource: &Resource,
        object: &mut Value,
    ) -> Result<Vec<String>, Status> {
        let Value::Object(fields) = object else { return Ok(Vec::new()) };
        if resource.custom.is_some() {
            return Ok(Vec::new());
        }
        let unknown: Vec<String> = fields
            .keys()
            .filter(|key| !KNOWN_FIELDS.contains(&key.as_str()))
            .map(|key| format!("unknown field {key:?}"))
            .collect();
        match self.query.get("fieldValidation") {
            Some("Strict") if !unknown.is_empty() => Err(Status::bad_request(format!(
                "{0} in version {1:?} cannot be handled as a {0}: strict decoding error: {2}",
                resource.kind,
                resource.version,
                unknown.join(", ")
            ))),
            word => {
                fields.retain(|key, _| KNOWN_FIELDS.contains(&key.as_str()));
                Ok(if word == Some("Ignore") { Vec::new() } else { unknown })
            }
        }
    }

    /// The name under which changes are recorded in `managedFields`.
    pub(crate) fn field_manager(&self) -> String {
        if let Some(manager) = self.query.get("fieldManager") {
            return manager.to_owned();
        }
        let agent = self.header(header::USER_AGENT);
        agent.split('/').next().filter(|name| !name.is_empty()).unwrap_or("unknown").to_owned()
    }

    /// The media type of the body, without parameters.
    pub(crate) fn content_type(&self) -> &str {
        self.header(header::CONTENT_TYPE).split(';').next().unwrap_or_default().trim()
    }

    /// Parses the body as an object.
    pub(crate) fn object(&self, kind: &str) -> Result<Value, Status> {
        let encoding = match self.content_type() {
            "" | "application/json" => Encoding::Json,
            "application/yaml" => Encoding::Yaml,
            protobuf::MEDIA_TYPE => Encoding::Protobuf,
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

pub(crate) fn parse(body: &[u8], encoding: Encoding) -> Result<Value, String> {
    match encoding {
        Encoding::Json => serde_json::from_slice(body).map_err(|error| error.to_string()),
        Encoding::Protobuf => protobuf::decode(body),
        Encoding::Yaml => {
            let text = std::str::from_utf8(body).map_err(|error| error.to_string())?;
            serde_saphyr::from_str(text).map_err(|error| error.to_string())
        }
    }
}
