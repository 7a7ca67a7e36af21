//! The namespaces of an account that does not cache them: looked up again and again, and told when they have changed.
//! Where they are cached, the hub knows them from there.

use std::{sync::Arc, time::Duration};

use spindrift_model::{AccountName, CacheKinds, Resource};
use spindrift_process::report;
use tokio::{
    sync::mpsc,
    time::{MissedTickBehavior, interval},
};
use tracing::debug;

use crate::{accounts::Account, config::AccountConfig, metrics::Metrics};

/// As often as Clouddriver does.
const LOOK: Duration = Duration::from_secs(30);

/// An account, and all its namespaces.
pub(super) type Told = (AccountName, Vec<String>);

/// Looks up the namespaces of an account, for as long as it is cached.
pub(super) struct Lookout {
    pub(super) account: Arc<Account>,
    pub(super) metrics: Arc<Metrics>,
    pub(super) told_tx: mpsc::Sender<Told>,
}

// === impl Lookout ===

impl Lookout {
    /// Never ends.
    pub(super) async fn run(self) {
        let name = &self.account.description.name;
        let mut told = self.account.description.namespaces.clone();
        let mut look = interval(LOOK);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            look.tick().await;
            self.metrics.kubernetes_requests.inc();
            match self.account.namespaces().await {
                Ok(namespaces) if namespaces != told => {
                    told.clone_from(&namespaces);
                    // A session that is over drops this task, too.
                    self.told_tx.send((name.clone(), namespaces)).await.ok();
                }
                Ok(_) => {}
                // They may not be listed, or not now; they are only shown.
                Err(error) => debug!(account = %name, error = %report(&error), "namespaces were not listed"),
            }
        }
    }
}

/// Whether the namespaces of an account are neither fixed nor among what is cached of it.
pub(super) fn are_looked_up(config: &AccountConfig, kinds: &CacheKinds) -> bool {
    let resource = Resource::namespaces();
    let short_names = resource.short_names();
    config.namespaces.is_empty()
        && !(kinds.wants(&resource, short_names) && config.admits(&resource, short_names))
}

#[cfg(test)]
mod tests {
    use spindrift_model::KindPattern;

    use super::*;

    #[test]
    fn namespaces_that_are_cached_or_fixed_are_not_looked_up() {
        let looked_up = |config: &str, wanted: &str| {
            let kinds = CacheKinds { kinds: vec![KindPattern::parse(wanted)], ..CacheKinds::default() };
            are_looked_up(&serde_json::from_str(config).unwrap(), &kinds)
        };
        assert!(!looked_up("{}", "Namespace"));
        assert!(!looked_up(r#"{"kinds":["ns"]}"#, "Namespace"));
        assert!(!looked_up(r#"{"namespaces":["shop"]}"#, "Pod"));
        assert!(looked_up("{}", "Pod"));
        assert!(looked_up(r#"{"kinds":["Pod"]}"#, "Namespace"));
        assert!(looked_up(r#"{"omitKinds":["Namespace"],"omitNamespaces":["shop"]}"#, "Namespace"));
    }
}
