//! Undoes the compression of a body while it arrives.

use std::io::{self, Write};

use bytes::Bytes;
use flate2::write::GzDecoder;

/// Gives back what was compressed, piece by piece; what was not compressed passes as it is.
#[derive(Default)]
pub(crate) struct Unpacker {
    way: Way,
    packed: Bytes,
}

#[derive(Default)]
enum Way {
    /// Nothing has arrived yet.
    #[default]
    Undecided,
    Plain,
    Gzip(Box<GzDecoder<Vec<u8>>>),
}

/// The first byte of everything that gzip makes; no JSON begins with it.
const GZIP: u8 = 0x1f;

/// How much is unpacked at once: JSON grows by a factor of 10 to 20, nothing by more than about 1,000.
const PIECE: usize = 2 * 1024;

// === impl Unpacker ===

impl Unpacker {
    /// Takes the next chunk; the pieces of the one before must have been taken out.
    pub(crate) fn push(&mut self, chunk: Bytes) {
        debug_assert!(self.packed.is_empty(), "the last chunk was not unpacked to its end");
        if let (Way::Undecided, Some(first)) = (&self.way, chunk.first()) {
            self.way = match *first {
                GZIP => Way::Gzip(Box::new(GzDecoder::new(Vec::new()))),
                _ => Way::Plain,
            };
        }
        self.packed = chunk;
    }

    /// The next piece; none when another chunk is needed.
    pub(crate) fn next_piece(&mut self) -> io::Result<Option<Bytes>> {
        let Way::Gzip(decoder) = &mut self.way else {
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
        let (mut unpacker, mut plain, mut longest) = (Unpacker::default(), Vec::new(), 0);
        for chunk in body.chunks(chunk) {
            unpacker.push(Bytes::copy_from_slice(chunk));
            while let Some(piece) = unpacker.next_piece()? {
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
    fn what_is_not_gzip_after_all_is_an_error() {
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
