//! `X-Spindrift-Stale`: names the accounts that a response lacks or shows as they were, and [`UPSTREAM`] if that is true
//! of the upstream Clouddriver's part.

use std::{collections::BTreeSet, convert::Infallible};

use axum::{
    http::{HeaderMap, HeaderName, HeaderValue},
    response::{IntoResponseParts, ResponseParts},
};
use tracing::warn;

/// Comma-separated account names; a last entry `+3` stands for three more.
pub(super) const STALE: HeaderName = HeaderName::from_static("x-spindrift-stale");
/// Entry for the upstream Clouddriver's part.
pub(super) const UPSTREAM: &str = "upstream";
/// Maximum length of the names: other proxies and servers accept 8 KiB for all headers together.
const MAX_LENGTH: usize = 2048;

/// Names in the header, and the number of further ones.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct StaleHeader {
    names: BTreeSet<String>,
    more: usize,
}

// === impl StaleHeader ===

impl StaleHeader {
    pub(super) fn of<'n>(names: impl IntoIterator<Item = &'n str>) -> Self {
        Self { names: names.into_iter().map(str::to_owned).collect(), more: 0 }
    }

    /// Parses the header of a response.
    pub(super) fn read(headers: &HeaderMap) -> Self {
        let mut stale = Self::default();
        let values = headers.get_all(STALE).iter().filter_map(|value| value.to_str().ok());
        for name in values.flat_map(|value| value.split(',')).map(str::trim).filter(|name| !name.is_empty()) {
            match name.strip_prefix('+').and_then(|more| more.parse::<usize>().ok()) {
                Some(more) => stale.more = stale.more.saturating_add(more),
                None => drop(stale.names.insert(name.to_owned())),
            }
        }
        stale
    }

    /// Removes the accounts for which `keeps` is false. [`UPSTREAM`] is not an account and stays.
    pub(super) fn retain(&mut self, keeps: impl Fn(&str) -> bool) {
        self.names.retain(|name| name == UPSTREAM || keeps(name));
    }

    /// Adds the names to those that the headers already have.
    pub(super) fn mark(self, headers: &mut HeaderMap) {
        let mut all = Self::read(headers);
        all.names.extend(self.names);
        all.more = all.more.saturating_add(self.more);
        let Some(text) = all.text() else { return };
        match HeaderValue::try_from(text) {
            Ok(value) => drop(headers.insert(STALE, value)),
            Err(error) => warn!(%error, "a response does not name its stale accounts"),
        }
    }

    fn text(&self) -> Option<String> {
        let (mut words, mut length, mut more) = (Vec::new(), 0, self.more);
        // First, so that it is not cut off however many accounts there are.
        let upstream = self.names.get(UPSTREAM).into_iter();
        for name in upstream.chain(self.names.iter().filter(|name| *name != UPSTREAM)) {
            if length + name.len() > MAX_LENGTH {
                more += 1;
            } else {
                length += name.len() + 1;
                words.push(name.clone());
            }
        }
        words.extend((more > 0).then(|| format!("+{more}")));
        Some(words.join(",")).filter(|text| !text.is_empty())
    }
}

impl IntoResponseParts for StaleHeader {
    type Error = Infallible;

    fn into_response_parts(self, mut parts: ResponseParts) -> Result<ResponseParts, Infallible> {
        self.mark(parts.headers_mut());
        Ok(parts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(value: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(STALE, HeaderValue::from_static(value))])
    }

    fn accounts(count: usize) -> Vec<String> {
        (0..count).map(|n| format!("account-{n:04}")).collect()
    }

    fn text(names: &[String]) -> Option<String> {
        StaleHeader::of(names.iter().map(String::as_str)).text()
    }

    #[test]
    fn names_in_both_headers_are_listed_once() {
        let mut ours = headers("near, far,+2");
        StaleHeader::read(&headers("far,upstream,+1")).mark(&mut ours);
        assert_eq!(ours[STALE], "upstream,far,near,+3");
        let mut none = HeaderMap::new();
        StaleHeader::default().mark(&mut none);
        assert!(none.is_empty());
    }

    #[test]
    fn only_accounts_of_the_upstream_are_retained() {
        let mut stale = StaleHeader::read(&headers("upstream,ours,theirs"));
        stale.retain(|account| account == "theirs");
        assert_eq!(stale, StaleHeader::of(["theirs", UPSTREAM]));
    }

    #[test]
    fn a_short_header_names_every_account() {
        assert_eq!(text(&[]), None);
        assert_eq!(text(&accounts(2)).as_deref(), Some("account-0000,account-0001"));
    }

    #[test]
    fn a_header_of_many_accounts_ends_with_the_number_of_further_ones() {
        for (mut names, first) in [(accounts(5000), "account-0000,"), (accounts(4999), "upstream,")] {
            names.extend((names.len() < 5000).then(|| UPSTREAM.to_owned()));
            let text = text(&names).unwrap();
            let (shown, more) = text.rsplit_once(",+").unwrap();
            assert_eq!(shown.split(',').count() + more.parse::<usize>().unwrap(), 5000);
            assert!(shown.starts_with(first) && text.len() < MAX_LENGTH + 10);
        }
    }
}
