//! Decompression of a body while it arrives.

use std::io::{self, Write};

use bytes::Bytes;
use flate2::write::GzDecoder;

/// Decompresses gzip piece by piece; other bodies pass unchanged.
#[derive(Default)]
pub(crate) struct Decompressor {
    encoding: Encoding,
    packed: Bytes,
}

#[derive(Default)]
enum Encoding {
    /// Nothing has arrived yet.
    #[default]
    Undecided,
    Plain,
    Gzip(Box<GzDecoder<Vec<u8>>>),
}

/// First byte of gzip; no JSON begins with it.
const GZIP: u8 = 0x1f;

/// Bytes that are decompressed at once: JSON grows by a factor of 10 to 20, any data by at most about 1,000.
const PIECE: usize = 2 * 1024;

// === impl Decompressor ===

impl Decompressor {
    /// Adds the next chunk; all pieces of the previous one must have been taken.
    pub(crate) fn push(&mut self, chunk: Bytes) {
        debug_assert!(self.packed.is_empty(), "the last chunk was not read to its end");
        if let (Encoding::Undecided, Some(first)) = (&self.encoding, chunk.first()) {
            self.encoding = match *first {
                GZIP => Encoding::Gzip(Box::new(GzDecoder::new(Vec::new()))),
                _ => Encoding::Plain,
            };
        }
        self.packed = chunk;
    }

    /// Returns the next piece; none if another chunk is needed.
    pub(crate) fn next_piece(&mut self) -> io::Result<Option<Bytes>> {
        let Encoding::Gzip(decoder) = &mut self.encoding else {
            let plain = std::mem::take(&mut self.packed);
            return Ok((!plain.is_empty()).then_some(plain));
        };
        while !self.packed.is_empty() {
            let packed = self.packed.split_to(self.packed.len().min(PIECE));
            decoder.write_all(&packed)?;
            decoder.flush()?;
            let piece = std::mem::take(decoder.get_mut());
            if !piece.is_empty() {
                return Ok(Some(piece.into()));
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use flate2::{Compression, write::GzEncoder};
    use proptest::prelude::*;

    use super::*;

    fn gzip(plain: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(plain).unwrap();
        encoder.finish().unwrap()
    }

    fn unpack(body: &[u8], chunk: usize) -> io::Result<(Vec<u8>, usize)> {
        let (mut decompressor, mut plain, mut longest) = (Decompressor::default(), Vec::new(), 0);
        for chunk in body.chunks(chunk) {
            decompressor.push(Bytes::copy_from_slice(chunk));
            while let Some(piece) = decompressor.next_piece()? {
                longest = longest.max(piece.len());
                plain.extend_from_slice(&piece);
            }
        }
        Ok((plain, longest))
    }

    #[test]
    fn a_body_that_grows_by_a_thousand_is_unpacked_in_bounded_pieces() {
        let plain = vec![b' '; 64 << 20];
        let (unpacked, longest) = unpack(&gzip(&plain), 16 * 1024).unwrap();
        assert!(unpacked == plain);
        assert!(longest < 4 << 20, "a piece of {longest} bytes");
    }

    #[test]
    fn broken_gzip_is_an_error() {
        assert!(unpack(b"\x1f\x8bnonsense and more of it", 4).is_err());
    }

    proptest! {
        #[test]
        fn every_body_comes_out_as_it_was(plain in "\\PC{0,300}", chunk in 1_usize..40) {
            prop_assert_eq!(&unpack(&gzip(plain.as_bytes()), chunk).unwrap().0, plain.as_bytes());
            prop_assert_eq!(&unpack(plain.as_bytes(), chunk).unwrap().0, plain.as_bytes());
        }
    }
}
