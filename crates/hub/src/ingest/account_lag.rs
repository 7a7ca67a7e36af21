//! Lag and freshness of the attached accounts, as metrics.

use std::{
    collections::{BTreeMap, VecDeque},
    fmt,
    sync::Arc,
};

use parking_lot::Mutex;
use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, EncodeMetric},
    metrics::gauge::ConstGauge,
};
use spindrift_model::AccountName;
use tokio::time::Instant;

/// Accounts with series of their own, the first ones by name; the largest lag covers all.
const LABELLED_ACCOUNTS: usize = 1000;

/// Times of all accounts that are attached to this hub.
#[derive(Debug, Clone, Default)]
pub struct AccountLags {
    accounts: Arc<Mutex<BTreeMap<AccountName, Arc<AccountTimes>>>>,
}

/// Times of one attachment; its series end when it is dropped.
#[derive(Debug)]
pub(super) struct AccountLag {
    all: AccountLags,
    account: AccountName,
    times: Arc<AccountTimes>,
}

#[derive(Debug)]
struct AccountTimes(Mutex<BatchTimes>);

#[derive(Debug)]
struct BatchTimes {
    /// Arrival of each batch that is not committed, oldest first.
    uncommitted: VecDeque<Instant>,
    /// Last commit, or the attachment.
    committed: Instant,
}

// === impl AccountLags ===

impl AccountLags {
    /// Adds an account that was just attached.
    pub(super) fn attached(&self, account: AccountName) -> AccountLag {
        let times = BatchTimes { uncommitted: VecDeque::new(), committed: Instant::now() };
        let times = Arc::new(AccountTimes(Mutex::new(times)));
        self.accounts.lock().insert(account.clone(), Arc::clone(&times));
        AccountLag { all: self.clone(), account, times }
    }

    /// Seconds of lag and of freshness, by account.
    fn seconds(&self) -> Vec<(AccountName, f64, f64)> {
        let accounts = self.accounts.lock();
        accounts.iter().map(|(account, times)| (account.clone(), times.lag(), times.freshness())).collect()
    }
}

impl Collector for AccountLags {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let seconds = self.seconds();
        let lag = "Age of the oldest batch of an account that is received and not committed";
        let labelled = seconds.iter().take(LABELLED_ACCOUNTS);
        family(&mut encoder, "spindrift_account_lag_seconds", lag, labelled.clone().map(|it| (&it.0, it.1)))?;
        let freshness =
            "Time since the last commit of an account; agents confirm quiet kinds every few minutes";
        let name = "spindrift_account_freshness_seconds";
        family(&mut encoder, name, freshness, labelled.map(|it| (&it.0, it.2)))?;
        let largest = ConstGauge::new(seconds.iter().map(|it| it.1).fold(0.0, f64::max));
        let name = "spindrift_hub_account_lag_max_seconds";
        let help = "Largest lag of all accounts that are attached to this hub";
        largest.encode(encoder.encode_descriptor(name, help, None, largest.metric_type())?)
    }
}

fn family<'a>(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    values: impl Iterator<Item = (&'a AccountName, f64)>,
) -> fmt::Result {
    let gauge = ConstGauge::new(0.0);
    let mut metric = encoder.encode_descriptor(name, help, None, gauge.metric_type())?;
    for (account, value) in values {
        ConstGauge::new(value).encode(metric.encode_family(&[("account", account.as_str())])?)?;
    }
    Ok(())
}

// === impl AccountLag ===

impl AccountLag {
    /// Records a batch that has arrived.
    pub(super) fn received(&self) {
        self.times.0.lock().uncommitted.push_back(Instant::now());
    }

    /// Records that the oldest of them is committed.
    pub(super) fn committed(&self) {
        let mut times = self.times.0.lock();
        times.uncommitted.pop_front();
        times.committed = Instant::now();
    }
}

impl Drop for AccountLag {
    fn drop(&mut self) {
        let mut accounts = self.all.accounts.lock();
        // A later attachment of the account may have taken the place.
        if accounts.get(&self.account).is_some_and(|times| Arc::ptr_eq(times, &self.times)) {
            accounts.remove(&self.account);
        }
    }
}

// === impl AccountTimes ===

impl AccountTimes {
    fn lag(&self) -> f64 {
        self.0.lock().uncommitted.front().map_or(0.0, |arrived| arrived.elapsed().as_secs_f64())
    }

    fn freshness(&self) -> f64 {
        self.0.lock().committed.elapsed().as_secs_f64()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use prometheus_client::{encoding::text::encode, registry::Registry};

    use super::*;

    fn account(name: &str) -> AccountName {
        AccountName::parse(name).unwrap()
    }

    /// Moves all times of an attachment into the past.
    fn age(lag: &AccountLag, by: Duration) {
        let mut times = lag.times.0.lock();
        let earlier = |time: Instant| time.checked_sub(by).unwrap();
        times.committed = earlier(times.committed);
        times.uncommitted = times.uncommitted.iter().map(|time| earlier(*time)).collect();
    }

    #[test]
    fn lag_is_the_age_of_the_oldest_uncommitted_batch() {
        let lags = AccountLags::default();
        let (prod, idle) = (lags.attached(account("prod")), lags.attached(account("idle")));
        for _ in 0..2 {
            prod.received();
            age(&prod, Duration::from_hours(1));
        }
        // Hours are longer than this test takes.
        let hours = |lags: &AccountLags| {
            let hours = |seconds: f64| (seconds / 3600.0).floor();
            let seconds = lags.seconds().into_iter();
            seconds.map(|(name, lag, fresh)| (name.to_string(), hours(lag), hours(fresh))).collect::<Vec<_>>()
        };
        assert_eq!(hours(&lags), [("idle".into(), 0.0, 0.0), ("prod".into(), 2.0, 2.0)]);
        prod.committed();
        assert_eq!(hours(&lags), [("idle".into(), 0.0, 0.0), ("prod".into(), 1.0, 0.0)]);
        drop(idle);
        let again = lags.attached(account("prod"));
        drop(prod);
        assert_eq!(hours(&lags), [("prod".into(), 0.0, 0.0)], "the later attachment");
        drop(again);
        assert!(hours(&lags).is_empty());
    }

    #[test]
    fn the_number_of_series_is_bounded() {
        let lags = AccountLags::default();
        let attached: Vec<_> = (0..LABELLED_ACCOUNTS + 5)
            .map(|number| lags.attached(account(&format!("a-{number:05}"))))
            .collect();
        let mut registry = Registry::default();
        registry.register_collector(Box::new(lags));
        let mut text = String::new();
        encode(&mut text, &registry).unwrap();
        assert_eq!(text.matches("spindrift_account_lag_seconds{account=").count(), LABELLED_ACCOUNTS);
        assert!(text.contains("\nspindrift_hub_account_lag_max_seconds 0.0\n"), "{text}");
        drop(attached);
    }
}
