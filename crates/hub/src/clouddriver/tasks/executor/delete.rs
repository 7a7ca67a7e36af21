//! Delete, and the clean-up of old versions.

use serde_json::Value;
use spindrift_model::{Delete, DryRun, Preconditions, Propagation, Verb};
use spindrift_spinnaker::{
    Cleanup, Coordinates, Failure, Manifest, OperationResult,
    operation::{Cascade, CleanupArtifacts, DeleteManifest, DeleteOptions},
};

use super::{Forbidden, Listing, OperationExecutor, or_default};
use crate::clouddriver::{object_ref::api_version_and_kind, tasks::step_error::StepError};

// === impl OperationExecutor ===

impl OperationExecutor<'_> {
    /// Deletes an object by its name, or some by their labels, and waits until they are gone.
    pub(super) async fn delete(&mut self, delete: &DeleteManifest) -> Result<OperationResult, StepError> {
        let lines = self.lines();
        let mut result = OperationResult::new();
        result.names_in(&delete.location);
        for target in delete.targets() {
            self.say(lines.deleting(&target.kind));
            self.say(lines.calling_delete(&target));
            let failed = |said: &str| delete.failed(&target, said);
            let options = DeleteOptions::parse(&delete.options).map_err(|said| failed(&said))?;
            delete.check(&target).map_err(failed)?;
            let selector = Some(delete.label_selectors.to_string()).filter(|_| target.name.is_empty());
            let answer = self.change(self.deletion(&target, selector, options)).await;
            for name in deleted(&answer.map_err(|error| error.or_failure(failed))?) {
                result.add_name(&Coordinates { name, ..target.clone() });
            }
            self.say(lines.deleted(&target));
        }
        self.say_all(lines.done());
        Ok(result)
    }

    /// Deletes old versions of the objects that were just deployed.
    pub(super) async fn clean_up(
        &mut self,
        cleanup: &CleanupArtifacts,
    ) -> Result<OperationResult, StepError> {
        let mut result = OperationResult::of_cleanup();
        let objects = cleanup.manifests.iter().filter_map(|object| Manifest::try_from(object.clone()).ok());
        for cleanup in objects.filter_map(|object| Cleanup::of(&object)) {
            let all =
                Listing { forbidden: Forbidden::IsNothing, ..Listing::of(&cleanup.kind, &cleanup.namespace) };
            let live = self.list(all, |_| true).await?;
            for outdated in cleanup.outdated(&live, self.account.name.as_str()) {
                self.say(self.lines().cleaning(&outdated.artifact));
                let target = Coordinates::new(cleanup.kind.clone(), &*cleanup.namespace, outdated.name);
                self.remove(&target).await?;
                result.add_name(&target);
            }
        }
        Ok(result)
    }

    /// Deletes an object, if it exists.
    pub(super) async fn remove(&mut self, target: &Coordinates) -> Result<(), StepError> {
        let removed = self.change(self.deletion(target, None, DeleteOptions::default())).await;
        let Coordinates { kind, namespace, name } = target;
        let failed =
            |said: &str| Failure::kubectl(format!("Failed to delete {kind}/{name} from {namespace}: {said}"));
        removed.map(drop).map_err(|error| error.or_failure(failed))
    }

    fn deletion(&self, target: &Coordinates, label_selector: Option<String>, options: DeleteOptions) -> Verb {
        let Coordinates { kind, namespace, name } = target;
        let DeleteOptions { cascade, grace_period_seconds } = options;
        let (api_version, kind_ref) = api_version_and_kind(kind);
        let has_name = !name.is_empty();
        // For a name without a namespace the agent chooses the namespace, if the kind has one. Labels without a namespace
        // would match in all of them.
        let by_agent = namespace.is_empty()
            && (has_name || self.account.settings.kinds.is_namespaced(kind) == Some(false));
        Verb::Delete(Delete {
            api_version,
            kind: kind_ref,
            namespace: (!by_agent).then(|| or_default(namespace)),
            name: has_name.then(|| name.clone()),
            label_selector,
            field_selector: None,
            // For kubectl, a negative value means the object's own grace period.
            grace_period_seconds: grace_period_seconds.and_then(|seconds| u64::try_from(seconds).ok()),
            force: false,
            propagation_policy: cascade.map(|cascade| match cascade {
                Cascade::Background => Propagation::Background,
                Cascade::Foreground => Propagation::Foreground,
                Cascade::Orphan => Propagation::Orphan,
            }),
            preconditions: Preconditions::default(),
            wait: true,
            ignore_not_found: true,
            dry_run: DryRun::None,
        })
    }
}

fn deleted(answer: &Value) -> Vec<String> {
    let deleted = answer["deleted"].as_array().into_iter().flatten();
    deleted.filter_map(|object| object["name"].as_str().map(str::to_owned)).collect()
}
