//! `/accounts`: filtered and paged, with the parameters of the Armory agent.

use axum::{
    Json,
    extract::{Query, State},
};

use super::{EndpointState, ErrorResponse};
use crate::status::{AccountState, AccountView};

/// Filter and page of a request.
#[derive(Debug, Default, PartialEq)]
struct AccountFilter {
    name: Option<String>,
    dynamic: Option<bool>,
    state: Option<AccountState>,
    offset: usize,
    limit: Option<usize>,
}

pub(super) async fn list(
    State(state): State<EndpointState>,
    Query(parameters): Query<Vec<(String, String)>>,
) -> Result<Json<Vec<AccountView>>, ErrorResponse> {
    let filter = AccountFilter::parse(&parameters).map_err(ErrorResponse::bad_request)?;
    Ok(Json(filter.choose(state.status.accounts())))
}

// === impl AccountFilter ===

impl AccountFilter {
    fn parse(parameters: &[(String, String)]) -> Result<Self, String> {
        let mut filter = Self::default();
        for (name, value) in parameters {
            match name.to_ascii_lowercase().as_str() {
                "config.name" => filter.name = Some(value.clone()),
                "config.dynamic" => {
                    let dynamic = value.parse().map_err(|_| expected(name, "true or false", value))?;
                    filter.dynamic = Some(dynamic);
                }
                "state.name" => filter.state = Some(state(name, value)?),
                "limit" => filter.limit = Some(number(name, value)?),
                // The Armory agent's release notes misspell it, and so may its users.
                "offset" | "offtset" => filter.offset = number(name, value)?,
                _ => {
                    return Err(format!(
                        "unknown parameter {name}; there are Config.Name, Config.Dynamic, State.Name, limit and offset"
                    ));
                }
            }
        }
        Ok(filter)
    }

    fn choose(&self, accounts: Vec<AccountView>) -> Vec<AccountView> {
        let Self { name, dynamic, state, offset, limit } = self;
        accounts
            .into_iter()
            .filter(|account| name.as_ref().is_none_or(|name| account.config.name == *name))
            .filter(|account| dynamic.is_none_or(|dynamic| account.config.dynamic == dynamic))
            .filter(|account| state.is_none_or(|state| account.state.name == state))
            .skip(*offset)
            .take(limit.unwrap_or(usize::MAX))
            .collect()
    }
}

fn number(name: &str, value: &str) -> Result<usize, String> {
    value.parse().map_err(|_| expected(name, "a number", value))
}

fn state(name: &str, value: &str) -> Result<AccountState, String> {
    match value.to_ascii_lowercase().as_str() {
        "configloaded" => Ok(AccountState::ConfigLoaded),
        "healthy" => Ok(AccountState::Healthy),
        "discoveryerror" => Ok(AccountState::DiscoveryError),
        _ => Err(expected(name, "ConfigLoaded, Healthy or DiscoveryError", value)),
    }
}

fn expected(name: &str, what: &str, value: &str) -> String {
    format!("{name}: expected {what}, found {value:?}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::status::AgentStatus;

    fn ask(query: &[(&str, &str)]) -> Result<Vec<String>, String> {
        let status = AgentStatus::default();
        for name in ["a", "b", "c", "d"] {
            status.configured(name);
        }
        status.discovered("b");
        status.discovered("d");
        status.failed("c", "no route".into());
        let parameters: Vec<_> =
            query.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        let chosen = AccountFilter::parse(&parameters)?.choose(status.accounts());
        Ok(chosen.into_iter().map(|account| account.config.name).collect())
    }

    #[test]
    fn accounts_are_filtered_and_paged() {
        for (query, names) in [
            (&[][..], &["a", "b", "c", "d"][..]),
            (&[("Config.Name", "b")], &["b"]),
            (&[("State.Name", "Healthy")], &["b", "d"]),
            (&[("State.Name", "discoveryerror")], &["c"]),
            (&[("State.Name", "ConfigLoaded"), ("Config.Name", "b")], &[]),
            (&[("Config.Dynamic", "false"), ("limit", "2")], &["a", "b"]),
            (&[("Config.Dynamic", "true")], &[]),
            (&[("limit", "2"), ("offset", "1")], &["b", "c"]),
            (&[("offtset", "3")], &["d"]),
            (&[("State.Name", "Healthy"), ("offset", "1")], &["d"]),
            (&[("limit", "0")], &[]),
        ] {
            assert_eq!(ask(query).unwrap(), names, "{query:?}");
        }
    }

    #[test]
    fn a_wrong_parameter_is_named() {
        for (parameter, value, expected) in [
            ("limit", "-1", "limit: expected a number, found \"-1\""),
            ("offtset", "x", "offtset: expected a number"),
            ("Config.Dynamic", "maybe", "Config.Dynamic: expected true or false"),
            ("State.Name", "Ill", "State.Name: expected ConfigLoaded, Healthy or DiscoveryError"),
            ("name", "b", "unknown parameter name; there are Config.Name"),
        ] {
            let error = ask(&[(parameter, value)]).unwrap_err();
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
