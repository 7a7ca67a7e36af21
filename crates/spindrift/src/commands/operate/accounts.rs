//! Flags that select accounts and the namespace.

use anyhow::bail;
use clap::{Args, builder::NonEmptyStringValueParser};
use clap_complete::ArgValueCompleter;

use super::DEFAULT_NAMESPACE;
use crate::{complete, hub::Client};

/// Accounts and namespace of an operation. The user must name the accounts, unless there is only one.
#[derive(Debug, Clone, Args)]
pub(crate) struct AccountFlags {
    /// A comma-separated list of accounts, or patterns such as 'eu-*'. Optional if the hub has only one account.
    #[arg(
        short,
        long = "account",
        value_delimiter = ',',
        value_name = "ACCOUNT",
        value_parser = NonEmptyStringValueParser::new(),
        add = ArgValueCompleter::new(complete::accounts)
    )]
    accounts: Vec<String>,
    /// Select all accounts of the hub.
    #[arg(long, conflicts_with = "accounts")]
    all_accounts: bool,
    /// The namespace of the request. Defaults to "default".
    #[arg(short, long, add = ArgValueCompleter::new(complete::namespaces))]
    pub(crate) namespace: Option<String>,
}

// === impl AccountFlags ===

impl AccountFlags {
    /// Selected accounts; fails before any operation if one does not exist.
    pub(crate) async fn accounts(&self, hub: &Client) -> anyhow::Result<Vec<String>> {
        let known: Vec<_> = hub.accounts().await?.into_iter().map(|account| account.name).collect();
        self.among(&known)
    }

    /// As [`Self::accounts`], but defaults to all accounts: for commands that only read.
    pub(crate) async fn accounts_or_all(&self, hub: &Client) -> anyhow::Result<Vec<String>> {
        if self.accounts.is_empty() {
            return Self { all_accounts: true, ..self.clone() }.accounts(hub).await;
        }
        self.accounts(hub).await
    }

    /// Whether the user has selected no accounts.
    pub(crate) fn is_unspecified(&self) -> bool {
        self.accounts.is_empty() && !self.all_accounts
    }

    /// Namespace of objects without one of their own.
    pub(crate) fn namespace(&self) -> &str {
        self.namespace.as_deref().unwrap_or(DEFAULT_NAMESPACE)
    }

    fn among(&self, known: &[String]) -> anyhow::Result<Vec<String>> {
        if known.is_empty() {
            bail!("the hub has no accounts: no agent has connected to it yet");
        }
        if self.all_accounts {
            return Ok(known.to_vec());
        }
        let Some(unfound) = self.accounts.iter().find(|wanted| !known.iter().any(|name| fits(wanted, name)))
        else {
            return match known {
                [only] if self.accounts.is_empty() => Ok(vec![only.clone()]),
                _ if self.accounts.is_empty() => bail!(
                    "no account was specified; use -a ACCOUNT or --all-accounts; the hub has {}",
                    known.join(", ")
                ),
                _ => {
                    let meant = |name: &&String| self.accounts.iter().any(|wanted| fits(wanted, name));
                    Ok(known.iter().filter(meant).cloned().collect())
                }
            };
        };
        bail!("account {unfound:?} not found; the hub has {}", known.join(", "))
    }
}

/// Accounts that these names and patterns select; fails if one selects none. Names without a pattern are not looked up.
pub(crate) async fn expand_accounts(hub: &Client, wanted: &[String]) -> anyhow::Result<Vec<String>> {
    if !wanted.iter().any(|wanted| is_pattern(wanted)) {
        return Ok(wanted.to_vec());
    }
    let known: Vec<_> = hub.accounts().await?.into_iter().map(|account| account.name).collect();
    AccountFlags { accounts: wanted.to_vec(), all_accounts: false, namespace: None }.among(&known)
}

/// Whether a name of an account is a pattern.
pub(crate) fn is_pattern(wanted: &str) -> bool {
    wanted.contains(['*', '?'])
}

/// Whether a name matches a pattern: `*` is any characters, `?` is one.
fn fits(pattern: &str, name: &str) -> bool {
    let mut rest = pattern.chars();
    match rest.next() {
        None => name.is_empty(),
        Some('*') => {
            let ends = name.char_indices().map(|(start, _)| start).chain([name.len()]);
            ends.into_iter().any(|start| fits(rest.as_str(), &name[start..]))
        }
        Some(wanted) => {
            let mut letters = name.chars();
            letters.next().is_some_and(|letter| wanted == '?' || wanted == letter)
                && fits(rest.as_str(), letters.as_str())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(accounts: &[&str]) -> AccountFlags {
        let accounts = accounts.iter().map(ToString::to_string).collect();
        AccountFlags { accounts, all_accounts: false, namespace: None }
    }

    #[test]
    fn accounts_are_selected_by_name_and_pattern() {
        let known = ["asia-1", "eu-1", "eu-2"].map(str::to_owned);
        for (accounts, expected) in [
            (&["eu-1"][..], &["eu-1"][..]),
            (&["eu-*", "eu-1"], &["eu-1", "eu-2"]),
            (&["*-1"], &["asia-1", "eu-1"]),
            (&["e?-2"], &["eu-2"]),
            (&["*"], &["asia-1", "eu-1", "eu-2"]),
        ] {
            assert_eq!(wanted(accounts).among(&known).unwrap(), expected, "{accounts:?}");
        }
        for accounts in [&["eu-3"][..], &["eu-1", "us-*"], &["eu"], &["eu-1?"]] {
            let error = wanted(accounts).among(&known).unwrap_err().to_string();
            assert!(error.ends_with("the hub has asia-1, eu-1, eu-2"), "{error}");
        }
        let error = wanted(&[]).among(&known).unwrap_err().to_string();
        assert!(error.contains("use -a ACCOUNT"), "several, and none named: {error}");
        assert_eq!(wanted(&[]).among(&known[..1]).unwrap(), ["asia-1"], "there is only one");
        assert!(wanted(&[]).among(&[]).unwrap_err().to_string().contains("no agent has connected"));
    }
}
