//! Operations on the way to the agent: split into parts, and assembled again.

use std::{collections::HashMap, time::Duration};

use bytes::Bytes;
use spindrift_model::{AccountName, OperationId};

use crate::{CHUNK_BYTES, InvalidMessage, LARGEST_MESSAGE_BYTES, invalid::name, register::millis, v1};

/// Part of an operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperationPart {
    /// Id of the operation.
    pub operation: OperationId,
    /// With the first part: account, and time until the deadline.
    pub head: Option<(AccountName, Duration)>,
    /// The next bytes of the verb.
    pub chunk: Bytes,
    /// Set if more parts follow.
    pub more: bool,
}

/// Operation on the wire, with its verb in JSON: a newer hub may send one that this agent does not implement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncodedOperation {
    /// Id.
    pub id: OperationId,
    /// Account.
    pub account: AccountName,
    /// Time until its deadline.
    pub time_left: Duration,
    /// Verb in JSON.
    pub verb: Bytes,
}

/// Assembles operations from their parts; parts of several operations may be interleaved.
#[derive(Debug, Default)]
pub struct Operations {
    partial: HashMap<OperationId, Partial>,
    bytes: usize,
}

#[derive(Debug)]
struct Partial {
    account: AccountName,
    time_left: Duration,
    verb: Vec<u8>,
}

// === impl EncodedOperation ===

impl EncodedOperation {
    /// Splits it into parts.
    pub fn parts(self) -> impl Iterator<Item = OperationPart> {
        let Self { id: operation, account, time_left, verb: mut rest } = self;
        let mut head = Some((account, time_left));
        let mut done = false;
        std::iter::from_fn(move || {
            if done {
                return None;
            }
            let chunk = rest.split_to(rest.len().min(CHUNK_BYTES));
            done = rest.is_empty();
            Some(OperationPart { operation, head: head.take(), chunk, more: !done })
        })
    }
}

// === impl Operations ===

impl Operations {
    /// Adds the next part; returns the operation if that was the last one.
    pub fn push(&mut self, part: OperationPart) -> Result<Option<EncodedOperation>, InvalidMessage> {
        let OperationPart { operation, head, chunk, more } = part;
        let mut partial = match (head, self.partial.remove(&operation)) {
            // The hub restarts an operation that it had sent in part.
            (Some((account, time_left)), before) => {
                self.bytes -= before.map_or(0, |before| before.verb.len());
                Partial { account, time_left, verb: Vec::new() }
            }
            (None, Some(partial)) => partial,
            (None, None) => return Err(InvalidMessage::missing("operation.account")),
        };
        if self.bytes + chunk.len() > LARGEST_MESSAGE_BYTES {
            self.bytes -= partial.verb.len();
            let expected = format!("operations in parts exceed {LARGEST_MESSAGE_BYTES} bytes");
            return Err(InvalidMessage::new("operation.chunk", expected));
        }
        if more {
            self.bytes += chunk.len();
            partial.verb.extend_from_slice(&chunk);
            self.partial.insert(operation, partial);
            return Ok(None);
        }
        self.bytes -= partial.verb.len();
        let Partial { account, time_left, mut verb } = partial;
        let verb = if verb.is_empty() {
            chunk
        } else {
            verb.extend_from_slice(&chunk);
            verb.into()
        };
        Ok(Some(EncodedOperation { id: operation, account, time_left, verb }))
    }
}

// === OperationPart ⇄ wire ===

impl TryFrom<v1::OperationPart> for OperationPart {
    type Error = InvalidMessage;
    fn try_from(wire: v1::OperationPart) -> Result<Self, InvalidMessage> {
        let v1::OperationPart { operation, account, time_left_ms, chunk, more } = wire;
        let head = if account.is_empty() {
            None
        } else {
            Some((name("operation.account", &account)?, Duration::from_millis(time_left_ms)))
        };
        Ok(Self { operation: id("operation.operation", &operation)?, head, chunk, more })
    }
}

impl From<OperationPart> for v1::OperationPart {
    fn from(OperationPart { operation, head, chunk, more }: OperationPart) -> Self {
        let (account, time_left_ms) = match head {
            Some((account, time_left)) => (account.to_string(), millis(time_left)),
            None => Default::default(),
        };
        Self { operation: operation.to_string(), account, time_left_ms, chunk, more }
    }
}

pub(crate) fn id(field: &str, value: &str) -> Result<OperationId, InvalidMessage> {
    value
        .parse()
        .map_err(|error: spindrift_model::InvalidOperationId| InvalidMessage::new(field, error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(size: usize) -> EncodedOperation {
        EncodedOperation {
            id: OperationId::fresh(),
            account: AccountName::parse("prod").unwrap(),
            time_left: Duration::from_secs(30),
            verb: vec![b'x'; size].into(),
        }
    }

    #[test]
    fn operations_of_any_size_arrive_even_if_their_parts_are_interleaved() {
        let sent = [request(0), request(5), request(CHUNK_BYTES), request(3 * CHUNK_BYTES + 1)];
        let mut parts: Vec<_> =
            sent.iter().map(|request| request.clone().parts().collect::<Vec<_>>().into_iter()).collect();
        let mut operations = Operations::default();
        let mut arrived = Vec::new();
        while parts.iter().any(|parts| parts.len() > 0) {
            for part in parts.iter_mut().filter_map(Iterator::next) {
                let part = OperationPart::try_from(v1::OperationPart::from(part)).unwrap();
                arrived.extend(operations.push(part).unwrap());
            }
        }
        assert_eq!(arrived.len(), sent.len());
        assert!(sent.iter().all(|request| arrived.contains(request)));
        assert_eq!(operations.bytes, 0);
    }

    #[test]
    fn endless_and_headless_operations_are_refused() {
        let mut operations = Operations::default();
        let part = |head| OperationPart {
            operation: OperationId::fresh(),
            head,
            chunk: vec![0; CHUNK_BYTES].into(),
            more: true,
        };
        assert!(operations.push(part(None)).unwrap_err().to_string().contains("account"));
        let head = || Some((AccountName::parse("prod").unwrap(), Duration::ZERO));
        let refused =
            (0..=LARGEST_MESSAGE_BYTES / CHUNK_BYTES).find_map(|_| operations.push(part(head())).err());
        assert!(refused.expect("refused at the limit").to_string().contains("exceed"));
    }
}
