//! Clouddriver as Orca sees it: requests with Orca's headers, and the handling of refusals.

use std::{fmt::Write, time::Duration};

use parking_lot::Mutex;
use serde_json::{Value, json};

use super::exception::{Exception, list, string};
use crate::spinnaker::Answer;

/// Caller of a request: the parts of an execution's id.
#[derive(Debug, Clone)]
pub(super) struct Place(String);

/// A call that was made.
#[derive(Debug, Clone)]
pub struct Call {
    pub method: &'static str,
    /// With its query.
    pub path: String,
    pub body: Option<Value>,
    /// Nothing if no answer came.
    pub status: Option<u16>,
}

/// Why there is no answer that could be used.
#[derive(Debug)]
pub(super) enum Refusal {
    Network(String),
    Http { method: &'static str, url: String, status: u16, body: Value },
}

pub(super) struct Clouddriver {
    http: reqwest::Client,
    url: String,
    application: String,
    calls: Mutex<Vec<Call>>,
}

/// Timeout of Orca's client for a connection.
const CONNECT: Duration = Duration::from_secs(5);
const READ: Duration = Duration::from_mins(2);

/// Submitting is tried this often.
const SUBMISSIONS: u32 = 3;

// === impl Place ===

impl Place {
    /// A task of a stage.
    pub(super) fn of_task(execution: &str, stage: &str, task: usize) -> Self {
        Self(format!("{execution}:{stage}:{task}"))
    }

    /// A stage that is being planned.
    pub(super) fn of_stage(execution: &str, stage: &str) -> Self {
        Self(format!("{execution}:{stage}"))
    }
}

// === impl Clouddriver ===

impl Clouddriver {
    pub(super) fn new(url: &str, application: &str) -> Self {
        let http = reqwest::Client::builder().connect_timeout(CONNECT).read_timeout(READ).build();
        Self {
            http: http.expect("a client needs nothing that could be missing"),
            url: url.to_owned(),
            application: application.to_owned(),
            calls: Mutex::default(),
        }
    }

    pub(super) fn into_calls(self) -> Vec<Call> {
        self.calls.into_inner()
    }

    pub(super) async fn get(&self, place: &Place, path: String) -> Result<Value, Refusal> {
        self.send(place, "GET", path, None).await
    }

    pub(super) async fn post(
        &self,
        place: &Place,
        path: String,
        body: Option<&Value>,
    ) -> Result<Value, Refusal> {
        self.send(place, "POST", path, body).await
    }

    /// Submits an operation: three attempts, unless Clouddriver rejects the request itself.
    ///
    /// Returns nothing if it is to be submitted again later, which is the meaning of a 503 for Orca.
    pub(super) async fn submit(
        &self,
        place: &Place,
        path: &str,
        operations: &Value,
        pause: Duration,
    ) -> Result<Option<Value>, Exception> {
        let mut attempt = 1;
        loop {
            match self.post(place, path.to_owned(), Some(operations)).await {
                Ok(answer) => return Ok(Some(answer)),
                Err(refusal) if refusal.is_final() => return Err(refusal.into_exception()),
                Err(_) if attempt < SUBMISSIONS => {}
                Err(Refusal::Http { status: 503, .. }) => return Ok(None),
                Err(refusal) => return Err(refusal.into_exception()),
            }
            attempt += 1;
            tokio::time::sleep(pause).await;
        }
    }

    async fn send(
        &self,
        Place(execution): &Place,
        method: &'static str,
        path: String,
        body: Option<&Value>,
    ) -> Result<Value, Refusal> {
        let url = format!("{}{path}", self.url);
        let method_of = method.parse().unwrap_or_default();
        let request = format!("{execution}:{:032x}", fastrand::u128(..));
        let mut builder = self
            .http
            .request(method_of, &url)
            .header("X-SPINNAKER-REQUEST-ID", request)
            .header("X-SPINNAKER-USER", "recorder")
            .header("X-SPINNAKER-ACCOUNTS", "account1,wide")
            .header("X-SPINNAKER-APPLICATION", &self.application)
            .header("X-SPINNAKER-EXECUTION-ID", execution);
        if let Some(body) = body {
            builder =
                builder.header("Content-Type", "application/json; charset=UTF-8").body(body.to_string());
        }
        let answer = match builder.send().await {
            Ok(response) => Answer::of(response).await,
            Err(error) => Err(error.into()),
        };
        let status = answer.as_ref().ok().map(|answer| answer.status);
        self.calls.lock().push(Call { method, path, body: body.cloned(), status });
        match answer {
            Ok(Answer { status: 200..300, body, .. }) => Ok(body),
            Ok(Answer { status, body, .. }) => Err(Refusal::Http { method, url, status, body }),
            Err(error) => Err(Refusal::Network(format!("{error:#}"))),
        }
    }
}

// === impl Refusal ===

impl Refusal {
    pub(super) fn status(&self) -> Option<u16> {
        match self {
            Self::Network(_) => None,
            Self::Http { status, .. } => Some(*status),
        }
    }

    /// Asking again would not help.
    pub(super) fn is_final(&self) -> bool {
        matches!(self.status(), Some(400 | 404))
    }

    /// Orca's queue asks again later.
    pub(super) fn is_for_later(&self) -> bool {
        matches!(self.status(), None | Some(429 | 502 | 503 | 504))
    }

    /// Exception that ends the stage; Orca reads the error's body with casts that may fail themselves.
    pub(super) fn into_exception(self) -> Exception {
        match self {
            Self::Network(message) => Exception::new("SpinnakerNetworkException", message),
            Self::Http { method, url, status, body } => {
                details(method, &url, status, &body).unwrap_or_else(|thrown| thrown)
            }
        }
    }
}

fn details(method: &str, url: &str, status: u16, body: &Value) -> Result<Exception, Exception> {
    let text = |key: &str| match body.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => string(key, value).map(|text| Some(text.to_owned())),
    };
    let (message, error) = (text("message")?, text("error")?);
    let told = body.get("errors").or_else(|| body.get("messages")).unwrap_or(&Value::Null);
    let mut errors = Vec::new();
    for error in list("errors", told)? {
        errors.push(string("errors[]", error)?.to_owned());
    }
    if errors.is_empty() {
        errors.extend(message.clone());
    }
    let mut exception =
        Exception::new("SpinnakerHttpException", message.unwrap_or_else(|| errors.join("; ")));
    for (key, value) in [
        ("method", json!(method)),
        ("kind", json!("HTTP")),
        ("error", json!(error)),
        ("errors", json!(errors)),
        ("url", json!(url)),
        ("rootException", body.get("exception").cloned().unwrap_or_default()),
        ("status", json!(status)),
    ] {
        exception.details.insert(key.to_owned(), value);
    }
    Ok(exception)
}

/// A segment of a path: all but unreserved characters are percent-encoded.
pub(super) fn segment(text: &str) -> String {
    let mut written = String::new();
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                written.push(char::from(byte));
            }
            // A `String` takes everything.
            other => write!(written, "%{other:02X}").unwrap_or_default(),
        }
    }
    written
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Refusal, segment};

    fn refusal(status: u16, body: serde_json::Value) -> Refusal {
        Refusal::Http { method: "POST", url: "http://x/kubernetes/ops".into(), status, body }
    }

    #[test]
    fn a_segment_has_no_reserved_characters() {
        assert_eq!(segment("deployment my-app"), "deployment%20my-app");
        assert_eq!(segment("a:b,c/d"), "a%3Ab%2Cc%2Fd");
    }

    #[test]
    fn errors_of_a_wrong_type_break_orca() {
        let body = json!({ "error": "Bad Request", "message": "no", "errors": ["one"], "exception": "X" });
        let exception = refusal(400, body).into_exception();
        assert_eq!(exception.class, "SpinnakerHttpException");
        assert_eq!(exception.details["errors"], json!(["one"]));
        for body in [json!({ "message": 1 }), json!({ "errors": "one" }), json!({ "errors": [1] })] {
            assert_eq!(refusal(400, body).into_exception().class, "ClassCastException");
        }
    }

    #[test]
    fn a_wrong_request_is_not_retried() {
        assert!(refusal(400, json!({})).is_final() && !refusal(500, json!({})).is_final());
        assert!(refusal(503, json!({})).is_for_later() && !refusal(500, json!({})).is_for_later());
        assert!(Refusal::Network("gone".into()).is_for_later());
    }
}
