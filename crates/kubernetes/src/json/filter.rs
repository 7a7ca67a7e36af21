//! Lets JSON through as its bytes arrive, except what a [`Mesh`] holds back: that is never copied anywhere.
//!
//! ```text
//!                             ┌─▶ item       {"metadata":{"name":"a"},"spec":…}
//! {"type":"ADDED","object":…} ┤
//!                             └─▶ envelope   {"type":"ADDED","object":null}
//! ```
//!
//! Only containers that the mesh looks into are walked through, and only their structure is checked here; what comes
//! out is parsed afterwards, which checks the rest of it.

mod opaque;

use opaque::{Opaque, Scan};

use crate::json::{
    Malformed,
    mask::{Fate, Mesh, PlaceId, ROOT},
    unquote,
};

/// Reads one document after the other, piece by piece.
#[derive(Debug)]
pub(crate) struct Sieve {
    mesh: Mesh,
    /// An item longer than this is dropped while it is read.
    longest: usize,
    open: Vec<Container>,
    expect: Expect,
    /// The key that is being read, as it is written.
    key: Vec<u8>,
    /// Where the member that is being read begins in its buffer, and whether others stand before it.
    member: (usize, bool),
    envelope: Vec<u8>,
    item: Vec<u8>,
    /// How many containers enclose the item that is being read.
    item_level: Option<usize>,
    item_began: usize,
    item_length: usize,
    too_long: bool,
    read: usize,
    held_back: u64,
}

/// What has come to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sifted {
    /// An item, which is in [`Sieve::item`] now.
    Item,
    /// The document around the items, which is in [`Sieve::envelope`] now.
    Document,
}

/// An item without what was held back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Item<'a> {
    Whole(&'a [u8]),
    TooLong,
}

#[derive(Debug, Clone, Copy)]
enum Expect {
    Value(PlaceId),
    FirstMember,
    Member,
    Key { after_backslash: bool },
    Colon(PlaceId),
    FirstElement,
    Element,
    Opaque { kept: bool, value: Opaque },
    CommaOrEnd,
    Nothing,
}

/// An object or array that the mesh looks into.
#[derive(Debug)]
struct Container {
    place: PlaceId,
    is_object: bool,
    /// Where the member that it is begins in its buffer, and whether others stand before that.
    member: (usize, bool),
    /// Where it begins itself.
    start: usize,
    has_kept: bool,
    has_cut: bool,
}

/// What stands for a text that is held back, so that one sees that there is one.
const REDACTED: &[u8] = br#""REDACTED""#;

/// What stands for any other value: every client of Kubernetes reads it as absent.
const ABSENT: &[u8] = b"null";

/// Buffers up to this size are used again; larger ones are given back.
const USUAL: usize = 64 * 1024;

/// More than is ever around items: a type, or the metadata of a list with its continue token.
const LONGEST_ENVELOPE: usize = 256 * 1024;

// === impl Sieve ===

impl Sieve {
    pub(crate) fn new(mesh: Mesh, longest: usize) -> Self {
        Self {
            mesh,
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
            held_back: 0,
        }
    }

    /// Reads on until something has come to its end, or the input has; tells how much of the input was read.
    ///
    /// After an error, nothing but [`Sieve::reset`] makes sense.
    pub(crate) fn read(&mut self, input: &[u8]) -> Result<(usize, Option<Sifted>), Malformed> {
        let mut at = 0;
        while let Some(&byte) = input.get(at) {
            let rest = &input[at..];
            let (read, sifted) = match &mut self.expect {
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
            if sifted.is_some() {
                return Ok((at, sifted));
            }
        }
        if self.envelope.len() > LONGEST_ENVELOPE { Err(Malformed::TooLong) } else { Ok((at, None)) }
    }

    /// The item that was read last.
    pub(crate) fn item(&self) -> Item<'_> {
        if self.too_long { Item::TooLong } else { Item::Whole(&self.item) }
    }

    /// How long that item was before anything was held back.
    pub(crate) fn item_length(&self) -> usize {
        self.item_length
    }

    /// What is around the items.
    pub(crate) fn envelope(&self) -> &[u8] {
        &self.envelope
    }

    /// How many values were held back so far.
    pub(crate) fn held_back(&self) -> u64 {
        self.held_back
    }

    /// Whether nothing of a document has been read yet.
    pub(crate) fn is_fresh(&self) -> bool {
        self.open.is_empty() && matches!(self.expect, Expect::Value(_))
    }

    /// Whether a document has been read to its end.
    pub(crate) fn is_done(&self) -> bool {
        matches!(self.expect, Expect::Nothing)
    }

    /// Makes ready for the next document.
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

    /// Gives all buffers back, between two documents: a silent stream holds none.
    pub(crate) fn rest(&mut self) {
        if self.is_fresh() {
            for buffer in [&mut self.envelope, &mut self.item, &mut self.key] {
                *buffer = Vec::new();
            }
            self.open = Vec::new();
        }
    }

    /// How much memory it holds.
    #[cfg(test)]
    pub(crate) fn buffered(&self) -> usize {
        self.envelope.capacity() + self.item.capacity() + self.key.capacity()
    }

    fn read_token(&mut self, byte: u8) -> Result<(usize, Option<Sifted>), Malformed> {
        let in_object = self.open.last().is_some_and(|container| container.is_object);
        match (self.expect, byte) {
            (Expect::Value(place), _) => return Ok((self.begin(place, byte)?, None)),
            (Expect::FirstElement, b']') | (Expect::FirstMember, b'}') => return Ok((1, self.close(byte))),
            (Expect::FirstElement | Expect::Element, _) => return Ok((self.begin_element(byte)?, None)),
            (Expect::FirstMember | Expect::Member, b'"') => {
                empty(&mut self.key);
                self.key.push(byte);
                self.expect = Expect::Key { after_backslash: false };
            }
            (Expect::Colon(place), b':') => self.expect = Expect::Value(place),
            (Expect::CommaOrEnd, b',') => {
                self.expect = if in_object { Expect::Member } else { Expect::Element };
            }
            (Expect::CommaOrEnd, b'}') if in_object => return Ok((1, self.close(byte))),
            (Expect::CommaOrEnd, b']') if !in_object => return Ok((1, self.close(byte))),
            _ => return Err(self.unexpected()),
        }
        Ok((1, None))
    }

    /// Begins a value with its first byte, which is not read if nothing looks into the value.
    fn begin(&mut self, id: PlaceId, byte: u8) -> Result<usize, Malformed> {
        let place = self.mesh.place(id);
        let fate = place.fate();
        let is_object = byte == b'{' && place.looks_into_objects();
        let is_walked = is_object || byte == b'[' && place.looks_into_arrays();
        if fate == Some(Fate::Item) && self.item_level.is_none() {
            self.begin_item();
        }
        match fate {
            Some(Fate::Cut | Fate::Redact) if !is_walked => {
                self.held_back += 1;
                if fate == Some(Fate::Redact) {
                    self.keep(if byte == b'"' { REDACTED } else { ABSENT });
                }
                self.begin_opaque(byte, false)
            }
            _ if !is_walked => self.begin_opaque(byte, true),
            _ => {
                let (member, start) = (self.member, self.buffer().len());
                self.keep(&[byte]);
                self.open.push(Container {
                    place: id,
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
        let place = self.mesh.place(array.place).element().expect("or it would not have been walked into");
        // Items leave nothing behind, so there is nothing to separate.
        if self.mesh.place(place).fate() != Some(Fate::Item) {
            let is_first = !std::mem::replace(&mut array.has_kept, true);
            if !is_first {
                self.keep(b",");
            }
        }
        self.begin(place, byte)
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

    fn read_opaque(&mut self, part: &[u8], kept: bool, ended: bool) -> Option<Sifted> {
        if kept {
            self.keep(part);
        }
        if ended { self.end_value(part.len()) } else { None }
    }

    /// Reads as much of a key as there is; where it ends, its member begins.
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

    /// The key is complete: what becomes of the member?
    fn begin_member(&mut self) {
        let key = std::mem::take(&mut self.key);
        // Who parses the item refuses a key that is no text; only this item is lost then.
        let name = std::str::from_utf8(&key).ok().and_then(|text| unquote(text).ok());
        let object = self.open.last_mut().expect("members stand in an object");
        let place = self.mesh.place(object.place).member(name.as_deref());
        self.expect = Expect::Colon(place);
        if self.mesh.place(place).fate() == Some(Fate::Cut) {
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

    fn close(&mut self, byte: u8) -> Option<Sifted> {
        let container = self.open.pop().expect("what is closed was opened");
        let fate = self.mesh.place(container.place).fate();
        if fate == Some(Fate::Redact) && !container.has_kept {
            self.buffer().truncate(container.start);
            self.keep(ABSENT);
        } else if fate == Some(Fate::Thin) && container.has_cut && !container.has_kept {
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

    /// A value has ended with bytes of which this many are not counted yet.
    fn end_value(&mut self, uncounted: usize) -> Option<Sifted> {
        self.expect = if self.open.is_empty() { Expect::Nothing } else { Expect::CommaOrEnd };
        if self.item_level == Some(self.open.len()) {
            self.item_level = None;
            self.item_length = self.read + uncounted - self.item_began;
            return Some(Sifted::Item);
        }
        self.open.is_empty().then_some(Sifted::Document)
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

/// Empties a buffer, and gives it back if it is larger than usual.
fn empty(buffer: &mut Vec<u8>) {
    buffer.clear();
    buffer.shrink_to(USUAL);
}

#[cfg(test)]
mod tests;
