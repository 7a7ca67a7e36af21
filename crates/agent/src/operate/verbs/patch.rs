//! `patch`: changes parts of an object.

use http::Method;
use serde_json::Value;
use spindrift_kubernetes::{Call, Object, apply_json_merge, apply_json_patch, normalize_like_go};
use spindrift_model::{DryRun, Manifest, Patch, PatchKind};

use super::{
    super::{Answer, Failure, Hand},
    apply::Merge,
    place::{Live, Place, Writing, bad_request, encode},
};

const MANAGER: &str = "kubectl-patch";

pub(super) async fn run(hand: &Hand, patch: Patch) -> Result<Answer, Failure> {
    let Patch { target, kind, patch: Manifest(mut patch), subresource, field_manager, dry_run } = patch;
    // Merged, it is text to the API server, which takes no 3.0 for a whole number there.
    normalize_like_go(&mut patch);
    let (place, name) = Place::named(hand, target).await?;
    let at = |call: Call| match &subresource {
        Some(subresource) => call.subresource(subresource),
        None => call,
    };
    let read = hand.read(&at(place.call(Method::GET, Some(&name)))).await;
    let before = Live::of(read.map_err(|error| Failure::of_read(&error))?.body)?;
    if dry_run == DryRun::Client {
        let after = locally(&place, before.object.clone(), kind, patch).await?;
        return place.changed(200, word(&before.object, &after), encode(&after), &[]);
    }
    let manager = field_manager.unwrap_or_else(|| MANAGER.to_owned());
    let writing = Writing { manager, dry_run, validate: None };
    let call = at(place.call(Method::PATCH, Some(&name))).body(media_type(kind), patch.to_string());
    hand.go_on()?;
    let reply = place.write(call, &writing).await.map_err(|error| writing.failure(&error))?;
    let after = Live::written(reply.body)?;
    place.changed(reply.code, word(&before.object, &after.object), after.body, &reply.warnings)
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
    place: &Place<'_>,
    object: Object,
    kind: PatchKind,
    patch: Value,
) -> Result<Object, Failure> {
    let map = |patch: Value| match patch {
        Value::Object(patch) => Ok(patch),
        _ => Err(bad_request("patch: expected an object")),
    };
    match kind {
        PatchKind::Json => apply_json_patch(object, &patch).map_err(|error| bad_request(error.to_string())),
        PatchKind::Merge => Ok(apply_json_merge(object, map(patch)?)),
        PatchKind::Strategic => match Merge::of(place).await {
            Merge::Json => Err(bad_request(format!(
                "strategic merge patch is not supported for {} locally, expected the type merge",
                place.resource.kind
            ))),
            merge @ Merge::Strategic { .. } => merge.apply(place, object, map(patch)?),
        },
    }
}
