//! `diff`: the change that applying a manifest would make, computed by the API server.

mod mask;

use bytes::Bytes;
use serde_json::{Value, json};
use spindrift_kubernetes::{Object, scrub_result, unannotated};
use spindrift_model::{ApplyMode, Diff, DryRun, ErrorKind, OperationError};

use super::{
    super::{Answer, OperationContext},
    apply::{CLIENT_SIDE_MANAGER, Plan, SERVER_SIDE_MANAGER, ServerSide, decide},
    manifest_target::{Live, ManifestTarget, Writing, metadata_text, reason},
};
use crate::operate::errors;

/// Attempts to read both sides of the same version; after them, any version will do.
const MOST_CONFLICTS: usize = 3;

pub(super) async fn run(context: &OperationContext, diff: Diff) -> Result<Answer, OperationError> {
    let Diff { manifest, namespace, mode, field_manager, force_conflicts } = diff;
    let mut target = ManifestTarget::of(context, manifest, namespace).await?;
    let decision = decide(&context.server_side_apply, &mut target, mode);
    let name = target.require_name("diff")?;
    let writing = |manager: &str| Writing {
        manager: field_manager.clone().unwrap_or_else(|| manager.to_owned()),
        dry_run: DryRun::Server,
        validate: None,
    };
    let (live, merged) = match decision.mode {
        ApplyMode::ServerSide => {
            let live = target.live(name).await?;
            let server_side = ServerSide {
                writing: writing(SERVER_SIDE_MANAGER),
                force_conflicts: force_conflicts || decision.clear_managed_fields,
                clear_managed_fields: false,
            };
            let reply = server_side.send(&target, name).await.map_err(|error| errors::of_read(&error))?;
            (live, reply.body)
        }
        _ => client_side(&target, name, &writing(CLIENT_SIDE_MANAGER)).await?,
    };
    tell(&target, live, merged)
}

async fn client_side(
    target: &ManifestTarget<'_>,
    name: &str,
    writing: &Writing,
) -> Result<(Option<Live>, Bytes), OperationError> {
    let modified = unannotated(&target.manifest);
    let mut conflicts = 0;
    loop {
        let Some(live) = target.live(name).await? else {
            let created = target.create(target.manifest.clone(), writing).await;
            return Ok((None, created.map_err(|error| errors::of_read(&error))?.body));
        };
        let mut plan = Plan::of(target, &modified, &live.object).await?;
        if plan.patch.is_empty() {
            let merged = live.body.clone();
            return Ok((Some(live), merged));
        }
        if conflicts < MOST_CONFLICTS
            && let Some(version) = metadata_text(&live.object, "resourceVersion")
        {
            pin(&mut plan.patch, version);
        }
        match target.write(plan.call(target, name), writing).await {
            Ok(reply) => return Ok((Some(live), reply.body)),
            Err(error) if reason(&error) == "Conflict" && conflicts < MOST_CONFLICTS => conflicts += 1,
            Err(error) => return Err(errors::of_read(&error)),
        }
    }
}

/// Binds a patch to this version.
fn pin(patch: &mut Object, version: &str) {
    let metadata = patch.entry("metadata").or_insert_with(|| json!({}));
    metadata["resourceVersion"] = version.into();
}

/// Both sides, redacted; of Secrets only the fact that a value changed is visible.
fn tell(target: &ManifestTarget<'_>, live: Option<Live>, merged: Bytes) -> Result<Answer, OperationError> {
    let unreadable = || OperationError::agent(ErrorKind::BadAnswer, "the answer is no object in JSON");
    let scrubbed = |body: Bytes| -> Result<Value, OperationError> {
        let body = scrub_result(body, target.context.redactions()).map_err(|_| unreadable())?;
        serde_json::from_slice(&body).map_err(|_| unreadable())
    };
    let is_secret = target.resource.group.is_empty() && &*target.resource.kind == "Secret";
    let masks = if is_secret {
        let merged: Object = serde_json::from_slice(&merged).map_err(|_| unreadable())?;
        let before = live.as_ref().and_then(|live| live.object.get("data"));
        mask::masked(before, merged.get("data"))
    } else {
        mask::Masked::default()
    };
    let mut live = live.map(|live| scrubbed(live.body)).transpose()?.unwrap_or_default();
    let mut merged = scrubbed(merged)?;
    if let (Some(data), Value::Object(live)) = (masks.before, &mut live) {
        live.insert("data".to_owned(), data);
    }
    if let (Some(data), Value::Object(merged)) = (masks.after, &mut merged) {
        merged.insert("data".to_owned(), data);
    }
    Ok(Answer::document(200, &json!({ "live": live, "merged": merged })))
}
