//! Splits the body of a watch into events as its bytes arrive.

use bytes::Bytes;
use memchr::memchr;

use crate::{
    json::{
        Malformed,
        filter::{FilterOutput, Item, JsonFilter},
        path::Step,
    },
    scrub::{LONGEST, ScrubRules},
    stream::{chunk::Chunk, event::Event},
};

/// Splits chunks of bytes into events, one per line, independent of the boundaries of the chunks.
///
/// It holds at most one chunk and the filtered part of one unfinished line, and nothing between two lines: an idle watch
/// has no buffer.
#[derive(Debug)]
pub struct EventSplitter {
    rules: ScrubRules,
    filter: JsonFilter,
    chunk: Chunk,
    line: Line,
}

/// Unfinished line.
#[derive(Debug, Default)]
struct Line {
    length: usize,
    objects: usize,
    problem: Option<Malformed>,
}

// === impl EventSplitter ===

impl EventSplitter {
    /// Creates a splitter that scrubs objects by these rules.
    pub fn new(rules: ScrubRules) -> Self {
        Self::with_longest(rules, LONGEST)
    }

    fn with_longest(rules: ScrubRules, longest: usize) -> Self {
        let filter = JsonFilter::new(rules.mask(&[Step::Member("object".into())]), longest);
        Self { rules, filter, chunk: Chunk::default(), line: Line::default() }
    }

    /// Adds the next chunk; all events of the previous one must have been taken.
    pub fn push(&mut self, chunk: Bytes) {
        self.chunk.replace(chunk);
    }

    /// Returns the next event; none if another chunk is needed. Empty lines are skipped.
    ///
    /// Bytes after the last newline of a body never become an event: that line is incomplete.
    pub fn next_event(&mut self) -> Option<Event> {
        loop {
            let rest = self.chunk.rest();
            if rest.is_empty() {
                self.chunk.finish(self.rules.cuts_secrets());
                self.filter.release_buffers();
                return None;
            }
            let newline = memchr(b'\n', rest);
            let part = newline.unwrap_or(rest.len());
            self.line.read(&mut self.filter, &rest[..part]);
            self.chunk.advance(part + usize::from(newline.is_some()));
            if newline.is_some() {
                let event = self.end_line();
                self.filter.reset();
                self.line = Line::default();
                if event.is_some() {
                    return event;
                }
            }
        }
    }

    /// Number of values cut or redacted so far.
    pub fn removed_values(&self) -> u64 {
        self.filter.removed_values()
    }

    fn end_line(&mut self) -> Option<Event> {
        let Line { length, objects, problem } = std::mem::take(&mut self.line);
        let is_empty = self.filter.is_fresh() && problem.is_none();
        let event = match (problem, self.filter.item()) {
            _ if is_empty => return None,
            (Some(problem), _) => Err(problem),
            (None, _) if !self.filter.is_done() => Err(Malformed::Truncated),
            (None, _) if objects != 1 => Err(Malformed::NotOnce("object")),
            (None, Item::TooLong) => Err(Malformed::ObjectTooLong),
            (None, Item::Whole(object)) => Event::of_line(self.filter.envelope(), object, &self.rules),
        };
        Some(event.unwrap_or_else(|problem| Event::unparseable(&problem, length)))
    }
}

// === impl Line ===

impl Line {
    fn read(&mut self, filter: &mut JsonFilter, mut part: &[u8]) {
        self.length += part.len();
        while !part.is_empty() && self.problem.is_none() {
            match filter.read(part) {
                Ok((read, output)) => {
                    part = &part[read..];
                    self.objects += usize::from(output == Some(FilterOutput::Item));
                }
                Err(problem) => self.problem = Some(problem),
            }
        }
    }
}

#[cfg(test)]
mod tests;
