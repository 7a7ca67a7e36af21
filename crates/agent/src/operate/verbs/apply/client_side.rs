//! Client-side apply: the agent computes the change, from the last applied, the live and the new manifest.

use std::time::Duration;

use spindrift_kubernetes::{ApiError, LAST_APPLIED, Object, annotated, prune_nulls};
use spindrift_model::{DryRun, KubectlContext, OperationError};

use super::{
    super::{
        super::Answer,
        hidden_values::{HiddenValues, annotated_without_values},
        manifest_target::{ManifestTarget, Writing, encode, metadata_text, pause, reason},
        recreate::recreate,
    },
    Plan,
};

/// Retries after conflicts with concurrent changes, as many as kubectl's.
const MOST_CONFLICTS: usize = 5;

/// Longest patch that is shown in an error.
const LONGEST_PATCH: usize = 4096;

/// Pause before each of them but the first.
const PAUSE: Duration = Duration::from_secs(1);

pub(super) async fn apply(
    target: &ManifestTarget<'_>,
    writing: &Writing,
    force: bool,
    hidden: Option<&HiddenValues>,
) -> Result<Answer, OperationError> {
    let name = target.require_name("apply")?;
    let mut modified = annotated(&target.manifest);
    if let Some(hidden) = hidden {
        hidden.fill_in(&mut modified, name, None);
    }
    let mut conflicts = 0;
    loop {
        let live = target.live(name).await.map_err(|failure| failure.during(retrieving(target)))?;
        let Some(live) = live else {
            match create(target, &modified, writing).await? {
                Created::Answered(answer) => return Ok(answer),
                // It was created meanwhile, and can be changed.
                Created::Exists(_) if conflicts < MOST_CONFLICTS => {
                    conflicts += 1;
                    continue;
                }
                Created::Exists(error) => return Err(creating(writing.failure(&error))),
            }
        };
        if let Some(hidden) = hidden {
            modified = annotated_without_values(&target.manifest, &live.object);
            hidden.fill_in(&mut modified, name, Some(&live.object));
        }
        let mut warnings = warnings_about(target, &live.object);
        let plan = Plan::of(target, &modified, &live.object).await?;
        if plan.patch.is_empty() {
            return target.changed(200, "unchanged", live.body, &warnings);
        }
        if writing.dry_run == DryRun::Client {
            let object = plan.locally(target, live.object)?;
            return target.changed(200, "configured", encode(&object), &warnings);
        }
        target.context.go_on()?;
        match target.write(plan.call(target, name), writing).await {
            Ok(reply) => {
                warnings.extend(reply.warnings);
                return target.changed(reply.code, "configured", reply.body, &warnings);
            }
            Err(error) if reason(&error) == "Conflict" && conflicts < MOST_CONFLICTS => {
                conflicts += 1;
                if conflicts > 1 {
                    pause(target.context, PAUSE).await?;
                }
            }
            Err(error) if force && matches!(reason(&error), "Conflict" | "Invalid") => {
                let reply = recreate(target, name, Some(live), modified, writing).await?;
                warnings.extend(reply.warnings);
                return target.changed(reply.code, "configured", reply.body, &warnings);
            }
            Err(error) => {
                return Err(writing.failure(&error).during(patching(target, &plan).warned(warnings)));
            }
        }
    }
}

enum Created {
    Answered(Answer),
    Exists(ApiError),
}

/// Creates a missing object. Nulls are left out, as in an update; the annotation keeps them.
async fn create(
    target: &ManifestTarget<'_>,
    modified: &Object,
    writing: &Writing,
) -> Result<Created, OperationError> {
    let mut object = modified.clone();
    object.retain(|_, value| !value.is_null());
    object.values_mut().for_each(prune_nulls);
    if writing.dry_run == DryRun::Client {
        return Ok(Created::Answered(target.changed(201, "created", encode(&object), &[])?));
    }
    target.context.go_on()?;
    match target.create(object, writing).await {
        Ok(reply) => {
            let answer = target.changed(reply.code, "created", reply.body, &reply.warnings)?;
            Ok(Created::Answered(answer))
        }
        Err(error) if reason(&error) == "AlreadyExists" => Ok(Created::Exists(error)),
        Err(error) => Err(creating(writing.failure(&error))),
    }
}

fn creating(failure: OperationError) -> OperationError {
    failure.during(KubectlContext::new("creating"))
}

fn retrieving(target: &ManifestTarget<'_>) -> KubectlContext {
    KubectlContext::new(format!(
        "retrieving current configuration of:\n{}\nfrom server for:",
        target.mapping()
    ))
}

/// Context with the patch, unless it is long, or of a Secret.
fn patching(target: &ManifestTarget<'_>, plan: &Plan) -> KubectlContext {
    let patch = encode(&plan.patch);
    let is_shown = patch.len() <= LONGEST_PATCH && &*target.resource.kind != "Secret";
    let patch = if is_shown { String::from_utf8_lossy(&patch) } else { "{…}".into() };
    let patch = patch.trim_end();
    KubectlContext::new(format!("applying patch:\n{patch}\nto:\n{}\nfor:", target.mapping()))
        .in_step("patching")
}

/// Warnings of kubectl.
fn warnings_about(target: &ManifestTarget<'_>, live: &Object) -> Vec<String> {
    let mut warnings = Vec::new();
    let annotations = live.get("metadata").and_then(|metadata| metadata.get("annotations"));
    if annotations.and_then(|annotations| annotations.get(LAST_APPLIED)).is_none() {
        let (plural, name) = (&target.resource.plural, target.name().unwrap_or_default());
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
