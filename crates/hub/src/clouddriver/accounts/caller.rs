//! User of a request, from the headers of Spinnaker's services.

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use http::{HeaderMap, request::Parts};

/// User of a request, and the accounts that the user may use according to the calling service.
///
/// The headers are not verified: any client of the REST port is trusted, as by Clouddriver without Fiat.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Caller {
    pub user: Option<String>,
    pub accounts: Vec<String>,
}

/// Clouddriver's name for a user that is not given.
const UNKNOWN: &str = "unknown";

// === impl Caller ===

impl Caller {
    /// Reads `X-SPINNAKER-USER` and `X-SPINNAKER-ACCOUNTS`.
    pub fn of(headers: &HeaderMap) -> Self {
        let texts = |name| headers.get_all(name).into_iter().filter_map(|value| value.to_str().ok());
        let user = texts("x-spinnaker-user").map(str::trim).find(|user| !user.is_empty()).map(str::to_owned);
        let accounts = texts("x-spinnaker-accounts").flat_map(|list| list.split(','));
        let accounts = accounts.map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect();
        Self { user, accounts }
    }

    /// Name of the user, for messages.
    pub fn name(&self) -> &str {
        self.user.as_deref().unwrap_or(UNKNOWN)
    }

    /// Whether the user may use the account; names are compared without case.
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
    fn a_request_without_headers_has_an_unknown_user_and_no_accounts() {
        let unknown = caller(&[("X-SPINNAKER-USER", " "), ("X-SPINNAKER-ACCOUNTS", "")]);
        assert_eq!((unknown.name(), unknown.accounts.len()), ("unknown", 0));
    }
}
