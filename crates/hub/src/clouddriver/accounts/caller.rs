//! Who asks: what Spinnaker's services say of the user in whose name they do.

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use http::{HeaderMap, request::Parts};

/// The user behind a request, and the accounts that the user may use as far as the caller knows.
///
/// Nobody proves any of it: whoever reaches the REST port is taken at his word, as Clouddriver does without Fiat.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Caller {
    pub user: Option<String>,
    pub accounts: Vec<String>,
}

/// What Clouddriver calls somebody without a name.
const UNKNOWN: &str = "unknown";

// === impl Caller ===

impl Caller {
    /// As `X-SPINNAKER-USER` and `X-SPINNAKER-ACCOUNTS` say.
    pub fn of(headers: &HeaderMap) -> Self {
        let texts = |name| headers.get_all(name).into_iter().filter_map(|value| value.to_str().ok());
        let user = texts("x-spinnaker-user").map(str::trim).find(|user| !user.is_empty()).map(str::to_owned);
        let accounts = texts("x-spinnaker-accounts").flat_map(|list| list.split(','));
        let accounts = accounts.map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect();
        Self { user, accounts }
    }

    /// The user's name, for messages.
    pub fn name(&self) -> &str {
        self.user.as_deref().unwrap_or(UNKNOWN)
    }

    /// Whether the account is among those that the user may use; their case does not count.
    pub fn is_allowed(&self, account: &str) -> bool {
        self.accounts.iter().any(|allowed| allowed.eq_ignore_ascii_case(account))
    }
}

impl<S: Sync> FromRequestParts<S> for Caller {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Self::of(&parts.headers))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caller(headers: &[(&'static str, &'static str)]) -> Caller {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, value.parse().unwrap());
        }
        Caller::of(&map)
    }

    #[test]
    fn accounts_come_as_a_list_in_one_header_or_several() {
        let one = caller(&[("X-SPINNAKER-USER", "ann"), ("X-SPINNAKER-ACCOUNTS", "prod, Wide ,,")]);
        assert_eq!((one.name(), one.accounts.as_slice()), ("ann", &["prod".into(), "Wide".into()][..]));
        let two = caller(&[("x-spinnaker-accounts", "prod"), ("x-spinnaker-accounts", "wide")]);
        assert!(two.is_allowed("PROD") && two.is_allowed("wide") && !two.is_allowed("wid"));
    }

    #[test]
    fn who_says_nothing_is_unknown_and_has_no_accounts() {
        let nobody = caller(&[("X-SPINNAKER-USER", " "), ("X-SPINNAKER-ACCOUNTS", "")]);
        assert_eq!((nobody.name(), nobody.accounts.len()), ("unknown", 0));
    }
}
