//! The one error of this crate: a message that does not fit, and where.

use spindrift_model::{AccountName, InvalidName};

/// Invalid message of the peer; names the field and the expected value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {expected}")]
pub struct InvalidMessage {
    field: String,
    expected: String,
    /// Account that it is about, if it is about one.
    account: Option<AccountName>,
}

// === impl InvalidMessage ===

impl InvalidMessage {
    /// The field has an invalid value.
    pub fn new(field: impl Into<String>, expected: impl Into<String>) -> Self {
        Self { field: field.into(), expected: expected.into(), account: None }
    }

    /// The field is not there.
    pub fn missing(field: impl Into<String>) -> Self {
        Self::new(field, "is missing")
    }

    /// The same error, seen from the message that holds the field.
    #[must_use]
    pub fn within(mut self, outer: impl std::fmt::Display) -> Self {
        self.field = format!("{outer}.{}", self.field);
        self
    }

    /// The same error, of a message that is about one account and no other.
    #[must_use]
    pub fn about(self, account: AccountName) -> Self {
        Self { account: Some(account), ..self }
    }

    /// Account that the message is about, if it is about one: all others are not affected.
    pub fn account(&self) -> Option<&AccountName> {
        self.account.as_ref()
    }
}

/// Parses a validated name, blaming the field.
pub(crate) fn name<T>(field: &str, value: &str) -> Result<T, InvalidMessage>
where
    T: std::str::FromStr<Err = InvalidName>,
{
    value.parse().map_err(|error: InvalidName| InvalidMessage::new(field, error.to_string()))
}

/// Takes a text that must not be empty, blaming the field.
pub(crate) fn text(field: &str, value: String) -> Result<String, InvalidMessage> {
    if value.is_empty() { Err(InvalidMessage::missing(field)) } else { Ok(value) }
}
