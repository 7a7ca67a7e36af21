//! Parser of server-sent events.
//!
//! Our own, because a line needs a bound (see [`LONGEST_LINE`]): a hub must not be able to fill the memory of a client.

/// One event. Comments, which the hub sends as heartbeats, are skipped.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Event {
    /// Type of the event.
    pub(super) name: String,
    pub(super) data: String,
    /// Position after this event.
    pub(super) id: Option<String>,
}

/// Unparsed bytes of a stream, and the incomplete event.
#[derive(Debug, Default)]
pub(super) struct Parser {
    unread: Vec<u8>,
    /// Length of the prefix of `unread` without a line end.
    searched: usize,
    event: Event,
}

/// Maximum length of a line. No object is larger: the store rejects more than 8 MiB.
const LONGEST_LINE: usize = 32 * 1024 * 1024;

/// The stream is not an event stream.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("the event stream has a line that is longer than 32 MiB or not UTF-8")]
pub(super) struct NotEvents;

// === impl Parser ===

impl Parser {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.unread.extend_from_slice(bytes);
    }

    /// Next complete event.
    pub(super) fn next(&mut self) -> Result<Option<Event>, NotEvents> {
        while let Some(line) = self.line()? {
            if line.is_empty() {
                let event = std::mem::take(&mut self.event);
                if !event.name.is_empty() {
                    return Ok(Some(event));
                }
                continue;
            }
            let (field, value) = line.split_once(':').unwrap_or((&line, ""));
            let value = value.strip_prefix(' ').unwrap_or(value);
            match field {
                "event" => value.clone_into(&mut self.event.name),
                "id" => self.event.id = Some(value.to_owned()),
                "data" => {
                    if !self.event.data.is_empty() {
                        self.event.data.push('\n');
                    }
                    self.event.data.push_str(value);
                }
                // A comment, a retry time, or a field of a later release.
                _ => {}
            }
        }
        Ok(None)
    }

    fn line(&mut self) -> Result<Option<String>, NotEvents> {
        let fresh = self.unread.get(self.searched..).unwrap_or_default();
        let Some(length) = fresh.iter().position(|byte| *byte == b'\n') else {
            self.searched = self.unread.len();
            return if self.searched > LONGEST_LINE { Err(NotEvents) } else { Ok(None) };
        };
        let end = self.searched + length;
        let mut line: Vec<u8> = self.unread.drain(..=end).collect();
        self.searched = 0;
        line.pop();
        if line.last() == Some(&b'\r') {
            line.pop();
        }
        String::from_utf8(line).map(Some).map_err(|_| NotEvents)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: &str = ": hello\n\nevent: upsert\ndata: {\"a\":\ndata: 1}\nid: x=1\nretry: 5\n\nevent:delete\r\ndata:é\r\n\r\ndata: no name\n\n";

    fn events(size: usize) -> Vec<Event> {
        let mut parser = Parser::default();
        let mut events = Vec::new();
        for chunk in STREAM.as_bytes().chunks(size) {
            parser.push(chunk);
            while let Some(event) = parser.next().unwrap() {
                events.push(event);
            }
        }
        events
    }

    #[test]
    fn events_are_the_same_however_the_bytes_arrive() {
        let expected = vec![
            Event { name: "upsert".into(), data: "{\"a\":\n1}".into(), id: Some("x=1".into()) },
            Event { name: "delete".into(), data: "é".into(), id: None },
        ];
        for size in 1..STREAM.len() {
            assert_eq!(events(size), expected, "in chunks of {size}");
        }
    }

    #[test]
    fn a_stream_that_is_not_utf8_is_rejected() {
        let mut parser = Parser::default();
        parser.push(b"event: \xff\n");
        assert_eq!(parser.next(), Err(NotEvents));
    }
}
