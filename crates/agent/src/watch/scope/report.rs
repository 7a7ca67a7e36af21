//! Items of a scope for the hub.

use std::{collections::HashSet, sync::Arc, time::Duration};

use spindrift_kubernetes::RawObject;
use spindrift_model::{Generation, Item, Resource, ResourceVersion, Scope, ScopeId, Uid, Upsert};
use tokio::time::Instant;
use tracing::warn;

use crate::watch::{EngineContext, filter::ObjectFilter, quota::Quota, synthetic::SyntheticObjects};

/// Interval of progress items: bookmarks come every minute, and resume points only have to stay young.
const PROGRESS_INTERVAL: Duration = Duration::from_mins(2);

/// Sends the objects and changes of a scope, filtered, to the flow control.
pub(super) struct ScopeReporter {
    context: Arc<EngineContext>,
    id: ScopeId,
    scope: Scope,
    resource: Resource,
    filter: ObjectFilter,
    quota: Option<Arc<Quota>>,
    /// Objects that were sent, if only those are which Spinnaker deployed: one that is no longer is deleted for the hub.
    sent: HashSet<Uid>,
    /// Objects of the list that are beyond the quota.
    left_out: u64,
    generation: Generation,
    progress_sent: Instant,
}

// === impl ScopeReporter ===

impl ScopeReporter {
    pub(super) fn new(
        context: Arc<EngineContext>,
        id: ScopeId,
        scope: Scope,
        resource: Resource,
        filter: ObjectFilter,
        quota: Option<Arc<Quota>>,
    ) -> Self {
        let (generation, progress_sent) = (Generation(0), Instant::now());
        let sent = HashSet::new();
        Self { context, id, scope, resource, filter, quota, sent, left_out: 0, generation, progress_sent }
    }

    /// Begins a complete list.
    pub(super) async fn begin(&mut self) {
        self.generation = self.generation.next();
        self.left_out = 0;
        self.sent.clear();
        if let Some(quota) = &self.quota {
            quota.clear(&self.scope);
        }
        self.send(Item::Begin { scope: self.id, generation: self.generation }).await;
    }

    /// Completes the list.
    pub(super) async fn end(&self, resource_version: ResourceVersion) {
        if self.left_out > 0 {
            warn!(account = %self.context.account.description.name,
                kind = &*self.scope.kind, group = &*self.scope.group, watchedNamespace = self.scope.watched_namespace(),
                left_out = self.left_out,
                "objects beyond the limit of cachingPolicies are left out");
        }
        self.send(Item::End { scope: self.id, generation: self.generation, resource_version }).await;
    }

    pub(super) async fn upsert(&mut self, object: RawObject) {
        self.changed();
        if !self.filter.admits(&object) {
            if self.sent.remove(&object.uid) {
                self.send(self.delete_item(object)).await;
            }
            return;
        }
        if self.filter.is_only_managed() {
            self.sent.insert(object.uid.clone());
        }
        if self.quota.as_ref().is_none_or(|quota| quota.admits(&self.scope, &object.uid)) {
            self.send(self.upsert_item(object)).await;
        } else {
            self.left_out += 1;
        }
    }

    pub(super) async fn delete(&mut self, object: RawObject) {
        self.changed();
        let was_sent = self.quota.as_ref().is_none_or(|quota| quota.release(&self.scope, &object.uid));
        let was_known = self.sent.remove(&object.uid);
        let is_meant = if self.filter.is_only_managed() { was_known } else { self.filter.admits(&object) };
        if was_sent && is_meant {
            self.send(self.delete_item(object)).await;
        }
    }

    fn delete_item(&self, object: RawObject) -> Item {
        let RawObject { namespace, name, uid, resource_version, body: _ } = object;
        Item::Delete { scope: self.id, namespace, name, uid, resource_version }
    }

    /// Reports that nothing changed up to this version.
    pub(super) async fn progress(&mut self, resource_version: &ResourceVersion) {
        if self.progress_sent.elapsed() >= PROGRESS_INTERVAL {
            self.progress_sent = Instant::now();
            self.send(Item::Progress { scope: self.id, resource_version: resource_version.clone() }).await;
        }
    }

    /// Reports synthetic objects as if they had been listed.
    pub(super) async fn report_synthetic(&mut self, synthetic: &SyntheticObjects) {
        let SyntheticObjects { objects, version } = synthetic;
        self.begin().await;
        for object in objects.iter().filter(|object| self.filter.admits(object)) {
            self.send(self.upsert_item(object.clone())).await;
        }
        self.end(version.clone()).await;
    }

    /// Reports an event that could not be parsed.
    pub(super) fn unparseable(&self, error: &str, bytes: usize) {
        let account = &self.context.account.description.name;
        let scope = &self.scope;
        warn!(%account,
            kind = &*scope.kind, group = &*scope.group, watchedNamespace = scope.watched_namespace(),
            error, bytes, "an event could not be read");
        self.context.metrics.unparseable_events.inc();
        self.context.status.unparseable(account);
        self.context
            .status
            .problem(account, format!("{scope}: an event of {bytes} bytes could not be read: {error}"));
    }

    fn upsert_item(&self, object: RawObject) -> Item {
        let RawObject { namespace, name, uid, resource_version, body } = object;
        Item::Upsert(Upsert { scope: self.id, namespace, name, uid, resource_version, body })
    }

    /// Triggers discovery if a CRD was created, changed or deleted: the served kinds change with it.
    fn changed(&self) {
        if &*self.resource.kind == "CustomResourceDefinition" {
            self.context.rediscover.notify_one();
        }
    }

    async fn send(&self, item: Item) {
        self.context.metrics.sent(&self.resource, &item);
        self.context.flow.send(item).await;
    }
}
