//! `create`: creates an object that does not exist.

use spindrift_kubernetes::{LAST_APPLIED, Object, annotated};
use spindrift_model::{Create, DryRun, OperationError};

use super::{
    super::{Answer, OperationContext},
    manifest_target::{ManifestTarget, Writing, encode},
};

pub(super) const MANAGER: &str = "kubectl-create";

pub(super) async fn run(context: &OperationContext, create: Create) -> Result<Answer, OperationError> {
    let Create { manifest, namespace, save_config, field_manager, dry_run, validate } = create;
    let target = ManifestTarget::of(context, manifest, namespace).await?;
    let manager = field_manager.unwrap_or_else(|| MANAGER.to_owned());
    let writing = Writing { manager, dry_run, validate: Some(validate) };
    let object = with_annotation(&target.manifest, save_config);
    if dry_run == DryRun::Client {
        return target.changed(201, "created", encode(&object), &[]);
    }
    context.go_on()?;
    let reply = target.create(object, &writing).await.map_err(|error| writing.failure(&error))?;
    target.changed(reply.code, "created", reply.body, &reply.warnings)
}

/// Manifest with the annotation of client-side apply, if that is requested or present already.
pub(super) fn with_annotation(manifest: &Object, save_config: bool) -> Object {
    let annotations = manifest.get("metadata").and_then(|metadata| metadata.get("annotations"));
    let present = annotations.and_then(|annotations| annotations.get(LAST_APPLIED)?.as_str());
    if save_config || present.is_some_and(|text| !text.is_empty()) {
        return annotated(manifest);
    }
    manifest.clone()
}
