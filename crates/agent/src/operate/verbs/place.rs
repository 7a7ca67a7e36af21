//! Where a manifest belongs: its resource, its namespace, and the calls that every verb with a manifest makes.

use std::{fmt, time::Duration};

use bytes::Bytes;
use http::Method;
use serde::Serialize;
use serde_json::{Value, value::RawValue};
use spindrift_kubernetes::{ApiError, Call, Object, Reply, encode_like_go, scrub_result};
use spindrift_model::{DryRun, Manifest, ObjectRef, Resource, Validation};
use tokio::time::{sleep, timeout_at};

use super::super::{Answer, Failure, Hand};

/// A manifest, and where it belongs.
pub(super) struct Place<'a> {
    pub(super) hand: &'a Hand,
    pub(super) resource: Resource,
    /// None for kinds without namespaces.
    pub(super) namespace: Option<String>,
    /// The object as it is wanted, with the namespace that it will have.
    pub(super) manifest: Object,
}

/// How something is written.
#[derive(Debug, Clone)]
pub(super) struct Writing {
    /// Whose fields they become.
    pub(super) manager: String,
    pub(super) dry_run: DryRun,
    /// None where kubectl leaves it to the server.
    pub(super) validate: Option<Validation>,
}

/// An object as it is in the cluster.
pub(super) struct Live {
    pub(super) object: Object,
    /// The same, as the API server wrote it.
    pub(super) body: Bytes,
}

#[derive(Serialize)]
struct Changed<'a> {
    action: &'a str,
    object: &'a RawValue,
    warnings: &'a [String],
}

// === impl Place ===

impl<'a> Place<'a> {
    /// Finds out what a manifest is about. Its own namespace comes before that of the request.
    pub(super) async fn of(
        hand: &'a Hand,
        Manifest(manifest): Manifest,
        namespace: Option<String>,
    ) -> Result<Self, Failure> {
        let Value::Object(mut manifest) = manifest else {
            return Err(bad_request("manifest: expected an object"));
        };
        let text = |field: &str| {
            let text = manifest.get(field).and_then(Value::as_str).filter(|text| !text.is_empty());
            text.ok_or_else(|| bad_request(format!("manifest.{field}: expected a text that is not empty")))
        };
        let (api_version, kind) = (text("apiVersion")?, text("kind")?);
        let resource = hand.resolve(Some(api_version), kind).await?;
        let metadata = manifest.entry("metadata").or_insert_with(|| Object::new().into());
        let Value::Object(metadata) = metadata else {
            return Err(bad_request("manifest.metadata: expected an object"));
        };
        let own = metadata.get("namespace").and_then(Value::as_str).filter(|name| !name.is_empty());
        let namespace = hand.namespace(&resource, own.or(namespace.as_deref())).map(str::to_owned);
        match &namespace {
            Some(namespace) => _ = metadata.insert("namespace".to_owned(), namespace.as_str().into()),
            None => _ = metadata.remove("namespace"),
        }
        Ok(Self { hand, resource, namespace, manifest })
    }

    /// What a name is about; there is no manifest.
    pub(super) async fn named(hand: &'a Hand, target: ObjectRef) -> Result<(Self, String), Failure> {
        let ObjectRef { api_version, kind, namespace, name } = target;
        if name.is_empty() {
            return Err(bad_request("target.name: resource name may not be empty"));
        }
        let resource = hand.resolve(api_version.as_deref(), &kind).await?;
        let namespace = hand.namespace(&resource, namespace.as_deref()).map(str::to_owned);
        Ok((Self { hand, resource, namespace, manifest: Object::new() }, name))
    }

    /// The name that the manifest gives the object.
    pub(super) fn name(&self) -> Option<&str> {
        metadata_text(&self.manifest, "name")
    }

    /// The name, for a verb that cannot do without.
    pub(super) fn require_name(&self, verb: &str) -> Result<&str, Failure> {
        self.name().ok_or_else(|| match metadata_text(&self.manifest, "generateName") {
            Some(prefix) => bad_request(format!("from {prefix}: cannot use generate name with {verb}")),
            None => bad_request("manifest.metadata.name: resource name may not be empty"),
        })
    }

    /// Such as `apps/v1`.
    pub(super) fn api_version(&self) -> String {
        match &*self.resource.group {
            "" => self.resource.version.as_str().to_owned(),
            group => format!("{group}/{}", self.resource.version.as_str()),
        }
    }

    /// Which object this is, as kubectl says it when it could not be applied.
    pub(super) fn mapping(&self) -> String {
        let Resource { group, version, kind, plural, .. } = &self.resource;
        let version = format!("{group}/{}", version.as_str());
        format!(
            "Resource: \"{version}, Resource={plural}\", GroupVersionKind: \"{version}, Kind={kind}\"\nName: {:?}, Namespace: {:?}",
            self.name().unwrap_or_default(),
            self.namespace.as_deref().unwrap_or_default()
        )
    }

    /// A call about the object, or (without a name) about all of its kind.
    pub(super) fn call(&self, method: Method, name: Option<&str>) -> Call {
        Call::about(method, &self.resource, self.namespace.as_deref(), name)
    }

    /// The object as it is in the cluster; none if it is not there.
    pub(super) async fn live(&self, name: &str) -> Result<Option<Live>, Failure> {
        let call = self.call(Method::GET, Some(name));
        match self.hand.read(&call).await {
            Ok(reply) => Live::of(reply.body).map(Some),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(Failure::of_read(&error)),
        }
    }

    /// Sends something that changes the cluster, once; again only if it was turned away at the door.
    pub(super) async fn write(&self, call: Call, writing: &Writing) -> Result<Reply, ApiError> {
        let mut call = call.query("fieldManager", &writing.manager);
        if let Some(validation) = writing.validate {
            call = call.query("fieldValidation", word(validation));
        }
        if writing.dry_run == DryRun::Server {
            call = call.query("dryRun", "All");
        }
        let mut attempts = self.hand.attempts();
        loop {
            match self.hand.change(&call).await {
                Err(error) if is_turned_away(&error) => attempts.after(error).await?,
                answer => return answer,
            }
        }
    }

    /// Creates the object; a version that it may name is that of another one.
    pub(super) async fn create(&self, mut object: Object, writing: &Writing) -> Result<Reply, ApiError> {
        if let Some(Value::Object(metadata)) = object.get_mut("metadata") {
            metadata.remove("resourceVersion");
        }
        let call = self.call(Method::POST, None).body("application/json", encode(&object));
        self.write(call, writing).await
    }

    /// The answer of a verb that changed something, or tried to.
    pub(super) fn changed(
        &self,
        code: u16,
        action: &str,
        object: Bytes,
        warnings: &[String],
    ) -> Result<Answer, Failure> {
        changed(self.hand, code, action, object, warnings)
    }
}

/// As kubectl names objects in what it says: `deployments.apps/web`.
impl fmt::Display for Place<'_> {
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
    /// What it means that a write failed: what is only tried leaves no doubt behind.
    pub(super) fn failure(&self, error: &ApiError) -> Failure {
        match self.dry_run {
            DryRun::Server => Failure::of_read(error),
            DryRun::None | DryRun::Client => Failure::of_mutation(error),
        }
    }
}

// === impl Live ===

impl Live {
    /// What a write was answered: without that, nobody knows what has become of it.
    pub(super) fn written(body: Bytes) -> Result<Self, Failure> {
        Self::of(body).map_err(|_| unreadable())
    }

    /// What a read was answered.
    pub(super) fn of(body: Bytes) -> Result<Self, Failure> {
        let object = serde_json::from_slice(&body);
        let object =
            object.map_err(|_| Failure::ours(502, "BadGateway", "the answer is no object in JSON"))?;
        Ok(Self { object, body })
    }
}

/// The answer about an object that was changed: without what may not leave the cluster.
pub(super) fn changed(
    hand: &Hand,
    code: u16,
    action: &str,
    object: Bytes,
    warnings: &[String],
) -> Result<Answer, Failure> {
    let object = scrub_result(object, hand.redactions()).map_err(|_| unreadable())?;
    let object = serde_json::from_slice(&object).map_err(|_| unreadable())?;
    let body = serde_json::to_vec(&Changed { action, object, warnings }).map_err(|_| unreadable())?;
    Ok(Answer { code, body: body.into() })
}

/// Waits, unless the caller loses interest or the time is over.
pub(super) async fn pause(hand: &Hand, pause: Duration) -> Result<(), Failure> {
    let waited = timeout_at(hand.deadline, hand.cancelled.run_until_cancelled(sleep(pause))).await;
    match waited {
        Ok(Some(())) => Ok(()),
        Ok(None) => Err(Failure::Cancelled),
        Err(_) => Err(Failure::Expired),
    }
}

fn unreadable() -> Failure {
    Failure::Unknown("it was done, and the answer of the API server is not readable".into())
}

pub(super) fn bad_request(message: impl Into<String>) -> Failure {
    Failure::ours(400, "BadRequest", message)
}

/// As Go writes JSON. What is applied server-side is read as YAML, which breaks lines at characters that Go escapes.
pub(super) fn encode(object: &Object) -> Bytes {
    encode_like_go(object).into()
}

/// A text in an object's metadata that is not empty.
pub(super) fn metadata_text<'a>(object: &'a Object, field: &str) -> Option<&'a str> {
    object.get("metadata")?.get(field)?.as_str().filter(|text| !text.is_empty())
}

/// The reason that the API server gives, as a word.
pub(super) fn reason(error: &ApiError) -> &str {
    error.status().map_or("", |status| &status.reason)
}

/// Whether the API server had too much to do to even look at it.
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
