//! No message limit is the limit of an object: what is larger than one gRPC message travels in chunks.

use bytes::{Bytes, BytesMut};
use prost::Message;

use crate::{InvalidMessage, v1};

/// Largest chunk; far below gRPC's usual limit of 4 MiB, and small enough that other streams of the connection
/// get their turn.
pub const CHUNK_BYTES: usize = 256 * 1024;

/// Largest message that is put together again. An API server takes objects of about 3 MiB at the most, and a batch
/// holds at most one object beyond its usual size.
pub const LARGEST_MESSAGE_BYTES: usize = 32 * 1024 * 1024;

/// Puts chunks together again, one message at a time.
#[derive(Debug, Default)]
pub struct Assembler {
    partial: BytesMut,
}

/// Cuts an encoded message into chunks, in order.
pub fn chunks(message: &v1::EventsMessage) -> impl Iterator<Item = v1::EventsUp> + use<> {
    let mut rest = Bytes::from(message.encode_to_vec());
    let mut done = false;
    std::iter::from_fn(move || {
        if done {
            return None;
        }
        let chunk = rest.split_to(rest.len().min(CHUNK_BYTES));
        done = rest.is_empty();
        Some(v1::EventsUp { chunk, more: !done })
    })
}

// === impl Assembler ===

impl Assembler {
    /// Takes the next chunk; gives the message when it was the last one.
    pub fn push(&mut self, frame: v1::EventsUp) -> Result<Option<v1::EventsMessage>, InvalidMessage> {
        let v1::EventsUp { chunk, more } = frame;
        if self.partial.len() + chunk.len() > LARGEST_MESSAGE_BYTES {
            return Err(InvalidMessage::new(
                "events.chunk",
                format!("message exceeds {LARGEST_MESSAGE_BYTES} bytes"),
            ));
        }
        let whole = if self.partial.is_empty() && !more {
            chunk
        } else {
            self.partial.extend_from_slice(&chunk);
            if more {
                return Ok(None);
            }
            std::mem::take(&mut self.partial).freeze()
        };
        v1::EventsMessage::decode(whole)
            .map(Some)
            .map_err(|error| InvalidMessage::new("events.chunk", format!("is not an EventsMessage: {error}")))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn message(size: usize) -> v1::EventsMessage {
        let body = Bytes::from(vec![b'x'; size]);
        let upsert = v1::Upsert { body, name: "large".into(), ..v1::Upsert::default() };
        let items = vec![v1::Item { item: Some(v1::item::Item::Upsert(upsert)) }];
        let batch = v1::Batch { account: "a".into(), epoch: 1, seq: 2, items };
        v1::EventsMessage { message: Some(v1::events_message::Message::Batch(batch)) }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn messages_of_any_size_arrive_as_they_were_sent(sizes in prop::collection::vec(0usize..900_000, 1..4)) {
            let mut assembler = Assembler::default();
            for size in sizes {
                let sent = message(size);
                let mut arrived = None;
                for frame in chunks(&sent) {
                    prop_assert!(frame.chunk.len() <= CHUNK_BYTES);
                    prop_assert!(arrived.is_none(), "nothing follows the last chunk");
                    arrived = assembler.push(frame).unwrap();
                }
                prop_assert_eq!(arrived, Some(sent));
            }
        }
    }

    #[test]
    fn an_endless_message_is_refused_before_it_fills_memory() {
        let mut assembler = Assembler::default();
        let chunk = Bytes::from(vec![0; CHUNK_BYTES]);
        let error = (0..=LARGEST_MESSAGE_BYTES / CHUNK_BYTES)
            .find_map(|_| assembler.push(v1::EventsUp { chunk: chunk.clone(), more: true }).err())
            .expect("refused at the limit");
        assert!(error.to_string().contains("exceeds"), "{error}");
    }
}
