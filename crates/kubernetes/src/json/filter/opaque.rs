//! Values that the mask has no nodes for: only their end matters.

use memchr::memchr2;

/// State of the scan of such a value.
#[derive(Debug, Clone, Copy)]
pub(super) struct Opaque {
    depth: u32,
    inside: Inside,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Inside {
    /// Between strings, in an object or array.
    Structure,
    String {
        after_backslash: bool,
    },
    /// A number, `true`, `false` or `null` that is all of the value.
    Scalar,
}

/// Progress of a scan.
pub(super) struct Scan {
    pub(super) read: usize,
    pub(super) ended: bool,
}

// === impl Opaque ===

impl Opaque {
    /// Begins a value with this first byte, which is not consumed; none if no value begins with it.
    pub(super) fn begin(byte: u8) -> Option<Self> {
        let inside = match byte {
            b'"' | b'{' | b'[' => Inside::Structure,
            b'-' | b'0'..=b'9' | b't' | b'f' | b'n' => Inside::Scalar,
            _ => return None,
        };
        Some(Self { depth: 0, inside })
    }

    pub(super) fn scan(&mut self, input: &[u8]) -> Scan {
        let mut read = 0;
        while let Some(rest) = input.get(read..).filter(|rest| !rest.is_empty()) {
            match &mut self.inside {
                Inside::String { after_backslash } => match end_of_string(rest, after_backslash) {
                    Some(end) => {
                        read += end;
                        self.inside = Inside::Structure;
                    }
                    None => return Scan { read: input.len(), ended: false },
                },
                Inside::Structure => {
                    let is_mark = |byte: &u8| matches!(byte, b'"' | b'{' | b'[' | b'}' | b']');
                    let Some(mark) = rest.iter().position(is_mark) else {
                        return Scan { read: input.len(), ended: false };
                    };
                    read += mark + 1;
                    match rest[mark] {
                        b'"' => self.inside = Inside::String { after_backslash: false },
                        b'{' | b'[' => self.depth += 1,
                        _ => self.depth = self.depth.saturating_sub(1),
                    }
                }
                Inside::Scalar => {
                    let is_end =
                        |byte: &u8| matches!(byte, b',' | b'}' | b']' | b' ' | b'\t' | b'\r' | b'\n');
                    return match rest.iter().position(is_end) {
                        Some(end) => Scan { read: end, ended: true },
                        None => Scan { read: rest.len(), ended: false },
                    };
                }
            }
            if self.depth == 0 && self.inside == Inside::Structure {
                return Scan { read, ended: true };
            }
        }
        Scan { read, ended: false }
    }
}

/// Returns the position after the closing quote of a string, if this part contains it.
pub(super) fn end_of_string(part: &[u8], after_backslash: &mut bool) -> Option<usize> {
    let mut at = usize::from(std::mem::take(after_backslash) && !part.is_empty());
    while let Some(found) = memchr2(b'"', b'\\', part.get(at..)?) {
        at += found + 1;
        if part[at - 1] == b'"' {
            return Some(at);
        }
        // A quote after a backslash does not end the string.
        at += 1;
        if at > part.len() {
            *after_backslash = true;
            return None;
        }
    }
    None
}
