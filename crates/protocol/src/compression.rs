//! Compression of the Events channel: zstd, with one context until the channel is idle.
//!
//! Recent messages are in the window, and common JSON of Kubernetes is in the dictionary: a single update of a pod
//! costs some hundred bytes. A frame ends when the channel falls idle, so that neither side holds the contexts of silent
//! agents (about 1.3 MB here, 0.6 MB there); the next message begins another one, primed with the dictionary.

mod contexts;
mod dictionary;

use std::time::Duration;

use zstd::zstd_safe::{CCtx, CParameter, InBuffer, OutBuffer, get_error_name, zstd_sys::ZSTD_EndDirective};

use crate::InvalidMessage;
use contexts::PooledContext;
pub use dictionary::Dictionary;

/// Higher levels save a fifth, at a third of the speed and more memory.
pub const LEVEL: i32 = 3;

/// Window that both sides keep: 128 KiB, some twenty pods. A hub refuses larger ones.
pub const WINDOW_LOG: u32 = 17;

/// Time after which an idle channel ends its frame. An update after that costs some hundred bytes more.
pub const IDLE_FRAME: Duration = Duration::from_secs(3);

/// Output is made in steps of this size: most messages are compressed into fewer bytes.
const COMPRESSED_STEP: usize = 8 * 1024;

/// Output is made in steps of this size, which is zstd's own block.
const DECOMPRESSED_STEP: usize = 128 * 1024;

/// Output of a step of a large message, which is some milliseconds of work.
const LARGEST_STEP: usize = 4 * 1024 * 1024;

/// The agent's end: messages in, bytes of a zstd stream out.
pub struct Compressor {
    dictionary: Dictionary,
    /// There while a frame is open.
    context: Option<CCtx<'static>>,
}

/// The hub's end: bytes of a zstd stream in, messages out.
pub struct Decompressor {
    dictionary: Dictionary,
    /// There while a frame is open.
    context: Option<PooledContext>,
}

/// Result of one step of the decompression of a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Progress {
    /// The chunk has more output.
    Unfinished,
    /// The chunk was read whole.
    Done,
}

// === impl Compressor ===

impl Compressor {
    /// For one channel.
    pub fn new(dictionary: Dictionary) -> Self {
        Self { dictionary, context: None }
    }

    /// Compresses a message so that the other side can read it whole, without waiting for the next.
    pub fn compress(&mut self, message: &[u8]) -> Vec<u8> {
        let dictionary = self.dictionary;
        let context = self.context.get_or_insert_with(|| {
            let mut context = CCtx::create();
            for parameter in [CParameter::WindowLog(WINDOW_LOG), CParameter::ContentSizeFlag(false)] {
                context.set_parameter(parameter).expect("a parameter that every zstd knows");
            }
            context.ref_cdict(dictionary.compressing()).expect("a context that was not used");
            context
        });
        run(context, message, ZSTD_EndDirective::ZSTD_e_flush)
    }

    /// Whether a frame is open.
    pub fn is_open(&self) -> bool {
        self.context.is_some()
    }

    /// Ends the frame, if one is open, and lets go of its context; gives the last bytes of it.
    pub fn end(&mut self) -> Option<Vec<u8>> {
        let mut context = self.context.take()?;
        Some(run(&mut context, &[], ZSTD_EndDirective::ZSTD_e_end))
    }

    /// Memory of the context.
    pub fn memory(&self) -> usize {
        self.context.as_ref().map_or(0, CCtx::sizeof)
    }
}

/// Runs until all is written that the directive asks for.
fn run(context: &mut CCtx<'_>, message: &[u8], directive: ZSTD_EndDirective) -> Vec<u8> {
    let mut compressed = Vec::new();
    let mut input = InBuffer::around(message);
    loop {
        compressed.reserve(COMPRESSED_STEP);
        let written = compressed.len();
        let mut output = OutBuffer::around_pos(&mut compressed, written);
        let left = context.compress_stream2(&mut output, &mut input, directive);
        // It fails for want of memory, or for a misuse that does not depend on the message.
        if left.expect("zstd compresses whatever bytes there are") == 0 {
            return compressed;
        }
    }
}

// === impl Decompressor ===

impl Decompressor {
    /// For one channel.
    pub fn new(dictionary: Dictionary) -> Self {
        Self { dictionary, context: None }
    }

    /// Adds the content of a chunk to the message so far, which may not grow beyond `most` bytes.
    pub fn decompress(
        &mut self,
        chunk: &[u8],
        message: &mut Vec<u8>,
        most: usize,
    ) -> Result<(), InvalidMessage> {
        let mut rest = chunk;
        while self.step(&mut rest, message, most)? == Progress::Unfinished {}
        Ok(())
    }

    /// Decompresses a few mebibytes at most, and moves the start of the chunk past the bytes that it has read. A chunk
    /// of some hundred bytes may hold 32 MiB; between the steps, other work can go on.
    ///
    /// A frame ends only where an idle channel ends it, in a chunk of its own. So nothing follows the end of a frame: a
    /// chunk takes one context at most, however many empty frames would fit into it.
    pub(crate) fn step(
        &mut self,
        chunk: &mut &[u8],
        message: &mut Vec<u8>,
        most: usize,
    ) -> Result<Progress, InvalidMessage> {
        if chunk.is_empty() && self.context.is_none() {
            return Ok(Progress::Done);
        }
        let dictionary = self.dictionary;
        let context = self.context.get_or_insert_with(|| PooledContext::take(dictionary));
        if message.len() == message.capacity() {
            let growth = message.len().clamp(DECOMPRESSED_STEP, LARGEST_STEP);
            message.reserve_exact(growth.min(most.saturating_sub(message.len()) + 1));
        }
        let bytes = *chunk;
        let mut input = InBuffer::around(bytes);
        let written = message.len();
        let mut output = OutBuffer::around_pos(message, written);
        let step = context.decompress_stream(&mut output, &mut input);
        let full = output.pos() == output.capacity();
        let (_, rest) = bytes.split_at(input.pos());
        *chunk = rest;
        if message.len() > most {
            return Err(InvalidMessage::new("events.chunk", format!("message exceeds {most} bytes")));
        }
        match step {
            Ok(0) => {
                self.context = None;
                if !chunk.is_empty() {
                    let (rest, expected) = (chunk.len(), "expected nothing after the end of a zstd frame");
                    return Err(InvalidMessage::new("events.chunk", format!("{expected}, got {rest} bytes")));
                }
                Ok(Progress::Done)
            }
            Ok(_) if full => Ok(Progress::Unfinished),
            Ok(_) => Ok(Progress::Done),
            Err(code) => {
                let (id, reason) = (dictionary.id(), get_error_name(code));
                let expected = format!("is not zstd with dictionary {id}: {reason}");
                Err(InvalidMessage::new("events.chunk", expected))
            }
        }
    }

    /// Memory of the context.
    pub fn memory(&self) -> usize {
        self.context.as_ref().map_or(0, |context| context.sizeof())
    }
}

impl std::fmt::Debug for Compressor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Compressor")
            .field("dictionary", &self.dictionary)
            .field("open", &self.is_open())
            .finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Decompressor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let open = self.context.is_some();
        f.debug_struct("Decompressor")
            .field("dictionary", &self.dictionary)
            .field("open", &open)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
