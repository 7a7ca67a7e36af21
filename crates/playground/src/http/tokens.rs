//! Tokens of service accounts.

use std::collections::{HashMap, VecDeque};

use jiff::Timestamp;

use super::access::User;
use crate::cluster::{Cluster, Key};
use crate::object;

/// Newest tokens of a cluster.
#[derive(Default)]
pub(crate) struct Tokens {
    issued: HashMap<String, Issued>,
    /// Oldest first.
    order: VecDeque<String>,
}

/// Service account and expiry of a token.
#[derive(Debug, Clone)]
pub(crate) struct Issued {
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
    pub(crate) fn issue(&mut self, issued: Issued) -> String {
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
}

/// User of a token; none if it has expired or its service account was deleted.
pub(crate) fn bearer(cluster: &Cluster, token: &str) -> Option<User> {
    let issued = cluster.tokens().lock().issued.get(token).cloned()?;
    let Issued { namespace, name, uid, expires } = issued;
    let account = cluster.get(&Key::new("", "serviceaccounts", &namespace, &name))?;
    let lives = object::uid(&account) == uid && Timestamp::now() < expires;
    lives.then(|| User::service_account(&namespace, &name, &uid))
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;
    use serde_json::json;

    use super::*;

    fn issue(cluster: &Cluster, uid: &str, seconds: i64) -> String {
        let expires = Timestamp::now() + SignedDuration::from_secs(seconds);
        let (namespace, name, uid) = ("default".to_owned(), "robot".to_owned(), uid.to_owned());
        cluster.tokens().lock().issue(Issued { namespace, name, uid, expires })
    }

    #[test]
    fn a_token_is_good_while_it_is_young_and_its_account_lives() {
        let cluster = Cluster::new("a");
        let account = json!({
            "apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot", "namespace": "default"},
        });
        let uid = object::uid(&cluster.create(account.clone()).unwrap()).to_owned();
        let token = issue(&cluster, &uid, 600);
        assert_eq!(bearer(&cluster, &token).unwrap().name, "system:serviceaccount:default:robot");
        assert_eq!(bearer(&cluster, &issue(&cluster, &uid, -1)), None);
        cluster.delete(&Key::new("", "serviceaccounts", "default", "robot")).unwrap();
        cluster.create(account).unwrap();
        assert_eq!(bearer(&cluster, &token), None, "another account of the same name");
    }

    #[test]
    fn the_oldest_tokens_are_forgotten() {
        let cluster = Cluster::new("a");
        for _ in 0..=MOST {
            issue(&cluster, "uid", 600);
        }
        let tokens = cluster.tokens().lock();
        assert_eq!((tokens.issued.len(), tokens.order.len()), (MOST, MOST));
    }
}
