//! Cuts one page of a list into objects as its bytes arrive.

use bytes::Bytes;
use serde::{Deserialize, de::IgnoredAny};
use spindrift_model::ResourceVersion;

use crate::{
    json::{
        Malformed,
        filter::{Item, Sieve, Sifted},
        path::Step,
    },
    scrub::{LONGEST, ScrubRules},
    stream::{chunk::Chunk, event::Event, object::RawObject},
};

/// Cuts chunks of a page into its objects, in whatever order the page's own fields come; it holds at most one chunk and
/// what passed of one unfinished object.
#[derive(Debug)]
pub struct PageSplitter {
    rules: ScrubRules,
    sieve: Sieve,
    chunk: Chunk,
}

/// What comes after a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PageEnd {
    /// Another page, which is asked for with this token.
    Continue(String),
    /// Nothing: the list is complete at this version.
    Complete(ResourceVersion),
}

/// A page without its objects.
#[derive(Deserialize)]
struct Envelope {
    metadata: Metadata,
    /// A Go list without items can be null.
    #[serde(rename = "items")]
    _items: Option<Vec<IgnoredAny>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    #[serde(default)]
    resource_version: String,
    #[serde(default)]
    r#continue: String,
}

// === impl PageSplitter ===

impl PageSplitter {
    /// A splitter whose objects are scrubbed by these rules.
    pub fn new(rules: ScrubRules) -> Self {
        Self::with_longest(rules, LONGEST)
    }

    fn with_longest(rules: ScrubRules, longest: usize) -> Self {
        let sieve = Sieve::new(rules.mesh(&[Step::Member("items".into()), Step::AnyElement]), longest);
        Self { rules, sieve, chunk: Chunk::default() }
    }

    /// Takes the next chunk; the objects of the one before must have been taken out.
    pub fn push(&mut self, chunk: Bytes) {
        self.chunk.replace(chunk);
    }

    /// The next object, or what cannot be read as one; none when another chunk is needed.
    ///
    /// A page that is no JSON is an error, since nobody knows where its next object begins.
    pub fn next_event(&mut self) -> Result<Option<Event>, Malformed> {
        loop {
            let rest = self.chunk.rest();
            if rest.is_empty() {
                self.chunk.finish(self.rules.keep_secrets());
                return Ok(None);
            }
            let (read, sifted) = self.sieve.read(rest)?;
            self.chunk.advance(read);
            if sifted == Some(Sifted::Item) {
                return Ok(Some(self.take_item()));
            }
        }
    }

    /// What comes after the page, once its body has ended.
    pub fn end(&self) -> Result<PageEnd, Malformed> {
        if !self.sieve.is_done() {
            return Err(Malformed::Truncated);
        }
        let Envelope { metadata, .. } = serde_json::from_slice(self.sieve.envelope())?;
        match metadata {
            Metadata { r#continue, .. } if !r#continue.is_empty() => Ok(PageEnd::Continue(r#continue)),
            Metadata { resource_version, .. } if resource_version.is_empty() => {
                Err(Malformed::Empty("metadata.resourceVersion"))
            }
            Metadata { resource_version, .. } => Ok(PageEnd::Complete(resource_version.into())),
        }
    }

    /// How many values were held back so far.
    pub fn held_back(&self) -> u64 {
        self.sieve.held_back()
    }

    fn take_item(&self) -> Event {
        let object = match self.sieve.item() {
            Item::Whole(object) => RawObject::read(object, &self.rules),
            Item::TooLong => Err(Malformed::ObjectTooLong),
        };
        match object {
            Ok(object) => Event::Object(object),
            Err(problem) => Event::unparseable(&problem, self.sieve.item_length()),
        }
    }
}

#[cfg(test)]
mod tests;
