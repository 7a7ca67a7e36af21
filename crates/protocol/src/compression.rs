//! Compression of the Events channel: zstd, with one context until the channel is idle.
//!
//! Recent messages are in the window, and common JSON of Kubernetes is in the dictionary: a single update of a pod
//! costs some hundred bytes. A frame ends when the channel falls idle, so that neither side holds the contexts of silent
//! agents (about 1.3 MB here, 0.6 MB there); the next message begins another one, primed with the dictionary.

mod dictionary;

use std::time::Duration;

use zstd::zstd_safe::{
    CCtx, CParameter, DCtx, DParameter, InBuffer, OutBuffer, get_error_name, zstd_sys::ZSTD_EndDirective,
};

use crate::InvalidMessage;
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
    context: Option<DCtx<'static>>,
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
        let mut input = InBuffer::around(chunk);
        while input.pos() < chunk.len() {
            self.frame(&mut input, message, most)?;
        }
        Ok(())
    }

    /// Goes on to the end of the input, or of the frame.
    fn frame(
        &mut self,
        input: &mut InBuffer<'_>,
        message: &mut Vec<u8>,
        most: usize,
    ) -> Result<(), InvalidMessage> {
        let dictionary = self.dictionary;
        let context = self.context.get_or_insert_with(|| {
            let mut context = DCtx::create();
            context
                .set_parameter(DParameter::WindowLogMax(WINDOW_LOG))
                .expect("a parameter that every zstd knows");
            context.ref_ddict(dictionary.decompressing()).expect("a context that was not used");
            context
        });
        loop {
            message.reserve(DECOMPRESSED_STEP.min(most.saturating_sub(message.len()) + 1));
            let written = message.len();
            let mut output = OutBuffer::around_pos(message, written);
            let step = context.decompress_stream(&mut output, input);
            let full = output.pos() == output.capacity();
            if message.len() > most {
                return Err(InvalidMessage::new("events.chunk", format!("message exceeds {most} bytes")));
            }
            match step {
                Ok(0) => {
                    self.context = None;
                    return Ok(());
                }
                Ok(_) if full => {}
                Ok(_) => return Ok(()),
                Err(code) => {
                    let id = dictionary.id();
                    let reason = get_error_name(code);
                    let expected = format!("is not zstd with dictionary {id}: {reason}");
                    return Err(InvalidMessage::new("events.chunk", expected));
                }
            }
        }
    }

    /// Memory of the context.
    pub fn memory(&self) -> usize {
        self.context.as_ref().map_or(0, DCtx::sizeof)
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
