//! Client-side apply: the change is computed here, from what was applied, what is there and what is wanted.

use std::time::Duration;

use spindrift_kubernetes::{ApiError, LAST_APPLIED, Object, annotated, prune_nulls};
use spindrift_model::{Doing, DryRun};

use super::{
    super::{
        super::{Answer, Failure},
        place::{Place, Writing, encode, metadata_text, pause, reason},
        recreate::recreate,
    },
    Plan,
};

/// How often a change is computed anew because the object has changed meanwhile; kubectl does not try more often.
const MOST_CONFLICTS: usize = 5;

/// Patches that are longer are not shown when they are refused.
const LONGEST_PATCH: usize = 4096;

/// Before each of them but the first.
const PAUSE: Duration = Duration::from_secs(1);

pub(super) async fn apply(place: &Place<'_>, writing: &Writing, force: bool) -> Result<Answer, Failure> {
    let name = place.require_name("apply")?;
    let modified = annotated(&place.manifest);
    let mut conflicts = 0;
    loop {
        let live = place.live(name).await.map_err(|failure| failure.during(retrieving(place)))?;
        let Some(live) = live else {
            match create(place, &modified, writing).await? {
                Created::Answered(answer) => return Ok(answer),
                // Somebody was quicker: it is there now, and can be changed.
                Created::Exists(_) if conflicts < MOST_CONFLICTS => {
                    conflicts += 1;
                    continue;
                }
                Created::Exists(error) => return Err(creating(writing.failure(&error))),
            }
        };
        let mut warnings = warnings_about(place, &live.object);
        let plan = Plan::of(place, &modified, &live.object).await?;
        if plan.patch.is_empty() {
            return place.changed(200, "unchanged", live.body, &warnings);
        }
        if writing.dry_run == DryRun::Client {
            let object = plan.locally(place, live.object)?;
            return place.changed(200, "configured", encode(&object), &warnings);
        }
        place.hand.go_on()?;
        match place.write(plan.call(place, name), writing).await {
            Ok(reply) => {
                warnings.extend(reply.warnings);
                return place.changed(reply.code, "configured", reply.body, &warnings);
            }
            Err(error) if reason(&error) == "Conflict" && conflicts < MOST_CONFLICTS => {
                conflicts += 1;
                if conflicts > 1 {
                    pause(place.hand, PAUSE).await?;
                }
            }
            Err(error) if force && matches!(reason(&error), "Conflict" | "Invalid") => {
                let reply = recreate(place, name, Some(live), modified, writing).await?;
                warnings.extend(reply.warnings);
                return place.changed(reply.code, "configured", reply.body, &warnings);
            }
            Err(error) => {
                return Err(writing.failure(&error).during(patching(place, &plan).warned(warnings)));
            }
        }
    }
}

enum Created {
    Answered(Answer),
    Exists(ApiError),
}

/// Creates what is missing. Nulls are left out, as an update would leave them out; the annotation keeps them.
async fn create(place: &Place<'_>, modified: &Object, writing: &Writing) -> Result<Created, Failure> {
    let mut object = modified.clone();
    object.retain(|_, value| !value.is_null());
    object.values_mut().for_each(prune_nulls);
    if writing.dry_run == DryRun::Client {
        return Ok(Created::Answered(place.changed(201, "created", encode(&object), &[])?));
    }
    place.hand.go_on()?;
    match place.create(object, writing).await {
        Ok(reply) => {
            let answer = place.changed(reply.code, "created", reply.body, &reply.warnings)?;
            Ok(Created::Answered(answer))
        }
        Err(error) if reason(&error) == "AlreadyExists" => Ok(Created::Exists(error)),
        Err(error) => Err(creating(writing.failure(&error))),
    }
}

fn creating(failure: Failure) -> Failure {
    failure.during(Doing::new("creating"))
}

fn retrieving(place: &Place<'_>) -> Doing {
    Doing::new(format!("retrieving current configuration of:\n{}\nfrom server for:", place.mapping()))
}

/// With the patch, unless it is long, or holds what may not leave the cluster.
fn patching(place: &Place<'_>, plan: &Plan) -> Doing {
    let patch = encode(&plan.patch);
    let is_shown = patch.len() <= LONGEST_PATCH && &*place.resource.kind != "Secret";
    let patch = if is_shown { String::from_utf8_lossy(&patch) } else { "{…}".into() };
    let patch = patch.trim_end();
    Doing::new(format!("applying patch:\n{patch}\nto:\n{}\nfor:", place.mapping())).in_step("patching")
}

/// What kubectl warns of.
fn warnings_about(place: &Place<'_>, live: &Object) -> Vec<String> {
    let mut warnings = Vec::new();
    let annotations = live.get("metadata").and_then(|metadata| metadata.get("annotations"));
    if annotations.and_then(|annotations| annotations.get(LAST_APPLIED)).is_none() {
        let (plural, name) = (&place.resource.plural, place.name().unwrap_or_default());
        warnings.push(format!(
            "resource {plural}/{name} is missing the {LAST_APPLIED} annotation which is required by kubectl apply. \
             kubectl apply should only be used on resources created declaratively by either kubectl create \
             --save-config or kubectl apply. The missing annotation will be patched automatically."
        ));
    }
    warnings.extend(warning_of_deletion(live));
    warnings
}

pub(super) fn warning_of_deletion(live: &Object) -> Option<String> {
    metadata_text(live, "deletionTimestamp")?;
    let name = metadata_text(live, "name").unwrap_or_default();
    Some(format!("Detected changes to resource {name} which is currently being deleted."))
}
