//! Asking: the verb in, its answer out, with the API server's own status and words.

use std::time::Duration;

use axum::{
    Json,
    body::Body,
    extract::State,
    http::{HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use bytes::{Bytes, BytesMut};
use futures::stream;
use serde::Deserialize;
use serde_json::json;
use spindrift_model::{
    AccountName, Content, Ending, ErrorKind, FailedState, KubectlContext, OperationError, OperationId,
    Outcome, Verb,
};
use tokio::time::timeout;
use utoipa::IntoParams;

use super::OPERATION_HEADER;
use crate::{
    dispatch::{Event, LONGEST, OperationRequest, Running},
    rest::{
        RestState, body,
        error::{Error, Path, Query},
    },
};

/// The largest request: more than any API server takes.
const LARGEST_REQUEST: usize = 8 * 1024 * 1024;

/// Step during which the operation was refused ([`KubectlContext`]), in JSON.
const CONTEXT_HEADER: HeaderName = HeaderName::from_static("spindrift-doing");

/// Parameters of the request.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct Envelope {
    /// The caller's own ULID: a repeated request with it runs once, and gets the same response.
    id: Option<String>,
    /// Time limit of the operation, such as `90s`; 30 s if absent, unless the hub is configured otherwise.
    deadline: Option<String>,
    /// Time that the caller waits, such as `10s`; until the deadline if absent. A longer operation is answered with 202,
    /// and its result is stored.
    wait: Option<String>,
    /// Does not wait at all.
    #[serde(default)]
    r#async: bool,
}

/// Asks an agent of the account to do something: a verb in JSON.
#[utoipa::path(
    post,
    path = "/v1/accounts/{account}/operations",
    params(Envelope),
    request_body(content = Verb, description = "A verb of Kubernetes with its request; the field `verb` names it"),
    responses(
        (status = 200, description = "The verb's answer; 201 if something was created"),
        (status = 202, description = "The operation goes on; `/v1/operations/{id}` tells"),
        (status = 400, description = "The request makes no sense; or as the API server says"),
        (status = 401, description = "The namespace is not one of the account's"),
        (status = 404, description = "There is no such account; or as the API server says"),
        (status = 409, description = "The id was used for another request, or the operation was cancelled; or as the API server says"),
        (status = 413, description = "The body is larger than any request that makes sense"),
        (status = 423, description = "The account is frozen"),
        (status = 429, description = "Too many operations are open"),
        (status = 502, description = "The outcome is unknown"),
        (status = 503, description = "No agent of the account is connected"),
        (status = 504, description = "The deadline passed before anything was changed"),
        (status = "default", description = "As the API server says")
    )
)]
pub(crate) async fn ask(
    State(state): State<RestState>,
    Path(account): Path<String>,
    Query(envelope): Query<Envelope>,
    body: Body,
) -> Result<Response, Error> {
    let account = AccountName::parse(&account).map_err(|invalid| Error::bad_request("account", invalid))?;
    let Envelope { id, deadline, wait, r#async } = envelope;
    let id = id.map(|id| id.parse::<OperationId>()).transpose();
    let id = id.map_err(|invalid| Error::bad_request("id", invalid))?;
    let deadline = deadline.as_deref().map(|text| duration("deadline", text)).transpose()?;
    let wait = wait.as_deref().map(|text| duration("wait", text)).transpose()?;
    let body = match body::read(body, LARGEST_REQUEST).await {
        Ok(body) => body,
        Err(body::Unread::TooLarge(most)) => {
            let message = format!("the request is larger than {most} bytes");
            return Ok(refused(OperationError::hub(ErrorKind::TooLarge, message)));
        }
        Err(unread) => return Err(unread.into()),
    };
    let verb: Verb = serde_json::from_slice(&body).map_err(|error| Error::bad_request("body", error))?;
    let request = OperationRequest::new(id, account, verb).within(deadline).kept(r#async);
    let running = match state.dispatch.submit(request).await {
        Ok(running) => running,
        Err(error) => return Ok(refused(error)),
    };
    if r#async {
        let id = running.id;
        running.detach();
        return Ok(goes_on(id));
    }
    Ok(answer(running, wait.unwrap_or(LONGEST)).await)
}

/// Waits for the answer; for its beginning, where it may be long.
async fn answer(mut running: Running, patience: Duration) -> Response {
    let id = running.id;
    let Ok(first) = timeout(patience, running.next()).await else {
        running.detach();
        return goes_on(id);
    };
    let response = match first {
        Some(Event::Piece(content, bytes)) if running.mutation => whole(running, content, bytes).await,
        Some(Event::Piece(content, bytes)) => streamed(running, content, bytes),
        Some(Event::Ended(content, ending)) => ended(content, ending, Bytes::new()),
        Some(Event::Forgotten(ending)) => forgotten(&ending),
        None => stopping(),
    };
    ([(OPERATION_HEADER, id.to_string())], response).into_response()
}

/// Returns the result of a mutation: it is small, and its status is known at the end.
async fn whole(mut running: Running, content: Content, first: Bytes) -> Response {
    let mut body = BytesMut::from(first);
    loop {
        match running.next().await {
            Some(Event::Piece(_, bytes)) => body.extend_from_slice(&bytes),
            Some(Event::Ended(_, ending)) => return ended(content, ending, body.freeze()),
            Some(Event::Forgotten(ending)) => return forgotten(&ending),
            None => return stopping(),
        }
    }
}

/// Streams the result of a read; if it breaks off, so does the body, which then never looks complete.
fn streamed(running: Running, content: Content, first: Bytes) -> Response {
    let rest = stream::unfold(Some(running), |running| async {
        let mut running = running?;
        match running.next().await {
            Some(Event::Piece(_, bytes)) => Some((Ok(bytes), Some(running))),
            Some(Event::Ended(_, Ending { outcome: Outcome::Succeeded { .. }, .. })) => None,
            _ => Some((Err(std::io::Error::other("the answer broke off")), None)),
        }
    });
    let pieces = futures::StreamExt::chain(stream::once(async { Ok(first) }), rest);
    ([(header::CONTENT_TYPE, content.media_type())], Body::from_stream(pieces)).into_response()
}

fn ended(content: Content, Ending { outcome, took: _ }: Ending, body: Bytes) -> Response {
    match outcome {
        Outcome::Succeeded { code } => {
            let code = StatusCode::from_u16(code).unwrap_or(StatusCode::OK);
            if content == Content::Json && body.is_empty() {
                let lost = "it was done; what the agent had to say of it was lost on the way";
                return (code, Json(json!({ "warnings": [lost] }))).into_response();
            }
            (code, [(header::CONTENT_TYPE, content.media_type())], body).into_response()
        }
        Outcome::Failed(error) => match error.state() {
            FailedState::Failed => {
                let step = KubectlContext::read(&body);
                let step = step.and_then(|step| HeaderValue::try_from(step.to_json()).ok());
                (step.map(|step| [(CONTEXT_HEADER, step)]), refused(error)).into_response()
            }
            FailedState::Unknown => {
                let message =
                    format!("outcome unknown: {}; check the object before you try again", error.message());
                refused(OperationError::hub(error.kind, message))
            }
            FailedState::Cancelled | FailedState::Expired => refused(error),
        },
    }
}

fn forgotten(ending: &Ending) -> Response {
    let message = format!("the operation is {}, and its answer is no longer stored", ending.outcome.word());
    refused(OperationError::hub(ErrorKind::AnswerExpired, message))
}

fn stopping() -> Response {
    let message = "the hub stops; the operation goes on under its id";
    refused(OperationError::hub(ErrorKind::HubStopping, message))
}

fn goes_on(id: OperationId) -> Response {
    let body = Json(json!({ "id": id, "state": "queued" }));
    (StatusCode::ACCEPTED, [(OPERATION_HEADER, id.to_string())], body).into_response()
}

/// Response with the `Status`, verbatim.
fn refused(OperationError { code, status, .. }: OperationError) -> Response {
    let code = StatusCode::from_u16(code).unwrap_or(StatusCode::BAD_GATEWAY);
    (code, [(header::CONTENT_TYPE, Content::Json.media_type())], status).into_response()
}

/// `30s`, `500ms`, `2m`, `1h`, or a number of seconds.
fn duration(field: &str, text: &str) -> Result<Duration, Error> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let number: Option<u64> = digits.parse().ok();
    let length = number.and_then(|number| match text.get(digits.len()..)? {
        "ms" => Some(Duration::from_millis(number)),
        "s" | "" => Some(Duration::from_secs(number)),
        "m" => number.checked_mul(60).map(Duration::from_secs),
        "h" => number.checked_mul(3600).map(Duration::from_secs),
        _ => None,
    });
    let fits = length.filter(|length| !length.is_zero() && *length <= LONGEST);
    fits.ok_or_else(|| {
        Error::bad_request(field, format_args!("expected a length such as 30s, at most 24h; found {text:?}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_time_are_read_as_people_write_them() {
        for (text, length) in [
            ("30s", Some(Duration::from_secs(30))),
            ("30", Some(Duration::from_secs(30))),
            ("500ms", Some(Duration::from_millis(500))),
            ("2m", Some(Duration::from_mins(2))),
            ("24h", Some(Duration::from_hours(24))),
            ("25h", None),
            ("0s", None),
            ("-1s", None),
            ("s", None),
            ("1 s", None),
        ] {
            assert_eq!(duration("wait", text).ok(), length, "{text}");
        }
    }
}
