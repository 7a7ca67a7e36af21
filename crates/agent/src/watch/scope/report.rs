//! What a scope tells the hub, item by item.

use std::{sync::Arc, time::Duration};

use spindrift_kubernetes::RawObject;
use spindrift_model::{Generation, Item, Resource, ResourceVersion, Scope, ScopeId, Upsert};
use tokio::time::Instant;
use tracing::warn;

use crate::watch::{Shared, filter::NamespaceFilter, quota::Quota, synthetic::StandIns};

/// Bookmarks come every minute; the store need not hear of each, only often enough for resume points to stay young.
const PROGRESS_INTERVAL: Duration = Duration::from_mins(2);

pub(super) struct Teller {
    shared: Arc<Shared>,
    id: ScopeId,
    scope: Scope,
    resource: Resource,
    filter: NamespaceFilter,
    quota: Option<Arc<Quota>>,
    /// Objects of the listing for which there was no place.
    left_out: u64,
    generation: Generation,
    progress_sent: Instant,
}

// === impl Teller ===

impl Teller {
    pub(super) fn new(
        shared: Arc<Shared>,
        id: ScopeId,
        scope: Scope,
        resource: Resource,
        filter: NamespaceFilter,
        quota: Option<Arc<Quota>>,
    ) -> Self {
        let (generation, progress_sent) = (Generation(0), Instant::now());
        Self { shared, id, scope, resource, filter, quota, left_out: 0, generation, progress_sent }
    }

    /// A complete listing begins.
    pub(super) async fn begin(&mut self) {
        self.generation = self.generation.next();
        self.left_out = 0;
        if let Some(quota) = &self.quota {
            quota.clear(&self.scope);
        }
        self.send(Item::Begin { scope: self.id, generation: self.generation }).await;
    }

    /// The listing is complete.
    pub(super) async fn end(&self, resource_version: ResourceVersion) {
        if self.left_out > 0 {
            warn!(account = %self.shared.account.description.name, scope = %self.scope, left_out = self.left_out,
                "objects are left out, as cachingPolicies want it");
        }
        self.send(Item::End { scope: self.id, generation: self.generation, resource_version }).await;
    }

    pub(super) async fn upsert(&mut self, object: RawObject) {
        self.changed();
        if !self.filter.admits(&object) {
            return;
        }
        if self.quota.as_ref().is_none_or(|quota| quota.admits(&self.scope, &object.uid)) {
            self.send(self.upsert_item(object)).await;
        } else {
            self.left_out += 1;
        }
    }

    pub(super) async fn delete(&self, object: RawObject) {
        self.changed();
        let is_told = self.quota.as_ref().is_none_or(|quota| quota.release(&self.scope, &object.uid));
        if !is_told || !self.filter.admits(&object) {
            return;
        }
        let RawObject { namespace, name, uid, resource_version, body: _ } = object;
        self.send(Item::Delete { scope: self.id, namespace, name, uid, resource_version }).await;
    }

    /// Nothing changed up to this version.
    pub(super) async fn progress(&mut self, resource_version: &ResourceVersion) {
        if self.progress_sent.elapsed() >= PROGRESS_INTERVAL {
            self.progress_sent = Instant::now();
            self.send(Item::Progress { scope: self.id, resource_version: resource_version.clone() }).await;
        }
    }

    /// Tells what stands in for the objects that may not be read, as if it had been listed.
    pub(super) async fn stand_ins(&mut self, stand_ins: &StandIns) {
        let StandIns { objects, version } = stand_ins;
        self.begin().await;
        for object in objects.iter().filter(|object| self.filter.admits(object)) {
            self.send(self.upsert_item(object.clone())).await;
        }
        self.end(version.clone()).await;
    }

    /// Shows that something could not be read.
    pub(super) fn unreadable(&self, error: &str, bytes: usize) {
        let account = &self.shared.account.description.name;
        let scope = &self.scope;
        warn!(%account, %scope, error, bytes, "an event could not be read");
        self.shared.metrics.unparseable_events.inc();
        self.shared.board.unparseable(account);
        self.shared
            .board
            .problem(account, format!("{scope}: an event of {bytes} bytes could not be read: {error}"));
    }

    fn upsert_item(&self, object: RawObject) -> Item {
        let RawObject { namespace, name, uid, resource_version, body } = object;
        Item::Upsert(Upsert { scope: self.id, namespace, name, uid, resource_version, body })
    }

    /// A CRD that came, went or changed changes what there is to watch.
    fn changed(&self) {
        if &*self.resource.kind == "CustomResourceDefinition" {
            self.shared.rediscover.notify_one();
        }
    }

    async fn send(&self, item: Item) {
        self.shared.metrics.sent(&self.resource, &item);
        self.shared.outlet.send(item).await;
    }
}
