//! `patch`: patches an object.

use http::Method;
use serde_json::Value;
use spindrift_kubernetes::{Call, Object, apply_json_merge, apply_json_patch, normalize_like_go};
use spindrift_model::{DryRun, Manifest, OperationError, Patch, PatchKind};

use super::{
    super::{Answer, OperationContext},
    apply::Merge,
    manifest_target::{Live, ManifestTarget, Writing, bad_request, encode},
};
use crate::operate::errors;

const MANAGER: &str = "kubectl-patch";

pub(super) async fn run(context: &OperationContext, patch: Patch) -> Result<Answer, OperationError> {
    let Patch { target, kind, patch: Manifest(mut patch), subresource, field_manager, dry_run } = patch;
    // The API server parses it as text, and does not accept 3.0 as an integer there.
    normalize_like_go(&mut patch);
    let (target, name) = ManifestTarget::named(context, target).await?;
    let at = |call: Call| match &subresource {
        Some(subresource) => call.subresource(subresource),
        None => call,
    };
    let read = context.read(&at(target.call(Method::GET, Some(&name)))).await;
    let before = Live::of(read.map_err(|error| errors::of_read(&error))?.body)?;
    if dry_run == DryRun::Client {
        let after = locally(&target, before.object.clone(), kind, patch).await?;
        return target.changed(200, word(&before.object, &after), encode(&after), &[]);
    }
    let manager = field_manager.unwrap_or_else(|| MANAGER.to_owned());
    let writing = Writing { manager, dry_run, validate: None };
    let call = at(target.call(Method::PATCH, Some(&name))).body(media_type(kind), patch.to_string());
    context.go_on()?;
    let reply = target.write(call, &writing).await.map_err(|error| writing.failure(&error))?;
    let after = Live::written(reply.body)?;
    target.changed(reply.code, word(&before.object, &after.object), after.body, &reply.warnings)
}

fn media_type(kind: PatchKind) -> &'static str {
    match kind {
        PatchKind::Strategic => "application/strategic-merge-patch+json",
        PatchKind::Merge => "application/merge-patch+json",
        PatchKind::Json => "application/json-patch+json",
    }
}

fn word(before: &Object, after: &Object) -> &'static str {
    if before == after { "patched (no change)" } else { "patched" }
}

async fn locally(
    target: &ManifestTarget<'_>,
    object: Object,
    kind: PatchKind,
    patch: Value,
) -> Result<Object, OperationError> {
    let map = |patch: Value| match patch {
        Value::Object(patch) => Ok(patch),
        _ => Err(bad_request("patch: expected an object")),
    };
    match kind {
        PatchKind::Json => apply_json_patch(object, &patch).map_err(|error| bad_request(error.to_string())),
        PatchKind::Merge => Ok(apply_json_merge(object, map(patch)?)),
        PatchKind::Strategic => match Merge::of(target).await {
            Merge::Json => Err(bad_request(format!(
                "strategic merge patch is not supported for {} locally, expected the type merge",
                target.resource.kind
            ))),
            merge @ Merge::Strategic { .. } => merge.apply(target, object, map(patch)?),
        },
    }
}
