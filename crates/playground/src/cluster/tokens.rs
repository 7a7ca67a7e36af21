//! Tokens of service accounts.

use std::collections::{HashMap, VecDeque};

use jiff::Timestamp;

/// Newest tokens of a cluster.
#[derive(Default)]
pub(crate) struct Tokens {
    issued: HashMap<String, IssuedToken>,
    /// Oldest first.
    order: VecDeque<String>,
}

/// Service account and expiry of a token.
#[derive(Debug, Clone)]
pub(crate) struct IssuedToken {
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) uid: String,
    pub(crate) expires: Timestamp,
}

/// Maximum number of valid tokens.
const MOST: usize = 1_000;

// === impl Tokens ===

impl Tokens {
    /// Issues a token; the oldest one is dropped if there are too many.
    pub(crate) fn issue(&mut self, issued: IssuedToken) -> String {
        let random = || uuid::Uuid::new_v4().simple();
        let token = format!("playground.{}.{}", random(), random());
        self.issued.insert(token.clone(), issued);
        self.order.push_back(token.clone());
        if self.order.len() > MOST
            && let Some(oldest) = self.order.pop_front()
        {
            self.issued.remove(&oldest);
        }
        token
    }

    /// Returns the account of an issued token, also of an expired one.
    pub(crate) fn get(&self, token: &str) -> Option<IssuedToken> {
        self.issued.get(token).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_tokens_are_dropped() {
        let mut tokens = Tokens::default();
        for _ in 0..=MOST {
            let (namespace, name, uid) = ("default".to_owned(), "robot".to_owned(), "uid".to_owned());
            tokens.issue(IssuedToken { namespace, name, uid, expires: Timestamp::now() });
        }
        assert_eq!((tokens.issued.len(), tokens.order.len()), (MOST, MOST));
    }
}
