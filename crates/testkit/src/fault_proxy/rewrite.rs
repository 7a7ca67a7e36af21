//! Replacement of bytes in a stream, wherever the reads happen to cut it.

use std::sync::Arc;

/// Bytes and their replacement; both have the same length, so that no frame around them breaks.
pub(super) struct Rewrite {
    from: Vec<u8>,
    to: Vec<u8>,
}

/// Applies a rewrite to one stream.
pub(super) struct Rewriter {
    rule: Arc<Rewrite>,
    /// End of the input, as long as it may be the beginning of a match.
    held: Vec<u8>,
}

// === impl Rewrite ===

impl Rewrite {
    pub(super) fn new(from: &[u8], to: &[u8]) -> Self {
        Self { from: from.to_vec(), to: to.to_vec() }
    }
}

// === impl Rewriter ===

impl Rewriter {
    pub(super) fn new(rule: Arc<Rewrite>) -> Self {
        Self { rule, held: Vec::new() }
    }

    pub(super) fn follows(&self, rule: &Arc<Rewrite>) -> bool {
        Arc::ptr_eq(&self.rule, rule)
    }

    pub(super) fn holds_something(&self) -> bool {
        !self.held.is_empty()
    }

    /// Takes input and returns the bytes that can be forwarded.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Vec<u8> {
        let Rewrite { from, to } = &*self.rule;
        self.held.extend_from_slice(bytes);
        let mut at = 0;
        while let Some(window) = self.held.get_mut(at..at + from.len()) {
            if window == from {
                window.copy_from_slice(to);
                at += from.len();
            } else {
                at += 1;
            }
        }
        while !from.starts_with(&self.held[at..]) {
            at += 1;
        }
        let rest = self.held.split_off(at);
        std::mem::replace(&mut self.held, rest)
    }

    /// Returns the held bytes, which become no match.
    pub(super) fn flush(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.held)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn match_is_found_wherever_the_stream_is_cut() {
        let stream = b"xabaabacab";
        for cut in 0..=stream.len() {
            let mut rewriter = Rewriter::new(Arc::new(Rewrite::new(b"abac", b"1234")));
            let (first, second) = stream.split_at(cut);
            let mut out = rewriter.push(first);
            out.extend(rewriter.push(second));
            out.extend(rewriter.flush());
            assert_eq!(out, b"xaba1234ab", "cut at {cut}");
        }
    }

    #[test]
    fn only_a_possible_beginning_is_held_back() {
        let mut rewriter = Rewriter::new(Arc::new(Rewrite::new(b"secret", b"******")));
        assert_eq!(rewriter.push(b"no match, but sec"), b"no match, but ");
        assert!(rewriter.holds_something());
        assert_eq!(rewriter.push(b"ond"), b"second");
        assert!(!rewriter.holds_something());
    }
}
