//! `apply`: changes an object to match a manifest, as kubectl does it.
//!
//! ```text
//! decision ──▶ client_side: GET ─▶ plan (three-way merge) ─▶ PATCH, or POST where it is missing
//!         └──▶ server_side: PATCH, then fields of an earlier client-side apply move to the new manager
//! ```

mod client_side;
mod decision;
mod defaults;
mod plan;
mod server_side;

use spindrift_model::{Apply, ApplyMode, OperationError};

use super::{
    super::{Answer, OperationContext},
    hidden_values::HiddenValues,
    manifest_target::{ManifestTarget, Writing, bad_request},
};
pub(super) use decision::decide;
pub(super) use plan::{Merge, Plan};
pub(super) use server_side::ServerSide;

/// Field manager of client-side apply. As kubectl, so that either can take over from the other.
pub(super) const CLIENT_SIDE_MANAGER: &str = "kubectl-client-side-apply";

/// Field manager of server-side apply. For this one the API server keeps the annotation of client-side apply up to date.
pub(super) const SERVER_SIDE_MANAGER: &str = "kubectl";

pub(super) async fn run(context: &OperationContext, apply: Apply) -> Result<Answer, OperationError> {
    let Apply {
        manifest,
        namespace,
        mode,
        field_manager,
        force_conflicts,
        force,
        dry_run,
        validate,
        values_from,
    } = apply;
    let mut target = ManifestTarget::of(context, manifest, namespace).await?;
    let hidden = HiddenValues::read(&target, values_from).await?;
    let decision = decide(&context.server_side_apply, &mut target, mode);
    let writing = |manager: &str| Writing {
        manager: field_manager.unwrap_or_else(|| manager.to_owned()),
        dry_run,
        validate: Some(validate),
    };
    context.go_on()?;
    match decision.mode {
        ApplyMode::ServerSide if force => Err(bad_request(
            "force: deletes and creates, which server-side apply cannot; expected forceConflicts",
        )),
        ApplyMode::ServerSide => {
            if let Some(hidden) = hidden {
                hidden.fill_in_manifest(&mut target);
            }
            let server_side = ServerSide {
                writing: writing(SERVER_SIDE_MANAGER),
                // The only manager takes all fields from the others.
                force_conflicts: force_conflicts || decision.clear_managed_fields,
                clear_managed_fields: decision.clear_managed_fields,
            };
            server_side.apply(&target).await
        }
        ApplyMode::Configured | ApplyMode::ClientSide => {
            client_side::apply(&target, &writing(CLIENT_SIDE_MANAGER), force, hidden.as_ref()).await
        }
    }
}
