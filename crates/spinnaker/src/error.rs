//! JSON of error responses. Orca casts `message` and `error` to strings and `errors` to a list of strings: other types
//! break it.

use serde::Serialize;

mod missing;

pub use missing::Missing;

use crate::{
    InvalidRequest, TaskError, Violation,
    manifest::{InvalidInput, InvalidManifest},
};

/// Error in Clouddriver's own format.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ErrorBody {
    /// Such as `2026-11-15T20:37:54.599+00:00`.
    pub timestamp: String,
    pub status: u16,
    pub error: &'static str,
    pub exception: &'static str,
    pub message: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<String>,
}

/// Error of its web framework: unknown route, wrong method, invalid body.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    r#type: &'static str,
    title: &'static str,
    pub status: u16,
    detail: String,
    instance: String,
}

/// Error response with its status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    pub status: u16,
    exception: &'static str,
    pub message: String,
    errors: Vec<String>,
}

// === impl Refusal ===

impl Refusal {
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(404, "com.netflix.spinnaker.kork.web.exceptions.NotFoundException", message)
    }

    pub fn illegal_argument(message: impl Into<String>) -> Self {
        Self::new(400, "java.lang.IllegalArgumentException", message)
    }

    pub fn invalid_request(message: impl Into<String>) -> Self {
        Self::new(400, "com.netflix.spinnaker.kork.web.exceptions.InvalidRequestException", message)
    }

    /// Unknown account.
    pub fn unknown_account<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Self {
        let known: Vec<_> = known.into_iter().collect();
        Self::invalid_request(format!("credentials not found (name: {name}, names: {})", known.join(",")))
    }

    pub fn unknown_provider(name: &str) -> Self {
        let exception = "com.netflix.spinnaker.clouddriver.exceptions.CloudProviderNotFoundException";
        Self::new(400, exception, format!("No cloud provider named '{name}' found"))
    }

    /// Unknown provider in the path of a read; for operations the message has quotes.
    pub fn no_such_provider(name: &str) -> Self {
        let exception = "com.netflix.spinnaker.clouddriver.exceptions.CloudProviderNotFoundException";
        Self::new(400, exception, format!("No cloud provider named {name} found"))
    }

    /// Accounts cannot be written through this API: agents announce them.
    pub fn no_account_definitions() -> Self {
        let message =
            "Cannot use AccountDefinitionService endpoints without enabling AccountDefinitionService bean";
        Self::new(400, "com.netflix.spinnaker.kork.exceptions.ConfigurationException", message)
    }

    /// Not supported by Kubernetes accounts. Clouddriver returns 500, which callers would retry.
    pub fn not_implemented(message: impl Into<String>) -> Self {
        Self::new(400, "org.apache.commons.lang3.NotImplementedException", message)
    }

    /// Invalid description.
    pub fn validation(errors: impl IntoIterator<Item = String>) -> Self {
        let exception = "com.netflix.spinnaker.clouddriver.deploy.DescriptionValidationException";
        Self { errors: errors.into_iter().collect(), ..Self::new(400, exception, "Validation Failed") }
    }

    /// User who may not use an account.
    pub fn not_authorized(user: &str, account: &str, operation: crate::SpinnakerOperation) -> Self {
        let class = operation.description_class();
        Self::validation([format!("{user} is not authorized (account: {account}, description: {class})")])
    }

    /// Body that exceeds the size limit.
    pub fn too_large(most: usize) -> Self {
        let exception = "com.netflix.spinnaker.kork.web.exceptions.InvalidRequestException";
        Self::new(413, exception, format!("the body has more than {most} bytes"))
    }

    /// Body that did not arrive in time.
    pub fn request_timeout(message: impl Into<String>) -> Self {
        Self::new(408, "java.net.SocketTimeoutException", message)
    }

    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(500, "java.lang.IllegalStateException", message)
    }

    /// Temporary failure: the request may be retried.
    pub fn unavailable(message: impl Into<String>) -> Self {
        Self::new(503, "java.lang.IllegalStateException", message)
    }

    /// The server behind the hub could not be reached.
    pub fn bad_gateway(message: impl Into<String>) -> Self {
        Self::new(502, "java.net.ConnectException", message)
    }

    /// The server behind the hub did not respond in time.
    pub fn gateway_timeout(message: impl Into<String>) -> Self {
        Self::new(504, "java.net.SocketTimeoutException", message)
    }

    /// Body with this timestamp.
    pub fn body(&self, timestamp: jiff::Timestamp) -> ErrorBody {
        let timestamp = timestamp.strftime("%Y-%m-%dT%H:%M:%S.%3f+00:00").to_string();
        let Self { status, exception, message, errors } = self.clone();
        ErrorBody { timestamp, status, error: reason(status), exception, message, errors }
    }

    fn new(status: u16, exception: &'static str, message: impl Into<String>) -> Self {
        Self { status, exception, message: message.into(), errors: Vec::new() }
    }
}

impl From<Vec<Violation>> for Refusal {
    fn from(violations: Vec<Violation>) -> Self {
        Self::validation(violations.iter().map(ToString::to_string))
    }
}

impl From<InvalidRequest> for Refusal {
    fn from(error: InvalidRequest) -> Self {
        match error {
            InvalidRequest::UnknownOperation { .. } => {
                let class = "com.netflix.spinnaker.clouddriver.orchestration.AtomicOperationConverterNotFoundException";
                Self::new(400, class, error.to_string())
            }
            InvalidRequest::NoAccount { operation } => match Violation::account_empty(operation) {
                Some(violation) => vec![violation].into(),
                None => Self::invalid_request(error.to_string()),
            },
            InvalidRequest::Undecodable { .. } | InvalidRequest::BadName(_) => {
                Self::illegal_argument(error.to_string())
            }
        }
    }
}

impl From<InvalidManifest> for Refusal {
    fn from(error: InvalidManifest) -> Self {
        Self::illegal_argument(error.to_string())
    }
}

impl From<InvalidInput> for Refusal {
    fn from(error: InvalidInput) -> Self {
        Self::illegal_argument(error.to_string())
    }
}

impl From<TaskError> for Refusal {
    fn from(error: TaskError) -> Self {
        match error {
            TaskError::NotFound(_) => Self::not_found(error.to_string()),
            TaskError::NotPatchable(_) => {
                Self::new(500, "javax.naming.OperationNotSupportedException", error.to_string())
            }
            TaskError::NotRetryable(_) => {
                let class = "com.netflix.spinnaker.kork.exceptions.ConstraintViolationException";
                Self::new(500, class, error.to_string())
            }
            TaskError::Completed | TaskError::NotResumable(_) => Self::internal(error.to_string()),
        }
    }
}

// === impl Problem ===

impl Problem {
    pub fn new(status: u16, detail: impl Into<String>, instance: impl Into<String>) -> Self {
        let (detail, instance) = (detail.into(), instance.into());
        Self { r#type: "about:blank", title: reason(status), status, detail, instance }
    }

    pub fn no_such_route(path: &str) -> Self {
        Self::new(404, format!("No static resource {}.", path.trim_start_matches('/')), path)
    }

    pub fn wrong_method(method: &str, path: &str) -> Self {
        Self::new(405, format!("Method '{method}' is not supported."), path)
    }

    pub fn unreadable_body(path: &str) -> Self {
        Self::new(400, "Failed to read request", path)
    }

    pub fn missing_parameter(name: &str, path: &str) -> Self {
        Self::new(400, format!("Required parameter '{name}' is not present."), path)
    }

    /// Parameter or path segment with an invalid value.
    pub fn mismatch(name: &str, value: &str, path: &str) -> Self {
        Self::new(400, format!("Failed to convert '{name}' with value: '{value}'"), path)
    }
}

fn reason(status: u16) -> &'static str {
    match status {
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        413 => "Payload Too Large",
        415 => "Unsupported Media Type",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        _ => "Internal Server Error",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::SpinnakerOperation;

    #[test]
    fn refusals_are_written_as_recorded() {
        let at: jiff::Timestamp = "2026-11-15T20:37:54.599Z".parse().unwrap();
        let written = |refusal: Refusal| serde_json::to_value(refusal.body(at)).unwrap();
        assert_eq!(
            written(Refusal::not_found("Account does not exist (name: nope)")),
            json!({"timestamp": "2026-11-15T20:37:54.599+00:00", "status": 404, "error": "Not Found",
                "exception": "com.netflix.spinnaker.kork.web.exceptions.NotFoundException",
                "message": "Account does not exist (name: nope)"})
        );
        assert_eq!(
            written(Refusal::not_authorized("recorder", "wide", SpinnakerOperation::DeployManifest)),
            json!({"timestamp": "2026-11-15T20:37:54.599+00:00", "status": 400, "error": "Bad Request",
                "exception": "com.netflix.spinnaker.clouddriver.deploy.DescriptionValidationException",
                "message": "Validation Failed",
                "errors": ["recorder is not authorized (account: wide, description: \
                            KubernetesDeployManifestDescription)"]})
        );
        let nobody =
            Refusal::from(InvalidRequest::NoAccount { operation: SpinnakerOperation::ScaleManifest });
        assert_eq!(
            written(nobody)["errors"],
            json!(["scaleKubernetesManifest.scaleKubernetesManifest.account.empty"])
        );
        let unknown = Refusal::unknown_account("nope", ["account1", "wide"]);
        assert_eq!(unknown.message, "credentials not found (name: nope, names: account1,wide)");
    }

    #[test]
    fn problems_are_written_as_recorded() {
        assert_eq!(
            serde_json::to_value(Problem::no_such_route("/nope/nope")).unwrap(),
            json!({"type": "about:blank", "title": "Not Found", "status": 404,
                "detail": "No static resource nope/nope.", "instance": "/nope/nope"})
        );
        assert_eq!(
            serde_json::to_value(Problem::mismatch("expand", "maybe", "/credentials")).unwrap(),
            json!({"type": "about:blank", "title": "Bad Request", "status": 400,
                "detail": "Failed to convert 'expand' with value: 'maybe'", "instance": "/credentials"})
        );
        assert_eq!(
            serde_json::to_value(Problem::wrong_method("GET", "/kubernetes/ops")).unwrap(),
            json!({"type": "about:blank", "title": "Method Not Allowed", "status": 405,
                "detail": "Method 'GET' is not supported.", "instance": "/kubernetes/ops"})
        );
    }
}
