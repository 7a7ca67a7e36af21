//! Elements of a message, counted before it is decoded.
//!
//! An element of two bytes on the wire takes more than a hundred when it is decoded, so a limit of bytes alone does not
//! bound memory: 32 MiB of empty items would take 2 GB.

use bytes::Buf;
use prost::encoding::{DecodeContext, WireType, decode_key, decode_varint, skip_field};

use crate::InvalidMessage;

/// Limit of the elements of one type of message.
#[derive(Debug)]
pub(crate) struct ElementLimit {
    /// Names of the elements, for people to read.
    elements: &'static str,
    /// Largest sum of weights.
    most: usize,
    fields: &'static [Repeated],
}

/// A field whose occurrences count.
#[derive(Debug)]
struct Repeated {
    field: u32,
    weight: usize,
    /// Fields within it that count too.
    fields: &'static [Repeated],
}

/// `EventsMessage`. A declaration of 12 kinds in each of 5,000 namespaces has 60,000 scopes; decoded, 65,536 elements
/// take 10 MB.
pub(crate) const EVENTS: ElementLimit = ElementLimit {
    elements: "items, scopes and mentions",
    most: 64 * 1024,
    fields: &[Repeated::new(2, 1, &[Repeated::new(4, 1, &[DECLARE, MENTION])])],
};

const DECLARE: Repeated =
    Repeated::new(1, 1, &[Repeated::new(1, 1, &[]), Repeated::new(2, 1, &[]), Repeated::new(3, 1, &[])]);
const MENTION: Repeated = Repeated::new(7, 1, &[Repeated::new(2, 1, &[])]);

/// `RegisterRequest`: an account takes as much as eight namespaces.
pub(crate) const REGISTER: ElementLimit = ElementLimit {
    elements: "namespaces and verbs, or an eighth of that in accounts",
    most: 512 * 1024,
    fields: &[Repeated::new(7, 8, &[NAMESPACES]), Repeated::new(8, 1, &[])],
};

/// `ControlUp`.
pub(crate) const CONTROL: ElementLimit = ElementLimit {
    elements: "namespaces, or an eighth of that in accounts",
    most: 512 * 1024,
    fields: &[Repeated::new(2, 1, &[Repeated::new(1, 8, &[NAMESPACES])])],
};

const NAMESPACES: Repeated = Repeated::new(6, 1, &[]);

// === impl Repeated ===

impl Repeated {
    const fn new(field: u32, weight: usize, fields: &'static [Self]) -> Self {
        Self { field, weight, fields }
    }
}

// === impl ElementLimit ===

impl ElementLimit {
    /// Refuses a message with more elements than any agent sends. Malformed messages pass: decoding them names the
    /// reason, and stops where the counting did.
    pub(crate) fn check(&self, message: &[u8]) -> Result<(), InvalidMessage> {
        let mut counted = 0;
        let _malformed = self.count(message, self.fields, &mut counted);
        if counted > self.most {
            let Self { elements, most, .. } = self;
            return Err(InvalidMessage::new("message", format!("expected at most {most} {elements}")));
        }
        Ok(())
    }

    /// Counts the elements of a part of the message, and stops above the limit.
    fn count(&self, mut bytes: &[u8], fields: &[Repeated], counted: &mut usize) -> Option<()> {
        while bytes.has_remaining() && *counted <= self.most {
            let (field, wire) = decode_key(&mut bytes).ok()?;
            if wire != WireType::LengthDelimited {
                skip_field(wire, field, &mut bytes, DecodeContext::default()).ok()?;
                continue;
            }
            let length = usize::try_from(decode_varint(&mut bytes).ok()?).ok()?;
            let (content, rest) = bytes.split_at_checked(length)?;
            bytes = rest;
            if let Some(repeated) = fields.iter().find(|repeated| repeated.field == field) {
                *counted += repeated.weight;
                self.count(content, repeated.fields, counted)?;
            }
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use prost::Message;

    use super::*;
    use crate::v1;

    const MOST: usize = EVENTS.most;

    fn of(items: Vec<v1::Item>) -> Vec<u8> {
        let batch = v1::Batch { account: "a".into(), epoch: 1, seq: 2, items };
        v1::EventsMessage { message: Some(v1::events_message::Message::Batch(batch)) }.encode_to_vec()
    }

    fn item(item: v1::item::Item) -> v1::Item {
        v1::Item { item: Some(item) }
    }

    #[test]
    fn elements_of_a_batch_are_counted_wherever_they_are() {
        let mention = v1::Mention { scope: 1, uids: vec![String::new(); MOST] };
        let scopes = vec![v1::ScopeDeclaration::default(); MOST];
        let denied = vec![v1::DeniedScope::default(); MOST];
        let undiscovered_groups = vec![String::new(); MOST];
        for items in [
            vec![v1::Item::default(); MOST],
            vec![item(v1::item::Item::Mention(mention))],
            vec![item(v1::item::Item::Declare(v1::Declare { scopes, ..v1::Declare::default() }))],
            vec![item(v1::item::Item::Declare(v1::Declare { denied, ..v1::Declare::default() }))],
            vec![item(v1::item::Item::Declare(v1::Declare {
                undiscovered_groups,
                ..v1::Declare::default()
            }))],
        ] {
            let error = EVENTS.check(&of(items)).unwrap_err().to_string();
            assert_eq!(error, "message: expected at most 65536 items, scopes and mentions");
        }
    }

    #[test]
    fn bytes_of_an_object_are_no_elements() {
        let body = vec![0x12; 4 * MOST].into();
        let upsert = v1::Upsert { body, ..v1::Upsert::default() };
        assert_eq!(EVENTS.check(&of(vec![item(v1::item::Item::Upsert(upsert))])), Ok(()));
        assert_eq!(EVENTS.check(&of(vec![v1::Item::default(); MOST - 1])), Ok(()));
        assert_eq!(EVENTS.check(&[0x12; 4096]), Ok(()), "malformed");
    }

    #[test]
    fn accounts_are_counted_in_registrations_and_announcements() {
        let account = |namespaces| v1::Account { namespaces, ..v1::Account::default() };
        for accounts in [vec![account(vec![]); 64 * 1024 + 1], vec![account(vec![String::new(); 512 * 1024])]]
        {
            let register =
                v1::RegisterRequest { accounts: accounts.clone(), ..v1::RegisterRequest::default() };
            assert!(REGISTER.check(&register.encode_to_vec()).is_err());
            let announce = v1::control_up::Message::Announce(v1::Announce { accounts });
            assert!(CONTROL.check(&v1::ControlUp { message: Some(announce) }.encode_to_vec()).is_err());
        }
        let accounts = vec![account(vec!["n".into(); 100]); 2000];
        let register = v1::RegisterRequest { accounts, ..v1::RegisterRequest::default() };
        assert_eq!(REGISTER.check(&register.encode_to_vec()), Ok(()));
    }
}
