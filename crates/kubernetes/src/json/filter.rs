//! Streaming JSON filter with a [`FieldMask`]: copies bytes as they arrive, and never copies a masked value.
//!
//! ```text
//!                             ┌─▶ item       {"metadata":{"name":"a"},"spec":…}
//! {"type":"ADDED","object":…} ┤
//!                             └─▶ envelope   {"type":"ADDED","object":null}
//! ```
//!
//! The filter parses only containers that the mask has nodes for, and checks only their structure; its output is parsed
//! afterwards, which checks the rest.

mod opaque;

use opaque::{Opaque, Scan};

use crate::json::{
    Malformed,
    mask::{FieldAction, FieldMask, NodeId, ROOT},
    unquote,
};

/// Filter for a sequence of documents, which arrive in chunks.
#[derive(Debug)]
pub(crate) struct JsonFilter {
    mask: FieldMask,
    /// Longest item; a longer one is dropped while it is read.
    longest: usize,
    open: Vec<Container>,
    expect: Expect,
    /// Key that is being read, with its quotes and escapes.
    key: Vec<u8>,
    /// Start of the current member in its buffer, and whether others precede it.
    member: (usize, bool),
    envelope: Vec<u8>,
    item: Vec<u8>,
    /// Number of containers around the current item.
    item_level: Option<usize>,
    item_began: usize,
    item_length: usize,
    too_long: bool,
    read: usize,
    removed_values: u64,
}

/// Part of the input that is complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FilterOutput {
    /// An item, available by [`JsonFilter::item`].
    Item,
    /// The document around the items, available by [`JsonFilter::envelope`].
    Document,
}

/// Item without masked values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Item<'a> {
    Whole(&'a [u8]),
    TooLong,
}

#[derive(Debug, Clone, Copy)]
enum Expect {
    Value(NodeId),
    FirstMember,
    Member,
    Key { after_backslash: bool },
    Colon(NodeId),
    FirstElement,
    Element,
    Opaque { kept: bool, value: Opaque },
    CommaOrEnd,
    Nothing,
}

/// Object or array that the mask has nodes for.
#[derive(Debug)]
struct Container {
    node: NodeId,
    is_object: bool,
    /// Start of the member in its buffer, and whether others precede it.
    member: (usize, bool),
    /// Start of the container itself.
    start: usize,
    has_kept: bool,
    has_cut: bool,
}

/// Placeholder of a redacted string, which shows that there is a value.
const REDACTED: &[u8] = br#""REDACTED""#;

/// Placeholder of any other value: Kubernetes clients treat it as absent.
const ABSENT: &[u8] = b"null";

/// Buffers up to this size are reused; larger ones are freed.
const REUSED_BUFFER: usize = 64 * 1024;

/// Longest document around items, more than a type or the metadata of a list with its continue token.
const LONGEST_ENVELOPE: usize = 256 * 1024;

// === impl JsonFilter ===

impl JsonFilter {
    pub(crate) fn new(mask: FieldMask, longest: usize) -> Self {
        Self {
            mask,
            longest,
            open: Vec::new(),
            expect: Expect::Value(ROOT),
            key: Vec::new(),
            member: (0, false),
            envelope: Vec::new(),
            item: Vec::new(),
            item_level: None,
            item_began: 0,
            item_length: 0,
            too_long: false,
            read: 0,
            removed_values: 0,
        }
    }

    /// Reads until an item or document is complete, or the input ends; returns the number of bytes read.
    ///
    /// After an error, only [`JsonFilter::reset`] may be called.
    pub(crate) fn read(&mut self, input: &[u8]) -> Result<(usize, Option<FilterOutput>), Malformed> {
        let mut at = 0;
        while let Some(&byte) = input.get(at) {
            let rest = &input[at..];
            let (read, output) = match &mut self.expect {
                Expect::Opaque { kept, value } => {
                    let (kept, Scan { read, ended }) = (*kept, value.scan(rest));
                    (read, self.read_opaque(&rest[..read], kept, ended))
                }
                Expect::Key { after_backslash } => {
                    let end = opaque::end_of_string(rest, after_backslash);
                    (self.read_key(rest, end)?, None)
                }
                _ if matches!(byte, b' ' | b'\t' | b'\r' | b'\n') => (1, None),
                _ => self.read_token(byte)?,
            };
            at += read;
            self.read += read;
            if output.is_some() {
                return Ok((at, output));
            }
        }
        if self.envelope.len() > LONGEST_ENVELOPE { Err(Malformed::TooLong) } else { Ok((at, None)) }
    }

    /// Last item.
    pub(crate) fn item(&self) -> Item<'_> {
        if self.too_long { Item::TooLong } else { Item::Whole(&self.item) }
    }

    /// Length of the last item before filtering.
    pub(crate) fn item_length(&self) -> usize {
        self.item_length
    }

    /// Document around the items.
    pub(crate) fn envelope(&self) -> &[u8] {
        &self.envelope
    }

    /// Number of values cut or redacted so far.
    pub(crate) fn removed_values(&self) -> u64 {
        self.removed_values
    }

    /// Whether no byte of a document has been read yet.
    pub(crate) fn is_fresh(&self) -> bool {
        self.open.is_empty() && matches!(self.expect, Expect::Value(_))
    }

    /// Whether the document is complete.
    pub(crate) fn is_done(&self) -> bool {
        matches!(self.expect, Expect::Nothing)
    }

    /// Prepares for the next document.
    pub(crate) fn reset(&mut self) {
        self.open.clear();
        self.expect = Expect::Value(ROOT);
        self.item_level = None;
        self.too_long = false;
        self.read = 0;
        for buffer in [&mut self.envelope, &mut self.item, &mut self.key] {
            empty(buffer);
        }
    }

    /// Frees all buffers between two documents, so that an idle stream holds none.
    pub(crate) fn release_buffers(&mut self) {
        if self.is_fresh() {
            for buffer in [&mut self.envelope, &mut self.item, &mut self.key] {
                *buffer = Vec::new();
            }
            self.open = Vec::new();
        }
    }

    /// Size of the buffers.
    #[cfg(test)]
    pub(crate) fn buffered(&self) -> usize {
        self.envelope.capacity() + self.item.capacity() + self.key.capacity()
    }

    fn read_token(&mut self, byte: u8) -> Result<(usize, Option<FilterOutput>), Malformed> {
        let in_object = self.open.last().is_some_and(|container| container.is_object);
        match (self.expect, byte) {
            (Expect::Value(node), _) => return Ok((self.begin(node, byte)?, None)),
            (Expect::FirstElement, b']') | (Expect::FirstMember, b'}') => return Ok((1, self.close(byte))),
            (Expect::FirstElement | Expect::Element, _) => return Ok((self.begin_element(byte)?, None)),
            (Expect::FirstMember | Expect::Member, b'"') => {
                empty(&mut self.key);
                self.key.push(byte);
                self.expect = Expect::Key { after_backslash: false };
            }
            (Expect::Colon(node), b':') => self.expect = Expect::Value(node),
            (Expect::CommaOrEnd, b',') => {
                self.expect = if in_object { Expect::Member } else { Expect::Element };
            }
            (Expect::CommaOrEnd, b'}') if in_object => return Ok((1, self.close(byte))),
            (Expect::CommaOrEnd, b']') if !in_object => return Ok((1, self.close(byte))),
            _ => return Err(self.unexpected()),
        }
        Ok((1, None))
    }

    /// Begins a value, given its first byte; consumes the byte only if the value is walked into.
    fn begin(&mut self, id: NodeId, byte: u8) -> Result<usize, Malformed> {
        let node = self.mask.node(id);
        let action = node.action();
        let is_object = byte == b'{' && node.has_members();
        let is_walked = is_object || byte == b'[' && node.has_elements();
        if action == Some(FieldAction::Item) && self.item_level.is_none() {
            self.begin_item();
        }
        match action {
            Some(FieldAction::Cut | FieldAction::Redact) if !is_walked => {
                self.removed_values += 1;
                if action == Some(FieldAction::Redact) {
                    self.keep(if byte == b'"' { REDACTED } else { ABSENT });
                }
                self.begin_opaque(byte, false)
            }
            _ if !is_walked => self.begin_opaque(byte, true),
            _ => {
                let (member, start) = (self.member, self.buffer().len());
                self.keep(&[byte]);
                self.open.push(Container {
                    node: id,
                    is_object,
                    member,
                    start,
                    has_kept: false,
                    has_cut: false,
                });
                self.expect = if is_object { Expect::FirstMember } else { Expect::FirstElement };
                Ok(1)
            }
        }
    }

    fn begin_opaque(&mut self, byte: u8, kept: bool) -> Result<usize, Malformed> {
        let value = Opaque::begin(byte).ok_or_else(|| self.unexpected())?;
        self.expect = Expect::Opaque { kept, value };
        Ok(0)
    }

    fn begin_element(&mut self, byte: u8) -> Result<usize, Malformed> {
        let array = self.open.last_mut().expect("elements stand in an array");
        let node = self.mask.node(array.node).element().expect("a walked array has a node for its elements");
        // Items leave nothing in the envelope, so no comma is needed.
        if self.mask.node(node).action() != Some(FieldAction::Item) {
            let is_first = !std::mem::replace(&mut array.has_kept, true);
            if !is_first {
                self.keep(b",");
            }
        }
        self.begin(node, byte)
    }

    fn begin_item(&mut self) {
        if self.open.last().is_none_or(|container| container.is_object) {
            self.envelope.extend_from_slice(ABSENT);
        }
        self.item_level = Some(self.open.len());
        self.item_began = self.read;
        self.too_long = false;
        empty(&mut self.item);
    }

    fn read_opaque(&mut self, part: &[u8], kept: bool, ended: bool) -> Option<FilterOutput> {
        if kept {
            self.keep(part);
        }
        if ended { self.end_value(part.len()) } else { None }
    }

    /// Reads the available part of a key; its end begins the member.
    fn read_key(&mut self, input: &[u8], end: Option<usize>) -> Result<usize, Malformed> {
        let read = end.unwrap_or(input.len());
        if self.key.len() + read > self.longest {
            return Err(Malformed::TooLong);
        }
        self.key.extend_from_slice(&input[..read]);
        if end.is_some() {
            self.begin_member();
        }
        Ok(read)
    }

    /// Looks up the node of a member, after its key, and keeps or drops the key.
    fn begin_member(&mut self) {
        let key = std::mem::take(&mut self.key);
        // The parser of the item refuses an invalid key; only this item is lost then.
        let name = std::str::from_utf8(&key).ok().and_then(|text| unquote(text).ok());
        let object = self.open.last_mut().expect("members stand in an object");
        let node = self.mask.node(object.node).member(name.as_deref());
        self.expect = Expect::Colon(node);
        if self.mask.node(node).action() == Some(FieldAction::Cut) {
            object.has_cut = true;
        } else {
            let after_others = std::mem::replace(&mut object.has_kept, true);
            self.member = (self.buffer().len(), after_others);
            if after_others {
                self.keep(b",");
            }
            self.keep(&key);
            self.keep(b":");
        }
        drop(name);
        self.key = key;
    }

    fn close(&mut self, byte: u8) -> Option<FilterOutput> {
        let container = self.open.pop().expect("a closed container was opened");
        let action = self.mask.node(container.node).action();
        if action == Some(FieldAction::Redact) && !container.has_kept {
            self.buffer().truncate(container.start);
            self.keep(ABSENT);
        } else if action == Some(FieldAction::DropIfEmptied) && container.has_cut && !container.has_kept {
            let (start, after_others) = container.member;
            self.buffer().truncate(start);
            if let Some(parent) = self.open.last_mut() {
                parent.has_kept = after_others;
            }
        } else {
            self.keep(&[byte]);
        }
        self.end_value(1)
    }

    /// Ends a value, with this many bytes that `read` does not count yet.
    fn end_value(&mut self, uncounted: usize) -> Option<FilterOutput> {
        self.expect = if self.open.is_empty() { Expect::Nothing } else { Expect::CommaOrEnd };
        if self.item_level == Some(self.open.len()) {
            self.item_level = None;
            self.item_length = self.read + uncounted - self.item_began;
            return Some(FilterOutput::Item);
        }
        self.open.is_empty().then_some(FilterOutput::Document)
    }

    fn buffer(&mut self) -> &mut Vec<u8> {
        if self.item_level.is_some() { &mut self.item } else { &mut self.envelope }
    }

    fn keep(&mut self, bytes: &[u8]) {
        if self.item_level.is_none() {
            self.envelope.extend_from_slice(bytes);
        } else if self.item.len() + bytes.len() > self.longest {
            self.too_long = true;
            self.item = Vec::new();
        } else if !self.too_long {
            self.item.extend_from_slice(bytes);
        }
    }

    fn unexpected(&self) -> Malformed {
        Malformed::Syntax { line: 1, column: self.read + 1 }
    }
}

/// Empties a buffer, and frees it if it is large.
fn empty(buffer: &mut Vec<u8>) {
    buffer.clear();
    buffer.shrink_to(REUSED_BUFFER);
}

#[cfg(test)]
mod tests;
