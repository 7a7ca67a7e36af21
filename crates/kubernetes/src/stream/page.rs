//! Splits one page of a list into objects as its bytes arrive.

use bytes::Bytes;
use serde::{Deserialize, de::IgnoredAny};
use spindrift_model::ResourceVersion;

use crate::{
    json::{
        Malformed,
        filter::{FilterOutput, Item, JsonFilter},
        path::Step,
    },
    scrub::{LONGEST, ScrubRules},
    stream::{chunk::Chunk, event::Event, object::RawObject},
};

/// Splits chunks of a page into its objects, independent of the order of the page's own fields. It holds at most one
/// chunk and the filtered part of one unfinished object.
#[derive(Debug)]
pub struct PageSplitter {
    rules: ScrubRules,
    filter: JsonFilter,
    chunk: Chunk,
}

/// End of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PageEnd {
    /// Another page follows, which this token requests.
    Continue(String),
    /// The list is complete, at this version.
    Complete(ResourceVersion),
}

/// Page without its objects.
#[derive(Deserialize)]
struct PageEnvelope {
    metadata: PageMetadata,
    /// A Go list without items can be null.
    #[serde(rename = "items")]
    _items: Option<Vec<IgnoredAny>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PageMetadata {
    #[serde(default)]
    resource_version: String,
    #[serde(default)]
    r#continue: String,
}

// === impl PageSplitter ===

impl PageSplitter {
    /// Creates a splitter that scrubs objects by these rules.
    pub fn new(rules: ScrubRules) -> Self {
        Self::with_longest(rules, LONGEST)
    }

    fn with_longest(rules: ScrubRules, longest: usize) -> Self {
        let filter = JsonFilter::new(rules.mask(&[Step::Member("items".into()), Step::AnyElement]), longest);
        Self { rules, filter, chunk: Chunk::default() }
    }

    /// Adds the next chunk; all events of the previous one must have been taken.
    pub fn push(&mut self, chunk: Bytes) {
        self.chunk.replace(chunk);
    }

    /// Returns the next object, or an event for one that cannot be parsed; none if another chunk is needed.
    ///
    /// A page that is not JSON is an error, since the start of its next object is unknown.
    pub fn next_event(&mut self) -> Result<Option<Event>, Malformed> {
        loop {
            let rest = self.chunk.rest();
            if rest.is_empty() {
                self.chunk.finish(self.rules.cuts_secrets());
                return Ok(None);
            }
            let (read, output) = self.filter.read(rest)?;
            self.chunk.advance(read);
            if output == Some(FilterOutput::Item) {
                return Ok(Some(self.take_item()));
            }
        }
    }

    /// Returns the end of the page, after its body has ended.
    pub fn end(&self) -> Result<PageEnd, Malformed> {
        if !self.filter.is_done() {
            return Err(Malformed::Truncated);
        }
        let PageEnvelope { metadata, .. } = serde_json::from_slice(self.filter.envelope())?;
        match metadata {
            PageMetadata { r#continue, .. } if !r#continue.is_empty() => Ok(PageEnd::Continue(r#continue)),
            PageMetadata { resource_version, .. } if resource_version.is_empty() => {
                Err(Malformed::Empty("metadata.resourceVersion"))
            }
            PageMetadata { resource_version, .. } => Ok(PageEnd::Complete(resource_version.into())),
        }
    }

    /// Number of values cut or redacted so far.
    pub fn removed_values(&self) -> u64 {
        self.filter.removed_values()
    }

    fn take_item(&self) -> Event {
        let object = match self.filter.item() {
            Item::Whole(object) => RawObject::read(object, &self.rules),
            Item::TooLong => Err(Malformed::ObjectTooLong),
        };
        match object {
            Ok(object) => Event::Object(object),
            Err(problem) => Event::unparseable(&problem, self.filter.item_length()),
        }
    }
}

#[cfg(test)]
mod tests;
