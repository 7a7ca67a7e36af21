//! Answers of operations, piece by piece.

use std::time::Duration;

use bytes::Bytes;
use spindrift_model::{Content, Ending, ErrorKind, FailedState, OperationError, OperationId, Outcome};

use super::encoded::id;
use crate::{InvalidMessage, register::millis, v1};

/// Piece of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResultPart {
    /// Id of the operation.
    pub operation: OperationId,
    /// Media type; of the first piece.
    pub content: Content,
    /// Bytes before this piece; 0 begins the answer, perhaps again.
    pub offset: u64,
    /// Next bytes.
    pub chunk: Bytes,
    /// With the last piece: the end of the operation.
    pub ending: Option<Ending>,
}

/// Message of the hub about an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResultsDown {
    /// Offset up to which it may be sent.
    Credit(OperationId, u64),
    /// Acknowledgement: it arrived whole, and is stored.
    Done(OperationId),
    /// The answer to a heartbeat.
    Heartbeat,
}

// === ResultPart ⇄ wire ===

impl TryFrom<v1::ResultsUp> for ResultPart {
    type Error = InvalidMessage;
    fn try_from(wire: v1::ResultsUp) -> Result<Self, InvalidMessage> {
        let content = match wire.content() {
            v1::Content::Json => Content::Json,
            v1::Content::JsonLines => Content::JsonLines,
            v1::Content::Text => Content::Text,
        };
        let v1::ResultsUp { operation, chunk, more, ending, content: _, offset, heartbeat } = wire;
        if heartbeat {
            return Err(InvalidMessage::new("results.heartbeat", "expected a piece of an answer"));
        }
        let ending = match (more, ending) {
            (true, _) => None,
            (false, Some(ending)) => Some(ending.try_into()?),
            (false, None) => return Err(InvalidMessage::missing("results.ending")),
        };
        Ok(Self { operation: id("results.operation", &operation)?, content, offset, chunk, ending })
    }
}

impl From<ResultPart> for v1::ResultsUp {
    fn from(ResultPart { operation, content, offset, chunk, ending }: ResultPart) -> Self {
        let content = match content {
            Content::Json => v1::Content::Json,
            Content::JsonLines => v1::Content::JsonLines,
            Content::Text => v1::Content::Text,
        };
        Self {
            operation: operation.to_string(),
            chunk,
            more: ending.is_none(),
            ending: ending.map(Into::into),
            content: content.into(),
            offset,
            heartbeat: false,
        }
    }
}

// === Ending ⇄ wire ===

impl TryFrom<v1::Ending> for Ending {
    type Error = InvalidMessage;
    fn try_from(v1::Ending { outcome, took_ms }: v1::Ending) -> Result<Self, InvalidMessage> {
        use v1::ending::Outcome as Wire;
        let code = |code: u32| {
            let code = u16::try_from(code).ok().filter(|code| (100..600).contains(code));
            code.ok_or_else(|| InvalidMessage::new("ending.code", "expected an HTTP status"))
        };
        let outcome = match outcome.ok_or(InvalidMessage::missing("ending.outcome"))? {
            Wire::Succeeded(status) => Outcome::Succeeded { code: code(status)? },
            Wire::Failed(v1::Failed { code: status, status: document, kind }) => {
                failed(OperationError::received(&kind, code(status)?, document)).into()
            }
            Wire::Unknown(reason) => OperationError::unknown(reason).into(),
            Wire::Cancelled(v1::Nothing {}) => OperationError::cancelled().into(),
            Wire::Expired(v1::Nothing {}) => OperationError::deadline_exceeded().into(),
        };
        Ok(Self { outcome, took: Duration::from_millis(took_ms) })
    }
}

impl From<Ending> for v1::Ending {
    fn from(Ending { outcome, took }: Ending) -> Self {
        use v1::ending::Outcome as Wire;
        let outcome = match outcome {
            Outcome::Succeeded { code } => Wire::Succeeded(code.into()),
            Outcome::Failed(error) => match error.state() {
                FailedState::Unknown => Wire::Unknown(error.message()),
                FailedState::Cancelled => Wire::Cancelled(v1::Nothing {}),
                FailedState::Expired => Wire::Expired(v1::Nothing {}),
                FailedState::Failed => {
                    let OperationError { kind, code, status, context: _ } = error;
                    Wire::Failed(v1::Failed { code: code.into(), status, kind: kind.word().to_owned() })
                }
            },
        };
        Self { outcome: Some(outcome), took_ms: millis(took) }
    }
}

/// A kind that means another outcome than `Failed` does not fit this message: the message decides.
fn failed(error: OperationError) -> OperationError {
    match error.state() {
        FailedState::Failed => error,
        FailedState::Unknown | FailedState::Cancelled | FailedState::Expired => {
            OperationError { kind: ErrorKind::Internal, ..error }
        }
    }
}

// === ResultsDown ⇄ wire ===

impl TryFrom<v1::ResultsDown> for ResultsDown {
    type Error = InvalidMessage;
    fn try_from(
        v1::ResultsDown { operation, credit, done, heartbeat }: v1::ResultsDown,
    ) -> Result<Self, InvalidMessage> {
        if heartbeat {
            return Ok(Self::Heartbeat);
        }
        let operation = id("results.operation", &operation)?;
        Ok(if done { Self::Done(operation) } else { Self::Credit(operation, credit) })
    }
}

impl From<ResultsDown> for v1::ResultsDown {
    fn from(down: ResultsDown) -> Self {
        let none = Self::default();
        match down {
            ResultsDown::Credit(operation, credit) => {
                Self { operation: operation.to_string(), credit, ..none }
            }
            ResultsDown::Done(operation) => Self { operation: operation.to_string(), done: true, ..none },
            ResultsDown::Heartbeat => Self { heartbeat: true, ..none },
        }
    }
}

#[cfg(test)]
mod tests {
    use spindrift_model::StatusSource;

    use super::*;

    #[test]
    fn every_outcome_survives_the_wire() {
        let outcomes = [
            Outcome::Succeeded { code: 201 },
            OperationError::api_server(422, Bytes::from_static(b"{\"kind\":\"Status\"}")).into(),
            OperationError::agent(ErrorKind::NoKindMatch, "there is no such kind").into(),
            OperationError::unknown("the agent died").into(),
            OperationError::cancelled().into(),
            OperationError::deadline_exceeded().into(),
        ];
        for (i, outcome) in outcomes.into_iter().enumerate() {
            let part = ResultPart {
                operation: OperationId::fresh(),
                content: [Content::Json, Content::JsonLines, Content::Text][i % 3],
                offset: 7,
                chunk: Bytes::from_static(b"x"),
                ending: Some(Ending { outcome, took: Duration::from_millis(14) }),
            };
            assert_eq!(ResultPart::try_from(v1::ResultsUp::from(part.clone())), Ok(part));
        }
    }

    #[test]
    fn errors_of_agents_that_send_no_kind_get_one() {
        let status =
            StatusSource::Agent.status(404, "NotFound", "no matches for kind \"Wibble\" in version \"x/v1\"");
        for (kind, expected) in [
            ("", ErrorKind::NoKindMatch),
            ("FromTheFuture", ErrorKind::NoKindMatch),
            ("Conflict", ErrorKind::Conflict),
            ("Cancelled", ErrorKind::Internal),
        ] {
            let failed = v1::Failed { code: 404, status: status.clone(), kind: kind.into() };
            let wire = v1::Ending { outcome: Some(v1::ending::Outcome::Failed(failed)), took_ms: 1 };
            let Outcome::Failed(error) = Ending::try_from(wire).unwrap().outcome else { panic!("it failed") };
            assert_eq!((error.kind, error.code), (expected, 404));
        }
    }

    #[test]
    fn an_answer_that_ends_without_an_outcome_is_refused() {
        let wire = v1::ResultsUp { operation: OperationId::fresh().to_string(), ..v1::ResultsUp::default() };
        assert_eq!(ResultPart::try_from(wire).unwrap_err().to_string(), "results.ending: is missing");
    }

    #[test]
    fn messages_of_the_hub_survive_the_wire() {
        let operation = OperationId::fresh();
        let messages =
            [ResultsDown::Credit(operation, 1 << 40), ResultsDown::Done(operation), ResultsDown::Heartbeat];
        for down in messages {
            assert_eq!(ResultsDown::try_from(v1::ResultsDown::from(down)), Ok(down));
        }
    }
}
