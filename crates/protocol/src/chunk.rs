//! Chunks: a message larger than one gRPC message is split, so that its limit is none for objects.

use bytes::{Buf, Bytes};
use prost::Message;

use crate::{
    Compressor, Decompressor, Dictionary, InvalidMessage, compression::Progress, elements::EVENTS, v1,
};

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
    /// Chunks of the current message, decompressed. The buffer stays for the next message while a frame is open.
    partial: Vec<u8>,
    /// Compressed bytes of the last chunk that are still to be read.
    chunk: Bytes,
    /// Set if chunks of the current message follow the last one.
    more: bool,
}

/// State of the message after a step of its assembly.
#[derive(Debug, Clone, PartialEq)]
pub enum Assembly {
    /// The last chunk has more content: the next step reads on.
    Working,
    /// The next chunk is needed.
    Incomplete,
    /// The message is complete.
    Message(v1::EventsMessage),
}

/// Buffer that an open frame keeps between messages: most messages fit, so each is copied to its exact size and none
/// holds more memory than its flow control counts.
const KEPT_BUFFER: usize = CHUNK_BYTES;

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
        let decompressor = dictionary.map(Decompressor::new);
        Self { decompressor, partial: Vec::new(), chunk: Bytes::new(), more: false }
    }

    /// Takes the next chunk; gives the message when it was the last one.
    pub fn push(&mut self, frame: v1::EventsUp) -> Result<Option<v1::EventsMessage>, InvalidMessage> {
        let mut assembly = self.accept(frame)?;
        loop {
            match assembly {
                Assembly::Working => assembly = self.step()?,
                Assembly::Incomplete => return Ok(None),
                Assembly::Message(message) => return Ok(Some(message)),
            }
        }
    }

    /// Takes the next chunk, to be read by [`Assembler::step`]; a heartbeat has nothing to read.
    pub fn accept(&mut self, frame: v1::EventsUp) -> Result<Assembly, InvalidMessage> {
        let v1::EventsUp { chunk, more, heartbeat } = frame;
        // Not part of any message; those who answer heartbeats have done so.
        if heartbeat {
            return Ok(Assembly::Incomplete);
        }
        if chunk.len() > CHUNK_BYTES {
            let expected = format!("expected at most {CHUNK_BYTES} bytes, got {}", chunk.len());
            return Err(InvalidMessage::new("events.chunk", expected));
        }
        (self.chunk, self.more) = (chunk, more);
        Ok(Assembly::Working)
    }

    /// Reads a part of the chunk that was accepted last: some milliseconds of work, however large its content.
    pub fn step(&mut self) -> Result<Assembly, InvalidMessage> {
        let whole = match &mut self.decompressor {
            None if self.partial.is_empty() && !self.more => std::mem::take(&mut self.chunk),
            None => {
                let chunk = std::mem::take(&mut self.chunk);
                if self.partial.len() + chunk.len() > LARGEST_MESSAGE_BYTES {
                    let expected = format!("message exceeds {LARGEST_MESSAGE_BYTES} bytes");
                    return Err(InvalidMessage::new("events.chunk", expected));
                }
                self.partial.extend_from_slice(&chunk);
                if self.more {
                    return Ok(Assembly::Incomplete);
                }
                std::mem::take(&mut self.partial).into()
            }
            Some(decompressor) => {
                let mut rest = &*self.chunk;
                let progress = decompressor.step(&mut rest, &mut self.partial, LARGEST_MESSAGE_BYTES)?;
                let read = self.chunk.len() - rest.len();
                self.chunk.advance(read);
                if progress == Progress::Unfinished {
                    return Ok(Assembly::Working);
                }
                self.chunk = Bytes::new();
                if self.more {
                    return Ok(Assembly::Incomplete);
                }
                if self.partial.is_empty() {
                    // No bytes at all: the channel fell idle.
                    self.partial = Vec::new();
                    return Ok(Assembly::Incomplete);
                }
                self.take_decompressed()
            }
        };
        EVENTS.check(&whole)?;
        v1::EventsMessage::decode(whole)
            .map(Assembly::Message)
            .map_err(|error| InvalidMessage::new("events.chunk", format!("is not an EventsMessage: {error}")))
    }

    /// Memory of a message whose last chunk has not arrived; none between messages.
    pub fn unfinished(&self) -> Option<usize> {
        self.more.then_some(self.partial.capacity())
    }

    fn take_decompressed(&mut self) -> Bytes {
        if self.partial.capacity() > KEPT_BUFFER {
            let mut whole = std::mem::take(&mut self.partial);
            whole.shrink_to_fit();
            return whole.into();
        }
        let whole = Bytes::copy_from_slice(&self.partial);
        self.partial.clear();
        whole
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
    fn a_chunk_larger_than_agents_send_is_refused() {
        let chunk = Bytes::from(vec![0; CHUNK_BYTES + 1]);
        for agreed in [None, Dictionary::choose(&Dictionary::offer())] {
            let frame = v1::EventsUp { chunk: chunk.clone(), more: true, heartbeat: false };
            let error = Assembler::new(agreed).push(frame).unwrap_err().to_string();
            assert_eq!(error, "events.chunk: expected at most 262144 bytes, got 262145");
        }
    }

    #[test]
    fn a_small_message_holds_no_large_buffer() {
        let agreed = Dictionary::choose(&Dictionary::offer());
        let (mut cutter, mut assembler) = (Cutter::new(agreed), Assembler::new(agreed));
        let frame = cutter.cut(&message(99)).next().unwrap();
        let mut partial = Vec::new();
        Decompressor::new(agreed.unwrap()).decompress(&frame.chunk, &mut partial, 9999).unwrap();
        assembler.push(v1::EventsUp { more: true, ..frame }).unwrap();
        assert!(assembler.unfinished().unwrap() >= partial.len());
        let whole = assembler.take_decompressed();
        assert_eq!(whole.try_into_mut().unwrap().capacity(), partial.len());
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
