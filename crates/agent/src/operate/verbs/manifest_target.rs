//! Target of a manifest: its resource, its namespace, and the calls that all verbs with a manifest share.

use std::{fmt, time::Duration};

use bytes::Bytes;
use http::Method;
use serde::Serialize;
use serde_json::{Value, value::RawValue};
use spindrift_kubernetes::{ApiError, Call, Object, Reply, encode_like_go, scrub_result};
use spindrift_model::{DryRun, ErrorKind, Manifest, ObjectRef, OperationError, Resource, Validation};
use tokio::time::{sleep, timeout_at};

use super::super::{Answer, OperationContext};
use crate::operate::errors;

/// Manifest with its resolved resource and namespace.
pub(super) struct ManifestTarget<'a> {
    pub(super) context: &'a OperationContext,
    pub(super) resource: Resource,
    /// None for cluster-scoped kinds.
    pub(super) namespace: Option<String>,
    /// Desired object, with its namespace filled in.
    pub(super) manifest: Object,
}

/// Options of a write.
#[derive(Debug, Clone)]
pub(super) struct Writing {
    /// Field manager.
    pub(super) manager: String,
    pub(super) dry_run: DryRun,
    /// None if kubectl leaves it to the server.
    pub(super) validate: Option<Validation>,
}

/// Object as it is in the cluster.
pub(super) struct Live {
    pub(super) object: Object,
    /// The same, byte for byte.
    pub(super) body: Bytes,
}

#[derive(Serialize)]
struct Changed<'a> {
    action: &'a str,
    object: &'a RawValue,
    warnings: &'a [String],
}

// === impl ManifestTarget ===

impl<'a> ManifestTarget<'a> {
    /// Resolves the target of a manifest. Its own namespace takes precedence over that of the request.
    pub(super) async fn of(
        context: &'a OperationContext,
        Manifest(manifest): Manifest,
        namespace: Option<String>,
    ) -> Result<Self, OperationError> {
        let Value::Object(mut manifest) = manifest else {
            return Err(bad_request("manifest: expected an object"));
        };
        let text = |field: &str| {
            let text = manifest.get(field).and_then(Value::as_str).filter(|text| !text.is_empty());
            text.ok_or_else(|| bad_request(format!("manifest.{field}: expected a text that is not empty")))
        };
        let (api_version, kind) = (text("apiVersion")?, text("kind")?);
        let resource = context.resolve(Some(api_version), kind).await?;
        let metadata = manifest.entry("metadata").or_insert_with(|| Object::new().into());
        let Value::Object(metadata) = metadata else {
            return Err(bad_request("manifest.metadata: expected an object"));
        };
        let own = metadata.get("namespace").and_then(Value::as_str).filter(|name| !name.is_empty());
        let namespace = context.namespace(&resource, own.or(namespace.as_deref())).map(str::to_owned);
        match &namespace {
            Some(namespace) => _ = metadata.insert("namespace".to_owned(), namespace.as_str().into()),
            None => _ = metadata.remove("namespace"),
        }
        Ok(Self { context, resource, namespace, manifest })
    }

    /// Resolves a target by name, without a manifest.
    pub(super) async fn named(
        context: &'a OperationContext,
        target: ObjectRef,
    ) -> Result<(Self, String), OperationError> {
        let ObjectRef { api_version, kind, namespace, name } = target;
        if name.is_empty() {
            return Err(bad_request("target.name: resource name may not be empty"));
        }
        let resource = context.resolve(api_version.as_deref(), &kind).await?;
        let namespace = context.namespace(&resource, namespace.as_deref()).map(str::to_owned);
        Ok((Self { context, resource, namespace, manifest: Object::new() }, name))
    }

    /// Name in the manifest.
    pub(super) fn name(&self) -> Option<&str> {
        metadata_text(&self.manifest, "name")
    }

    /// Name, for a verb that requires one.
    pub(super) fn require_name(&self, verb: &str) -> Result<&str, OperationError> {
        self.name().ok_or_else(|| match metadata_text(&self.manifest, "generateName") {
            Some(prefix) => bad_request(format!("from {prefix}: cannot use generate name with {verb}")),
            None => bad_request("manifest.metadata.name: resource name may not be empty"),
        })
    }

    /// API version, such as `apps/v1`.
    pub(super) fn api_version(&self) -> String {
        match &*self.resource.group {
            "" => self.resource.version.as_str().to_owned(),
            group => format!("{group}/{}", self.resource.version.as_str()),
        }
    }

    /// Description of the object, as in the errors of kubectl apply.
    pub(super) fn mapping(&self) -> String {
        let Resource { group, version, kind, plural, .. } = &self.resource;
        let version = format!("{group}/{}", version.as_str());
        format!(
            "Resource: \"{version}, Resource={plural}\", GroupVersionKind: \"{version}, Kind={kind}\"\nName: {:?}, Namespace: {:?}",
            self.name().unwrap_or_default(),
            self.namespace.as_deref().unwrap_or_default()
        )
    }

    /// Call about the object or, without a name, about its collection.
    pub(super) fn call(&self, method: Method, name: Option<&str>) -> Call {
        Call::about(method, &self.resource, self.namespace.as_deref(), name)
    }

    /// Reads the object in the cluster; none if it does not exist.
    pub(super) async fn live(&self, name: &str) -> Result<Option<Live>, OperationError> {
        let call = self.call(Method::GET, Some(name));
        match self.context.read(&call).await {
            Ok(reply) => Live::of(reply.body).map(Some),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(errors::of_read(&error)),
        }
    }

    /// Makes a change, once; again only if the API server rejected it before it looked at it (429).
    pub(super) async fn write(&self, call: Call, writing: &Writing) -> Result<Reply, ApiError> {
        let mut call = call.query("fieldManager", &writing.manager);
        if let Some(validation) = writing.validate {
            call = call.query("fieldValidation", word(validation));
        }
        if writing.dry_run == DryRun::Server {
            call = call.query("dryRun", "All");
        }
        let mut attempts = self.context.attempts();
        loop {
            match self.context.change(&call).await {
                Err(error) if is_turned_away(&error) => attempts.after(error).await?,
                answer => return answer,
            }
        }
    }

    /// Creates the object, without a resource version: one in the manifest would be of another object.
    pub(super) async fn create(&self, mut object: Object, writing: &Writing) -> Result<Reply, ApiError> {
        if let Some(Value::Object(metadata)) = object.get_mut("metadata") {
            metadata.remove("resourceVersion");
        }
        let call = self.call(Method::POST, None).body("application/json", encode(&object));
        self.write(call, writing).await
    }

    /// Answer of a change, or of its dry run.
    pub(super) fn changed(
        &self,
        code: u16,
        action: &str,
        object: Bytes,
        warnings: &[String],
    ) -> Result<Answer, OperationError> {
        changed(self.context, code, action, object, warnings)
    }
}

/// As in messages of kubectl: `deployments.apps/web`.
impl fmt::Display for ManifestTarget<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.resource.plural)?;
        if !self.resource.group.is_empty() {
            write!(f, ".{}", self.resource.group)?;
        }
        write!(f, "/{}", self.name().unwrap_or_default())
    }
}

// === impl Writing ===

impl Writing {
    /// Error of a failed write; a dry run never leaves an unknown outcome.
    pub(super) fn failure(&self, error: &ApiError) -> OperationError {
        match self.dry_run {
            DryRun::Server => errors::of_read(error),
            DryRun::None | DryRun::Client => errors::of_change(error),
        }
    }
}

// === impl Live ===

impl Live {
    /// Parses the answer of a write; an unreadable one leaves an unknown outcome.
    pub(super) fn written(body: Bytes) -> Result<Self, OperationError> {
        Self::of(body).map_err(|_| unreadable())
    }

    /// Parses the answer of a read.
    pub(super) fn of(body: Bytes) -> Result<Self, OperationError> {
        let object = serde_json::from_slice(&body);
        let object = object
            .map_err(|_| OperationError::agent(ErrorKind::BadAnswer, "the answer is no object in JSON"))?;
        Ok(Self { object, body })
    }
}

/// Answer with the changed object, redacted.
pub(super) fn changed(
    context: &OperationContext,
    code: u16,
    action: &str,
    object: Bytes,
    warnings: &[String],
) -> Result<Answer, OperationError> {
    let object = scrub_result(object, context.redactions()).map_err(|_| unreadable())?;
    let object = serde_json::from_slice(&object).map_err(|_| unreadable())?;
    let body = serde_json::to_vec(&Changed { action, object, warnings }).map_err(|_| unreadable())?;
    Ok(Answer { code, body: body.into() })
}

/// Pauses; fails if the operation is cancelled or its deadline passes.
pub(super) async fn pause(context: &OperationContext, pause: Duration) -> Result<(), OperationError> {
    let waited = timeout_at(context.deadline, context.cancelled.run_until_cancelled(sleep(pause))).await;
    match waited {
        Ok(Some(())) => Ok(()),
        Ok(None) => Err(OperationError::cancelled()),
        Err(_) => Err(OperationError::deadline_exceeded()),
    }
}

fn unreadable() -> OperationError {
    OperationError::unknown("it was done, and the answer of the API server is not readable")
}

pub(super) fn bad_request(message: impl AsRef<str>) -> OperationError {
    OperationError::agent(ErrorKind::BadRequest, message)
}

/// Encodes as Go does. Server-side apply is parsed as YAML, which breaks lines at characters that Go escapes.
pub(super) fn encode(object: &Object) -> Bytes {
    encode_like_go(object).into()
}

/// Non-empty text in an object's metadata.
pub(super) fn metadata_text<'a>(object: &'a Object, field: &str) -> Option<&'a str> {
    object.get("metadata")?.get(field)?.as_str().filter(|text| !text.is_empty())
}

/// Reason of the API server.
pub(super) fn reason(error: &ApiError) -> &str {
    error.status().map_or("", |status| &status.reason)
}

/// Whether the API server rejected it because of its load, unprocessed.
fn is_turned_away(error: &ApiError) -> bool {
    error.status().is_some_and(|status| status.code == 429 && status.retry_after.is_some())
}

fn word(validation: Validation) -> &'static str {
    match validation {
        Validation::Strict => "Strict",
        Validation::Warn => "Warn",
        Validation::Ignore => "Ignore",
    }
}
