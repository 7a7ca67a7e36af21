//! Kinds of errors that agents and hubs of 0.1 sent and stored without one.
//!
//! Their texts are fixed by those releases. Nothing that this release writes is looked at here.

use super::ErrorKind;
use crate::operation::{Status, StatusSource};

/// Beginning of the message of 0.1's agents about a kind that the cluster does not serve.
const NO_KIND_MATCH: &str = "no matches for kind";

/// Message of 0.1's hubs about an operation that was not sent because the store did not answer.
const NOT_SENT: &str = "the hub's store did not answer; nothing was sent; try again";

/// Message of 0.1's hubs about a change whose insertion the store did not confirm.
const MAY_HAVE_BEEN_QUEUED: &str =
    "the hub's store did not answer; nothing was sent, and nothing will be under this id; try again";

/// Infers the kind from the code and, for three kinds that matter, from the message.
pub(super) fn kind_of(code: u16, status: &[u8]) -> ErrorKind {
    let Some(status) = Status::read(status) else { return ErrorKind::ApiServer };
    let (message, source) = (&*status.message, status.source());
    match code {
        404 if message.starts_with(NO_KIND_MATCH) && source == StatusSource::Agent => ErrorKind::NoKindMatch,
        503 if message == NOT_SENT && source == StatusSource::Hub => ErrorKind::NotSent,
        503 if message == MAY_HAVE_BEEN_QUEUED && source == StatusSource::Hub => ErrorKind::MayHaveBeenQueued,
        _ if source == StatusSource::ApiServer => ErrorKind::ApiServer,
        400 => ErrorKind::BadRequest,
        401 => ErrorKind::Forbidden,
        404 => ErrorKind::NotFound,
        409 => ErrorKind::Conflict,
        413 => ErrorKind::TooLarge,
        423 => ErrorKind::Frozen,
        429 => ErrorKind::AgentOverloaded,
        501 => ErrorKind::NotImplemented,
        502 => ErrorKind::BadAnswer,
        503 => ErrorKind::Unavailable,
        504 => ErrorKind::Timeout,
        _ => ErrorKind::Internal,
    }
}
