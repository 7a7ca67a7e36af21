//! What operations are answered, piece by piece.

use std::time::Duration;

use bytes::Bytes;
use spindrift_model::{Content, Ending, OperationId, Outcome};

use super::request::id;
use crate::{InvalidMessage, register::millis, v1};

/// A piece of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResultPart {
    /// Of which operation.
    pub operation: OperationId,
    /// What the answer is made of; counts with the first piece.
    pub content: Content,
    /// How many bytes came before; 0 begins the answer, perhaps anew.
    pub offset: u64,
    /// The next bytes.
    pub chunk: Bytes,
    /// With the last piece: how it ended.
    pub ending: Option<Ending>,
}

/// What the hub says about an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResultsDown {
    /// It may be sent up to here, counted from its beginning.
    Credit(OperationId, u64),
    /// It arrived whole, and is kept.
    Done(OperationId),
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
        let v1::ResultsUp { operation, chunk, more, ending, content: _, offset } = wire;
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
            Wire::Failed(v1::Failed { code: status, status: document }) => {
                Outcome::Failed { code: code(status)?, status: document }
            }
            Wire::Unknown(reason) => Outcome::Unknown { reason },
            Wire::Cancelled(v1::Nothing {}) => Outcome::Cancelled,
            Wire::Expired(v1::Nothing {}) => Outcome::Expired,
        };
        Ok(Self { outcome, took: Duration::from_millis(took_ms) })
    }
}

impl From<Ending> for v1::Ending {
    fn from(Ending { outcome, took }: Ending) -> Self {
        use v1::ending::Outcome as Wire;
        let outcome = match outcome {
            Outcome::Succeeded { code } => Wire::Succeeded(code.into()),
            Outcome::Failed { code, status } => Wire::Failed(v1::Failed { code: code.into(), status }),
            Outcome::Unknown { reason } => Wire::Unknown(reason),
            Outcome::Cancelled => Wire::Cancelled(v1::Nothing {}),
            Outcome::Expired => Wire::Expired(v1::Nothing {}),
        };
        Self { outcome: Some(outcome), took_ms: millis(took) }
    }
}

// === ResultsDown ⇄ wire ===

impl TryFrom<v1::ResultsDown> for ResultsDown {
    type Error = InvalidMessage;
    fn try_from(
        v1::ResultsDown { operation, credit, done }: v1::ResultsDown,
    ) -> Result<Self, InvalidMessage> {
        let operation = id("results.operation", &operation)?;
        Ok(if done { Self::Done(operation) } else { Self::Credit(operation, credit) })
    }
}

impl From<ResultsDown> for v1::ResultsDown {
    fn from(down: ResultsDown) -> Self {
        let (operation, credit, done) = match down {
            ResultsDown::Credit(operation, credit) => (operation, credit, false),
            ResultsDown::Done(operation) => (operation, 0, true),
        };
        Self { operation: operation.to_string(), credit, done }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_outcome_survives_the_wire() {
        let outcomes = [
            Outcome::Succeeded { code: 201 },
            Outcome::Failed { code: 422, status: Bytes::from_static(b"{\"kind\":\"Status\"}") },
            Outcome::Unknown { reason: "the agent died".into() },
            Outcome::Cancelled,
            Outcome::Expired,
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
    fn an_answer_that_ends_without_an_outcome_is_refused() {
        let wire = v1::ResultsUp { operation: OperationId::fresh().to_string(), ..v1::ResultsUp::default() };
        assert_eq!(ResultPart::try_from(wire).unwrap_err().to_string(), "results.ending: is missing");
    }

    #[test]
    fn what_the_hub_says_survives_the_wire() {
        let operation = OperationId::fresh();
        for down in [ResultsDown::Credit(operation, 1 << 40), ResultsDown::Done(operation)] {
            assert_eq!(ResultsDown::try_from(v1::ResultsDown::from(down)), Ok(down));
        }
    }
}
