//! Cuts the body of a watch into events as its bytes arrive.

use bytes::Bytes;
use memchr::memchr;

use crate::{
    json::{
        Malformed,
        filter::{Item, Sieve, Sifted},
        path::Step,
    },
    scrub::{LONGEST, ScrubRules},
    stream::{chunk::Chunk, event::Event},
};

/// Cuts chunks of bytes into events, one per line; which events come out does not depend on where the chunks were cut.
///
/// It holds at most one chunk and what passed of one unfinished line, and nothing between two lines: a silent watch
/// costs no buffer.
#[derive(Debug)]
pub struct EventSplitter {
    rules: ScrubRules,
    sieve: Sieve,
    chunk: Chunk,
    line: Line,
}

/// The unfinished line.
#[derive(Debug, Default)]
struct Line {
    length: usize,
    objects: usize,
    problem: Option<Malformed>,
}

// === impl EventSplitter ===

impl EventSplitter {
    /// A splitter whose objects are scrubbed by these rules.
    pub fn new(rules: ScrubRules) -> Self {
        Self::with_longest(rules, LONGEST)
    }

    fn with_longest(rules: ScrubRules, longest: usize) -> Self {
        let sieve = Sieve::new(rules.mesh(&[Step::Member("object".into())]), longest);
        Self { rules, sieve, chunk: Chunk::default(), line: Line::default() }
    }

    /// Takes the next chunk; the events of the one before must have been taken out.
    pub fn push(&mut self, chunk: Bytes) {
        self.chunk.replace(chunk);
    }

    /// The next event; none when another chunk is needed. Empty lines are passed over.
    ///
    /// What follows the last newline of a body never becomes an event: it was cut off.
    pub fn next_event(&mut self) -> Option<Event> {
        loop {
            let rest = self.chunk.rest();
            if rest.is_empty() {
                self.chunk.finish(self.rules.keep_secrets());
                self.sieve.rest();
                return None;
            }
            let newline = memchr(b'\n', rest);
            let part = newline.unwrap_or(rest.len());
            self.line.read(&mut self.sieve, &rest[..part]);
            self.chunk.advance(part + usize::from(newline.is_some()));
            if newline.is_some() {
                let event = self.end_line();
                self.sieve.reset();
                self.line = Line::default();
                if event.is_some() {
                    return event;
                }
            }
        }
    }

    /// How many values were held back so far.
    pub fn held_back(&self) -> u64 {
        self.sieve.held_back()
    }

    fn end_line(&mut self) -> Option<Event> {
        let Line { length, objects, problem } = std::mem::take(&mut self.line);
        let is_empty = self.sieve.is_fresh() && problem.is_none();
        let event = match (problem, self.sieve.item()) {
            _ if is_empty => return None,
            (Some(problem), _) => Err(problem),
            (None, _) if !self.sieve.is_done() => Err(Malformed::Truncated),
            (None, _) if objects != 1 => Err(Malformed::NotOnce("object")),
            (None, Item::TooLong) => Err(Malformed::ObjectTooLong),
            (None, Item::Whole(object)) => Event::of_line(self.sieve.envelope(), object, &self.rules),
        };
        Some(event.unwrap_or_else(|problem| Event::unparseable(&problem, length)))
    }
}

// === impl Line ===

impl Line {
    fn read(&mut self, sieve: &mut Sieve, mut part: &[u8]) {
        self.length += part.len();
        while !part.is_empty() && self.problem.is_none() {
            match sieve.read(part) {
                Ok((read, sifted)) => {
                    part = &part[read..];
                    self.objects += usize::from(sifted == Some(Sifted::Item));
                }
                Err(problem) => self.problem = Some(problem),
            }
        }
    }
}

#[cfg(test)]
mod tests;
