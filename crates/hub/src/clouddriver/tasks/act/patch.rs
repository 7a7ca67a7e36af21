//! patch: with artifacts bound in it, if it is merged.

use serde_json::{Value, json};
use spindrift_model::{DryRun, Manifest, Patch, PatchKind, Verb};
use spindrift_spinnaker::{
    Binding, Coordinates, OperationResult,
    operation::{MergeStrategy, PatchBody, PatchManifest},
};

use super::{Act, Outcome, words};
use crate::clouddriver::{object_ref::object_ref, tasks::halt::Halt};

/// What `kubectl --record` writes: who is to blame.
const CHANGE_CAUSE: &str = "kubernetes.io/change-cause";

// === impl Act ===

impl Act<'_> {
    /// Changes parts of an object.
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
        if let Err(halt) = self.send(target, kind(strategy), body).await {
            return Err(self.unpatched(halt, target, strategy).await);
        }
        if options.and_then(|options| options.record) == Some(true) {
            let record = json!({ "metadata": { "annotations": { CHANGE_CAUSE: cause } } });
            let recorded = self.send(target, PatchKind::Merge, record).await;
            recorded.map_err(|halt| halt.told(|said| lines.failed(target, said)))?;
        }
        self.say_all(lines.done());
        let mut result = OperationResult::new();
        result.add_stub(target);
        result.add_bound(bound);
        Ok(Some(result))
    }

    /// Patches an object as it is told to.
    pub(super) async fn send(
        &mut self,
        target: &Coordinates,
        kind: PatchKind,
        body: Value,
    ) -> Result<(), Halt> {
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

    /// Kubectl says of a kind that cannot be merged so which kind that is.
    async fn unpatched(&mut self, halt: Halt, target: &Coordinates, strategy: MergeStrategy) -> Halt {
        let lines = self.lines();
        let Halt::Operation(error) = &halt else { return halt };
        if words::is_unsupported_media_type(error) {
            match self.peek(target).await {
                Ok(Some(object)) => {
                    let said = words::unsupported_patch(strategy.content_type(), &object, error);
                    return lines.failed(target, &said).into();
                }
                Ok(None) => {}
                Err(lost) => return lost,
            }
        }
        halt.told(|said| lines.failed(target, said))
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
