//! Names that have been checked once, at the edge, and are trusted everywhere else.

use std::{borrow::Borrow, fmt, str::FromStr, sync::Arc};

use serde::{Deserialize, Deserializer, Serialize};
use uuid::Uuid;

/// A name that does not fit its type, with the reason.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} {value:?} {reason}")]
pub struct InvalidName {
    what: &'static str,
    value: String,
    reason: &'static str,
}

/// Longest name in characters; the store's columns are this wide.
const LONGEST: usize = 128;

fn check(what: &'static str, value: &str) -> Result<Arc<str>, InvalidName> {
    let invalid = |reason| Err(InvalidName { what, value: value.chars().take(LONGEST).collect(), reason });
    if value.is_empty() {
        return invalid("is empty");
    }
    if value.chars().count() > LONGEST {
        return invalid("is longer than 128 characters");
    }
    if value.chars().any(char::is_control) {
        return invalid("contains a control character");
    }
    if value.trim() != value {
        return invalid("starts or ends with white space");
    }
    Ok(value.into())
}

macro_rules! name {
    ($(#[$doc:meta])* $type:ident, $what:literal) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
        #[serde(transparent)]
        pub struct $type(Arc<str>);

        impl $type {
            /// Checks the name: 1 to 128 characters, no control characters, no white space at its ends.
            pub fn parse(value: &str) -> Result<Self, InvalidName> {
                check($what, value).map(Self)
            }

            /// The name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $type {
            type Err = InvalidName;
            fn from_str(value: &str) -> Result<Self, InvalidName> {
                Self::parse(value)
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:?}", &*self.0)
            }
        }

        impl Borrow<str> for $type {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let value = String::deserialize(deserializer)?;
                Self::parse(&value).map_err(serde::de::Error::custom)
            }
        }
    };
}

name! {
    /// The name of an account: a cluster, or a set of namespaces in one; unique over the installation.
    AccountName, "account name"
}
name! {
    /// The name of one running agent: its pod name, or the host's name.
    AgentId, "agent id"
}
name! {
    /// The name of one running hub: its pod name, or the host's name.
    HubId, "hub id"
}
name! {
    /// Tenant of accounts; the first part of every key in the store.
    TenantId, "tenant"
}
name! {
    /// One registration of an agent: its channels are opened in this session's name.
    SessionId, "session id"
}

/// One life of an agent process: fresh at every start, so that a restart is never taken for the process before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Incarnation(Uuid);

// === impl TenantId ===

impl Default for TenantId {
    /// The one tenant of an installation that is not shared.
    fn default() -> Self {
        Self("default".into())
    }
}

// === impl SessionId ===

impl SessionId {
    /// A new session id; sortable by time of creation.
    pub fn fresh() -> Self {
        Self(Uuid::now_v7().to_string().into())
    }
}

// === impl Incarnation ===

impl Incarnation {
    /// The incarnation of a process that starts now.
    pub fn fresh() -> Self {
        Self(Uuid::new_v4())
    }
}

impl FromStr for Incarnation {
    type Err = InvalidName;
    fn from_str(value: &str) -> Result<Self, InvalidName> {
        Uuid::parse_str(value).map(Self).map_err(|_| InvalidName {
            what: "incarnation",
            value: value.chars().take(LONGEST).collect(),
            reason: "is not a UUID",
        })
    }
}

impl fmt::Display for Incarnation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_would_break_keys_or_logs_are_refused_with_the_reason() {
        for (value, reason) in [
            ("", "is empty"),
            (" prod", "starts or ends with white space"),
            ("a\nb", "contains a control character"),
            (&"x".repeat(129), "is longer than 128 characters"),
        ] {
            let error = AccountName::parse(value).unwrap_err().to_string();
            assert!(error.starts_with("account name ") && error.ends_with(reason), "{error}");
        }
        assert_eq!(AccountName::parse("prod eu-1").unwrap().as_str(), "prod eu-1");
    }

    #[test]
    fn incarnations_differ_and_round_trip() {
        let one = Incarnation::fresh();
        assert_ne!(one, Incarnation::fresh());
        assert_eq!(one.to_string().parse(), Ok(one));
        assert!("yesterday".parse::<Incarnation>().is_err());
    }
}
