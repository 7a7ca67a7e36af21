//! What of an answer is missing, or not as it is now, as a header: accounts, and [`UPSTREAM`].

use std::collections::BTreeSet;

use axum::http::{HeaderMap, HeaderName, HeaderValue};

/// Names accounts by comma; `+3` at the end are three more.
pub(super) const STALE: HeaderName = HeaderName::from_static("x-spindrift-stale");
/// The Clouddriver's part.
pub(super) const UPSTREAM: &str = "upstream";
/// Proxies and servers of others take 8 KiB of all headers together.
const LONGEST: usize = 2048;

/// Names, and how many more there are.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Stale {
    names: BTreeSet<String>,
    more: usize,
}

// === impl Stale ===

impl Stale {
    /// These.
    pub(super) fn of<'n>(names: impl IntoIterator<Item = &'n str>) -> Self {
        Self { names: names.into_iter().map(str::to_owned).collect(), more: 0 }
    }

    /// What an answer says.
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

    /// Only those accounts; the Clouddriver's own part is nobody's account.
    pub(super) fn retain(&mut self, keeps: impl Fn(&str) -> bool) {
        self.names.retain(|name| name == UPSTREAM || keeps(name));
    }

    /// Says so, besides what is said already.
    pub(super) fn mark(self, headers: &mut HeaderMap) {
        let mut all = Self::read(headers);
        all.names.extend(self.names);
        all.more = all.more.saturating_add(self.more);
        if let Some(value) = all.text().and_then(|text| HeaderValue::try_from(text).ok()) {
            headers.insert(STALE, value);
        }
    }

    fn text(&self) -> Option<String> {
        let (mut words, mut length, mut more) = (Vec::new(), 0, self.more);
        // Whoever looks for it finds it, however many accounts there are.
        let upstream = self.names.get(UPSTREAM).into_iter();
        for name in upstream.chain(self.names.iter().filter(|name| *name != UPSTREAM)) {
            if length + name.len() > LONGEST {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(value: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(STALE, HeaderValue::from_static(value))])
    }

    #[test]
    fn what_is_said_twice_is_said_once() {
        let mut said = headers("near, far,+2");
        Stale::read(&headers("far,upstream,+1")).mark(&mut said);
        assert_eq!(said[STALE], "upstream,far,near,+3");
        let mut nothing = HeaderMap::new();
        Stale::default().mark(&mut nothing);
        assert!(nothing.is_empty());
    }

    #[test]
    fn of_others_only_their_accounts_are_named() {
        let mut stale = Stale::read(&headers("upstream,ours,theirs"));
        stale.retain(|account| account == "theirs");
        assert_eq!(stale, Stale::of(["theirs", UPSTREAM]));
    }

    #[test]
    fn a_header_of_many_accounts_ends_with_how_many_more_there_are() {
        let names: Vec<_> =
            (0..5000).map(|n| format!("account-{n:04}")).chain([UPSTREAM.to_owned()]).collect();
        let text = Stale::of(names.iter().map(String::as_str)).text().unwrap();
        let (shown, more) = text.rsplit_once(",+").unwrap();
        assert_eq!(shown.split(',').count() + more.parse::<usize>().unwrap(), 5001);
        assert!(shown.starts_with("upstream,") && text.len() < LONGEST + 10);
    }
}
