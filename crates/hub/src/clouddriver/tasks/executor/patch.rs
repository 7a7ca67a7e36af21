//! Patch; artifacts are bound in merge patches.

use serde_json::{Value, json};
use spindrift_model::{DryRun, Manifest, Patch, PatchKind, Verb};
use spindrift_spinnaker::{
    Binding, Coordinates, OperationResult,
    operation::{MergeStrategy, PatchBody, PatchManifest},
};

use super::{OperationExecutor, Outcome, kubectl_messages};
use crate::clouddriver::{object_ref::object_ref, tasks::step_error::StepError};

/// Annotation that `kubectl --record` writes.
const CHANGE_CAUSE: &str = "kubernetes.io/change-cause";

// === impl OperationExecutor ===

impl OperationExecutor<'_> {
    /// Runs a patch operation.
    pub(super) async fn patch(&mut self, patch: &PatchManifest, target: &Coordinates) -> Outcome {
        let lines = self.lines();
        self.say(lines.finding_patch_handler(target));
        let options = patch.options.as_ref();
        let is_merged = options.and_then(|options| options.merge_strategy) != Some(MergeStrategy::Json);
        self.say(if is_merged { lines.swapping_artifacts(target) } else { lines.submitting_patch(target) });
        let binding = Binding {
            account: self.account.name.as_str(),
            namespace: &target.namespace,
            images: self.steps.settings().artifact_binding.docker_image,
        };
        let PatchBody { strategy, body, bound } = PatchBody::prepare(patch, &target.kind, binding)?;
        if is_merged {
            self.say(lines.submitting_patch(target));
        }
        let cause = change_cause(target, strategy, &body);
        if let Err(error) = self.send(target, kind(strategy), body).await {
            return Err(self.unpatched(error, target, strategy).await);
        }
        if options.and_then(|options| options.record) == Some(true) {
            let record = json!({ "metadata": { "annotations": { CHANGE_CAUSE: cause } } });
            let recorded = self.send(target, PatchKind::Merge, record).await;
            recorded.map_err(|error| error.or_failure(|said| lines.failed(target, said)))?;
        }
        self.say_all(lines.done());
        let mut result = OperationResult::new();
        result.add_stub(target);
        result.add_bound(bound);
        Ok(Some(result))
    }

    /// Sends a patch of an object.
    pub(super) async fn send(
        &mut self,
        target: &Coordinates,
        kind: PatchKind,
        body: Value,
    ) -> Result<(), StepError> {
        let patch = Patch {
            target: object_ref(target),
            kind,
            patch: Manifest(body),
            subresource: None,
            field_manager: None,
            dry_run: DryRun::None,
        };
        self.change(Verb::Patch(patch)).await.map(drop)
    }

    /// Failure of a patch: for an unsupported patch type, kubectl names the kind.
    async fn unpatched(
        &mut self,
        error: StepError,
        target: &Coordinates,
        strategy: MergeStrategy,
    ) -> StepError {
        let lines = self.lines();
        let StepError::Operation(cause) = &error else { return error };
        if kubectl_messages::is_unsupported_media_type(cause) {
            match self.peek(target).await {
                Ok(Some(object)) => {
                    let said = kubectl_messages::unsupported_patch(strategy.content_type(), &object, cause);
                    return lines.failed(target, &said).into();
                }
                Ok(None) => {}
                Err(lost) => return lost,
            }
        }
        error.or_failure(|said| lines.failed(target, said))
    }
}

fn kind(strategy: MergeStrategy) -> PatchKind {
    match strategy {
        MergeStrategy::Strategic => PatchKind::Strategic,
        MergeStrategy::Json => PatchKind::Json,
        MergeStrategy::Merge => PatchKind::Merge,
    }
}

fn change_cause(target: &Coordinates, strategy: MergeStrategy, body: &Value) -> String {
    let Coordinates { kind, namespace, name } = target;
    let strategy = match strategy {
        MergeStrategy::Strategic => "strategic",
        MergeStrategy::Json => "json",
        MergeStrategy::Merge => "merge",
    };
    format!(
        "kubectl patch {kind} {name} --namespace={namespace} --patch={body} --record=true --type={strategy}"
    )
}
