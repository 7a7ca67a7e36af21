//! `apply`: makes an object what a manifest says, as kubectl does it.
//!
//! ```text
//! decision ──▶ client_side: GET ─▶ plan (three-way merge) ─▶ PATCH, or POST where it is missing
//!         └──▶ server_side: PATCH, then what was applied client-side before moves to its new owner
//! ```

mod client_side;
mod decision;
mod defaults;
mod plan;
mod server_side;

use spindrift_model::{Apply, ApplyMode};

use super::{
    super::{Answer, Failure, Hand},
    place::{Place, Writing, bad_request},
};
pub(super) use decision::decide;
pub(super) use plan::{Merge, Plan};
pub(super) use server_side::ServerSide;

/// Who client-side apply is, to the API server. As kubectl: whoever takes over from it owns the same fields.
pub(super) const CLIENT_SIDE_MANAGER: &str = "kubectl-client-side-apply";

/// Who server-side apply is. For this one the API server keeps the annotation of client-side apply up to date.
pub(super) const SERVER_SIDE_MANAGER: &str = "kubectl";

pub(super) async fn run(hand: &Hand, apply: Apply) -> Result<Answer, Failure> {
    let Apply { manifest, namespace, mode, field_manager, force_conflicts, force, dry_run, validate } = apply;
    let mut place = Place::of(hand, manifest, namespace).await?;
    let decision = decide(&hand.server_side_apply, &mut place, mode);
    let writing = |manager: &str| Writing {
        manager: field_manager.unwrap_or_else(|| manager.to_owned()),
        dry_run,
        validate: Some(validate),
    };
    hand.go_on()?;
    match decision.mode {
        ApplyMode::ServerSide if force => Err(bad_request(
            "force: deletes and creates, which server-side apply cannot; expected forceConflicts",
        )),
        ApplyMode::ServerSide => {
            let server_side = ServerSide {
                writing: writing(SERVER_SIDE_MANAGER),
                // Whoever becomes the only owner takes from all others.
                force_conflicts: force_conflicts || decision.clear_managed_fields,
                clear_managed_fields: decision.clear_managed_fields,
            };
            server_side.apply(&place).await
        }
        ApplyMode::Configured | ApplyMode::ClientSide => {
            client_side::apply(&place, &writing(CLIENT_SIDE_MANAGER), force).await
        }
    }
}
