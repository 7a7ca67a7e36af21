//! Chunks: a message larger than one gRPC message is split, so that its limit is none for objects.

use bytes::Bytes;
use prost::Message;

use crate::{Compressor, Decompressor, Dictionary, InvalidMessage, v1};

/// Largest chunk; far below gRPC's usual limit of 4 MiB, and small enough that other streams of the connection
/// get their turn.
pub const CHUNK_BYTES: usize = 256 * 1024;

/// Largest message that is put together again. An API server takes objects of about 3 MiB at the most, and a batch
/// holds at most one object beyond its usual size.
pub const LARGEST_MESSAGE_BYTES: usize = 32 * 1024 * 1024;

/// Cuts the messages of one channel into chunks, compressed if both sides agreed to.
#[derive(Debug)]
pub struct Cutter {
    compressor: Option<Compressor>,
}

/// Puts the chunks of one channel together again, one message at a time.
#[derive(Debug)]
pub struct Assembler {
    decompressor: Option<Decompressor>,
    partial: Vec<u8>,
}

// === impl Cutter ===

impl Cutter {
    /// For one channel, on which this was agreed.
    pub fn new(dictionary: Option<Dictionary>) -> Self {
        Self { compressor: dictionary.map(Compressor::new) }
    }

    /// Cuts a message into chunks, in order.
    pub fn cut(&mut self, message: &v1::EventsMessage) -> impl Iterator<Item = v1::EventsUp> + use<> {
        let mut bytes = message.encode_to_vec();
        if let Some(compressor) = &mut self.compressor {
            bytes = compressor.compress(&bytes);
        }
        let mut rest = Bytes::from(bytes);
        let mut done = false;
        std::iter::from_fn(move || {
            if done {
                return None;
            }
            let chunk = rest.split_to(rest.len().min(CHUNK_BYTES));
            done = rest.is_empty();
            Some(v1::EventsUp { chunk, more: !done, heartbeat: false })
        })
    }

    /// Whether a context is held that [`Cutter::fall_idle`] would let go of.
    pub fn is_open(&self) -> bool {
        self.compressor.as_ref().is_some_and(Compressor::is_open)
    }

    /// Ends the open frame of an idle channel.
    pub fn fall_idle(&mut self) -> Option<v1::EventsUp> {
        let chunk = self.compressor.as_mut()?.end()?.into();
        Some(v1::EventsUp { chunk, more: false, heartbeat: false })
    }
}

// === impl Assembler ===

impl Assembler {
    /// For one channel, on which this was agreed.
    pub fn new(dictionary: Option<Dictionary>) -> Self {
        Self { decompressor: dictionary.map(Decompressor::new), partial: Vec::new() }
    }

    /// Takes the next chunk; gives the message when it was the last one.
    pub fn push(&mut self, frame: v1::EventsUp) -> Result<Option<v1::EventsMessage>, InvalidMessage> {
        let v1::EventsUp { chunk, more, heartbeat } = frame;
        // Not part of any message; those who answer heartbeats have done so.
        if heartbeat {
            return Ok(None);
        }
        let whole = match &mut self.decompressor {
            None if self.partial.is_empty() && !more => chunk,
            None => {
                if self.partial.len() + chunk.len() > LARGEST_MESSAGE_BYTES {
                    let expected = format!("message exceeds {LARGEST_MESSAGE_BYTES} bytes");
                    return Err(InvalidMessage::new("events.chunk", expected));
                }
                self.partial.extend_from_slice(&chunk);
                if more {
                    return Ok(None);
                }
                std::mem::take(&mut self.partial).into()
            }
            Some(decompressor) => {
                decompressor.decompress(&chunk, &mut self.partial, LARGEST_MESSAGE_BYTES)?;
                // No bytes at all: the channel fell idle.
                if more || self.partial.is_empty() {
                    return Ok(None);
                }
                std::mem::take(&mut self.partial).into()
            }
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
        let body: Vec<u8> = (0..size).map(|i| u8::try_from(i * i % 251).unwrap()).collect();
        let upsert = v1::Upsert { body: body.into(), name: "large".into(), ..v1::Upsert::default() };
        let items = vec![v1::Item { item: Some(v1::item::Item::Upsert(upsert)) }];
        let batch = v1::Batch { account: "a".into(), epoch: 1, seq: 2, items };
        v1::EventsMessage { message: Some(v1::events_message::Message::Batch(batch)) }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn messages_of_any_size_arrive_as_they_were_sent(
            sizes in prop::collection::vec(0usize..900_000, 1..4),
            compressed in any::<bool>(),
            pause in any::<bool>(),
        ) {
            let agreed = Dictionary::choose(&Dictionary::offer()).filter(|_| compressed);
            let (mut cutter, mut assembler) = (Cutter::new(agreed), Assembler::new(agreed));
            for size in sizes {
                let sent = message(size);
                let mut arrived = None;
                for frame in cutter.cut(&sent) {
                    prop_assert!(frame.chunk.len() <= CHUNK_BYTES);
                    prop_assert!(arrived.is_none(), "nothing follows the last chunk");
                    arrived = assembler.push(frame).unwrap();
                }
                prop_assert_eq!(arrived, Some(sent));
                prop_assert_eq!(cutter.is_open(), compressed);
                if pause && let Some(end) = cutter.fall_idle() {
                    prop_assert_eq!(assembler.push(end), Ok(None));
                }
            }
        }
    }

    #[test]
    fn an_endless_message_is_refused_before_it_fills_memory() {
        let mut assembler = Assembler::new(None);
        let chunk = Bytes::from(vec![0; CHUNK_BYTES]);
        let error = (0..=LARGEST_MESSAGE_BYTES / CHUNK_BYTES)
            .find_map(|_| {
                assembler.push(v1::EventsUp { chunk: chunk.clone(), more: true, heartbeat: false }).err()
            })
            .expect("refused at the limit");
        assert!(error.to_string().contains("exceeds"), "{error}");
    }

    #[test]
    fn what_was_not_agreed_upon_is_refused() {
        let agreed = Dictionary::choose(&Dictionary::offer());
        for (cut, assembled) in [(agreed, None), (None, agreed)] {
            let mut assembler = Assembler::new(assembled);
            let error = Cutter::new(cut).cut(&message(99)).find_map(|frame| assembler.push(frame).err());
            let error = error.expect("refused").to_string();
            assert!(error.starts_with("events.chunk: is not "), "{error}");
        }
    }
}
