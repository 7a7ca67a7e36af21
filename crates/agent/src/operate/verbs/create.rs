//! `create`: makes an object that is not there yet.

use spindrift_kubernetes::{LAST_APPLIED, Object, annotated};
use spindrift_model::{Create, DryRun};

use super::{
    super::{Answer, Failure, Hand},
    place::{Place, Writing, encode},
};

pub(super) const MANAGER: &str = "kubectl-create";

pub(super) async fn run(hand: &Hand, create: Create) -> Result<Answer, Failure> {
    let Create { manifest, namespace, save_config, field_manager, dry_run, validate } = create;
    let place = Place::of(hand, manifest, namespace).await?;
    let manager = field_manager.unwrap_or_else(|| MANAGER.to_owned());
    let writing = Writing { manager, dry_run, validate: Some(validate) };
    let object = with_annotation(&place.manifest, save_config);
    if dry_run == DryRun::Client {
        return place.changed(201, "created", encode(&object), &[]);
    }
    hand.go_on()?;
    let reply = place.create(object, &writing).await.map_err(|error| writing.failure(&error))?;
    place.changed(reply.code, "created", reply.body, &reply.warnings)
}

/// A manifest with the annotation of client-side apply, where that is wanted or there already.
pub(super) fn with_annotation(manifest: &Object, save_config: bool) -> Object {
    let annotations = manifest.get("metadata").and_then(|metadata| metadata.get("annotations"));
    let present = annotations.and_then(|annotations| annotations.get(LAST_APPLIED)?.as_str());
    if save_config || present.is_some_and(|text| !text.is_empty()) {
        return annotated(manifest);
    }
    manifest.clone()
}
