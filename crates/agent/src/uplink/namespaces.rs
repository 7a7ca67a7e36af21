//! Namespaces of an account that does not cache them: polled, and announced when they have changed. Where they are
//! cached, the hub has them as objects.

use std::{sync::Arc, time::Duration};

use spindrift_model::{AccountName, CacheKinds, Resource};
use spindrift_process::report;
use tokio::{
    sync::mpsc,
    time::{MissedTickBehavior, interval},
};
use tracing::debug;

use crate::{accounts::Account, config::AccountConfig, metrics::Metrics};

/// Interval of the polls, which is Clouddriver's.
const POLL_INTERVAL: Duration = Duration::from_secs(30);

/// An account and all its namespaces.
pub(super) type NamespaceUpdate = (AccountName, Vec<String>);

/// Polls the namespaces of an account while it is cached.
pub(super) struct NamespacePoller {
    pub(super) account: Arc<Account>,
    pub(super) metrics: Arc<Metrics>,
    pub(super) updates_tx: mpsc::Sender<NamespaceUpdate>,
}

// === impl NamespacePoller ===

impl NamespacePoller {
    /// Polls until it is dropped.
    pub(super) async fn run(self) {
        let name = &self.account.description.name;
        let mut sent = self.account.description.namespaces.clone();
        let mut poll = interval(POLL_INTERVAL);
        poll.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            poll.tick().await;
            self.metrics.kubernetes_requests.inc();
            match self.account.namespaces().await {
                Ok(namespaces) if namespaces != sent => {
                    sent.clone_from(&namespaces);
                    // Without a receiver the session has ended, which drops this task, too.
                    self.updates_tx.send((name.clone(), namespaces)).await.ok();
                }
                Ok(_) => {}
                // Listing them may be forbidden or fail; they are only shown.
                Err(error) => debug!(account = %name, error = %report(&error), "namespaces were not listed"),
            }
        }
    }
}

/// Whether the namespaces of an account are neither configured nor cached as objects.
pub(super) fn must_poll(config: &AccountConfig, kinds: &CacheKinds) -> bool {
    let resource = Resource::namespaces();
    let short_names = resource.short_names();
    config.namespaces.is_empty()
        && !(config.cached_kinds(kinds).wants(&resource, short_names)
            && config.admits(&resource, short_names))
}

#[cfg(test)]
mod tests {
    use spindrift_model::KindPattern;

    use super::*;

    #[test]
    fn namespaces_that_are_cached_or_configured_are_not_polled() {
        let polled = |config: &str, wanted: &str| {
            let kinds = CacheKinds { kinds: vec![KindPattern::parse(wanted)], ..CacheKinds::default() };
            must_poll(&serde_json::from_str(config).unwrap(), &kinds)
        };
        assert!(!polled("{}", "Namespace"));
        assert!(!polled(r#"{"kinds":["ns"]}"#, "Namespace"));
        assert!(!polled(r#"{"namespaces":["shop"]}"#, "Pod"));
        assert!(polled("{}", "Pod"));
        assert!(polled(r#"{"kinds":["Pod"]}"#, "Namespace"));
        assert!(polled(r#"{"omitKinds":["Namespace"],"omitNamespaces":["shop"]}"#, "Namespace"));
    }
}
