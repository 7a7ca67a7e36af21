//! Cuts a body into lines as its bytes arrive.

use bytes::Bytes;

/// Cuts chunks of bytes into lines; which lines come out does not depend on where the chunks were cut.
///
/// It holds at most one chunk and one unfinished line, and nothing between two lines: a silent watch costs no buffer.
#[derive(Debug)]
pub struct LineSplitter {
    longest: usize,
    chunk: Bytes,
    unfinished: Vec<u8>,
    /// The length of the unfinished line so far; more than is in `unfinished` if it is too long to be kept.
    length: usize,
}

/// One line, without its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    /// The line's bytes, never none.
    Whole(Bytes),
    /// The line was longer than allowed, and its bytes are gone.
    TooLong {
        /// How long it was.
        bytes: usize,
    },
}

// === impl LineSplitter ===

impl LineSplitter {
    /// A splitter that gives lines of up to `longest` bytes.
    pub fn new(longest: usize) -> Self {
        Self { longest, chunk: Bytes::new(), unfinished: Vec::new(), length: 0 }
    }

    /// Takes the next chunk; the lines of the one before must have been taken out.
    pub fn push(&mut self, chunk: Bytes) {
        debug_assert!(self.chunk.is_empty(), "the last chunk's lines were not taken out");
        self.chunk = chunk;
    }

    /// The next complete line; none when another chunk is needed. Empty lines are passed over.
    ///
    /// What follows the last newline of a body never becomes a line: it was cut off.
    pub fn next_line(&mut self) -> Option<Line> {
        loop {
            let Some(end) = self.chunk.iter().position(|byte| *byte == b'\n') else {
                let rest = std::mem::take(&mut self.chunk);
                self.append(&rest);
                return None;
            };
            let head = self.chunk.split_to(end);
            // The newline.
            self.chunk = self.chunk.slice(1..);
            if self.length == 0 && head.len() <= self.longest {
                if !head.is_empty() {
                    return Some(Line::Whole(head));
                }
            } else {
                self.append(&head);
                return self.take_unfinished();
            }
        }
    }

    fn append(&mut self, bytes: &[u8]) {
        self.length += bytes.len();
        if self.length <= self.longest {
            self.unfinished.extend_from_slice(bytes);
        } else {
            self.unfinished = Vec::new();
        }
    }

    fn take_unfinished(&mut self) -> Option<Line> {
        let bytes = std::mem::take(&mut self.length);
        let unfinished = std::mem::take(&mut self.unfinished);
        match bytes {
            0 => None,
            _ if bytes <= self.longest => Some(Line::Whole(unfinished.into())),
            _ => Some(Line::TooLong { bytes }),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LONGEST: usize = 8;

    /// What must come out, by the simplest means.
    fn expected(body: &[u8]) -> Vec<Line> {
        let complete =
            body.split_inclusive(|byte| *byte == b'\n').filter_map(|line| line.strip_suffix(b"\n"));
        complete
            .filter(|line| !line.is_empty())
            .map(|line| match line.len() {
                ..=LONGEST => Line::Whole(Bytes::copy_from_slice(line)),
                bytes => Line::TooLong { bytes },
            })
            .collect()
    }

    fn split<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> Vec<Line> {
        let mut splitter = LineSplitter::new(LONGEST);
        let mut lines = Vec::new();
        for chunk in chunks {
            splitter.push(Bytes::copy_from_slice(chunk));
            lines.extend(std::iter::from_fn(|| splitter.next_line()));
            assert!(splitter.unfinished.len() <= LONGEST);
        }
        lines
    }

    #[test]
    fn a_line_that_is_too_long_is_skipped_and_the_next_ones_are_not() {
        let body = b"one\n0123456789\ntwo\n\n\n01234567\nrest";
        let lines = split([&body[..]]);
        assert_eq!(lines, expected(body));
        assert_eq!(lines[1], Line::TooLong { bytes: 10 });
        assert_eq!(lines.last(), Some(&Line::Whole("01234567".into())));
    }

    proptest! {
        #[test]
        fn the_lines_do_not_depend_on_the_chunks(
            body in prop::collection::vec(prop_oneof![2 => Just(b'\n'), 8 => any::<u8>()], 0..200),
            sizes in prop::collection::vec(0_usize..30, 1..60),
        ) {
            let mut rest = &body[..];
            let mut chunks = Vec::new();
            for size in sizes {
                let (chunk, left) = rest.split_at(size.min(rest.len()));
                chunks.push(chunk);
                rest = left;
            }
            chunks.push(rest);
            prop_assert_eq!(split(chunks), expected(&body));
        }
    }
}
