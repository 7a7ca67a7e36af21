//! Shell completion: hubs from the configuration; accounts, namespaces, kinds and names from the hub.
//!
//! The shell runs this program with the words of its command line (see `spindrift completion`). The user waits, so the
//! hub has one second to respond; if it does not, there are no candidates and no error.

mod command_line;

use std::{ffi::OsStr, time::Duration};

use clap_complete::CompletionCandidate;

use crate::{
    hub::{Client, HubError, Selection},
    settings::Settings,
};
use command_line::CommandLine;

/// Variable by which the shell requests completions; clap's default name could already be set for another program.
pub(crate) const VARIABLE: &str = "SPINDRIFT_COMPLETE";

const HUB_TIMEOUT: Duration = Duration::from_secs(1);

/// Maximum number of candidates; more could not be read.
const MAX_NAMES: u32 = 500;

/// Default namespace of `get`.
const DEFAULT_NAMESPACE: &str = "default";

/// Hubs of the configuration.
pub(crate) fn hubs(current: &OsStr) -> Vec<CompletionCandidate> {
    let Ok(settings) = Settings::load() else { return Vec::new() };
    let hubs = settings.content.hubs.into_iter().map(|(name, hub)| (name, Some(hub.url)));
    matching(current, hubs.collect())
}

/// Accounts, also the next one of a comma-separated list.
pub(crate) fn accounts(current: &OsStr) -> Vec<CompletionCandidate> {
    joined(current, |_| {
        ask(async |hub| {
            let accounts = hub.accounts().await?;
            Ok(accounts.into_iter().map(|account| (account.name, None)).collect())
        })
    })
}

/// Namespaces of the accounts on the command line.
pub(crate) fn namespaces(current: &OsStr) -> Vec<CompletionCandidate> {
    let CommandLine { account, .. } = CommandLine::of_line();
    let namespaces = ask(async |hub| {
        let names = hub.namespaces(account.as_deref()).await?;
        Ok(names.into_iter().map(|name| (name, None)).collect())
    });
    matching(current, namespaces)
}

/// Kinds by their plural names, also the next one of a comma-separated list; short names only by their prefix.
pub(crate) fn kinds(current: &OsStr) -> Vec<CompletionCandidate> {
    joined(current, |begun| {
        ask(async |hub| {
            let resources = hub.api_resources().await?;
            let mut offered = Vec::new();
            for resource in resources {
                let short =
                    resource.short_names.iter().filter(|short| !begun.is_empty() && short.starts_with(begun));
                offered.extend(short.map(|short| (short.clone(), Some(resource.kind.clone()))));
                offered.push((resource.plural, Some(resource.kind)));
            }
            offered.sort();
            offered.dedup();
            Ok(offered)
        })
    })
}

/// Names of objects of the kind, accounts and namespace on the command line.
pub(crate) fn names(current: &OsStr) -> Vec<CompletionCandidate> {
    let words = CommandLine::of_line();
    let Some(kind) = words.kind.clone() else { return Vec::new() };
    matching(current, names_of(words, kind))
}

/// Kinds, then names of the kind, or both in one word: `deploy web`, `deploy/web`.
pub(crate) fn resources(current: &OsStr) -> Vec<CompletionCandidate> {
    let words = CommandLine::of_line();
    let begun = current.to_str().unwrap_or_default();
    match (begun.split_once('/'), &words.kind) {
        (Some((kind, name)), _) => {
            let names = matching(OsStr::new(name), names_of(words, kind.to_owned()));
            names.into_iter().map(|name| name.add_prefix(format!("{kind}/"))).collect()
        }
        (None, Some(kind)) if kind != begun && !kind.contains('/') => names(current),
        (None, _) => kinds(current),
    }
}

/// Names of pods, or `kind/name` of resources that have pods.
pub(crate) fn pods(current: &OsStr) -> Vec<CompletionCandidate> {
    if current.to_str().is_some_and(|begun| begun.contains('/')) {
        return resources(current);
    }
    matching(current, names_of(CommandLine::of_line(), "pods".to_owned()))
}

/// Names of objects of a kind, in the accounts and namespace of the command line.
fn names_of(words: CommandLine, kind: String) -> Vec<Offer> {
    let CommandLine { account, namespace, all_namespaces, .. } = words;
    let namespace = namespace.or_else(|| (!all_namespaces).then(|| DEFAULT_NAMESPACE.to_owned()));
    let selection =
        Selection { account, namespace, kind: Some(kind), limit: Some(MAX_NAMES), ..Selection::default() };
    ask(async |hub| {
        let mut objects = hub.page(&selection, None).await?.items;
        if objects.is_empty() {
            // The kind may have no namespaces.
            let anywhere = Selection { namespace: None, ..selection };
            objects = hub.page(&anywhere, None).await?.items;
            objects.retain(|object| object.namespace.is_empty());
        }
        let mut names: Vec<_> = objects.into_iter().map(|object| (object.name, None)).collect();
        names.sort();
        names.dedup();
        Ok(names)
    })
}

/// Candidate and its description.
type Offer = (String, Option<String>);

/// Queries the hub of the command line; returns no candidates if it does not respond.
fn ask(question: impl AsyncFnOnce(Client) -> Result<Vec<Offer>, HubError>) -> Vec<Offer> {
    let answer = || {
        let wanted = CommandLine::of_line().hub;
        let url = Settings::load().ok()?.hub_url(wanted.as_deref()).ok()?;
        let hub = Client::new(url).ok()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
        runtime.block_on(async { tokio::time::timeout(HUB_TIMEOUT, question(hub)).await }).ok()?.ok()
    };
    answer().unwrap_or_default()
}

fn matching(current: &OsStr, offered: Vec<Offer>) -> Vec<CompletionCandidate> {
    let Some(begun) = current.to_str() else { return Vec::new() };
    let fitting = offered.into_iter().filter(|(value, _)| value.starts_with(begun));
    fitting.map(|(value, help)| CompletionCandidate::new(value).help(help.map(Into::into))).collect()
}

/// Completes the last value of a comma-separated list.
fn joined(current: &OsStr, offer: impl FnOnce(&str) -> Vec<Offer>) -> Vec<CompletionCandidate> {
    let Some(text) = current.to_str() else { return Vec::new() };
    let (before, begun) = text.rsplit_once(',').map_or(("", text), |(before, begun)| (before, begun));
    let candidates = matching(OsStr::new(begun), offer(begun));
    if before.is_empty() {
        return candidates;
    }
    candidates.into_iter().map(|candidate| candidate.add_prefix(format!("{before},"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_of_several_is_completed() {
        let offer = |_: &str| ["pods", "services"].map(|kind| (kind.to_owned(), None)).to_vec();
        let offered = |current: &str| -> Vec<_> {
            let candidates = joined(OsStr::new(current), offer);
            candidates.iter().map(|candidate| candidate.get_value().to_string_lossy().into_owned()).collect()
        };
        assert_eq!(offered(""), ["pods", "services"]);
        assert_eq!(offered("se"), ["services"]);
        assert_eq!(offered("pods,"), ["pods,pods", "pods,services"]);
        assert_eq!(offered("a,b,p"), ["a,b,pods"]);
        assert!(offered("x").is_empty());
    }
}
