//! `diff`: what applying a manifest would change, as the API server sees it.

mod mask;

use bytes::Bytes;
use serde_json::{Value, json};
use spindrift_kubernetes::{Object, scrub_result, unannotated};
use spindrift_model::{ApplyMode, Diff, DryRun};

use super::{
    super::{Answer, Failure, Hand},
    apply::{CLIENT_SIDE_MANAGER, Plan, SERVER_SIDE_MANAGER, ServerSide, decide},
    place::{Live, Place, Writing, metadata_text, reason},
};

/// How often it is tried to see both sides of the same version; then any will do.
const MOST_CONFLICTS: usize = 3;

pub(super) async fn run(hand: &Hand, diff: Diff) -> Result<Answer, Failure> {
    let Diff { manifest, namespace, mode, field_manager, force_conflicts } = diff;
    let mut place = Place::of(hand, manifest, namespace).await?;
    let decision = decide(&hand.server_side_apply, &mut place, mode);
    let name = place.require_name("diff")?;
    let writing = |manager: &str| Writing {
        manager: field_manager.clone().unwrap_or_else(|| manager.to_owned()),
        dry_run: DryRun::Server,
        validate: None,
    };
    let (live, merged) = match decision.mode {
        ApplyMode::ServerSide => {
            let live = place.live(name).await?;
            let server_side = ServerSide {
                writing: writing(SERVER_SIDE_MANAGER),
                force_conflicts: force_conflicts || decision.clear_managed_fields,
                clear_managed_fields: false,
            };
            let reply = server_side.send(&place, name).await.map_err(|error| Failure::of_read(&error))?;
            (live, reply.body)
        }
        _ => client_side(&place, name, &writing(CLIENT_SIDE_MANAGER)).await?,
    };
    tell(&place, live, merged)
}

async fn client_side(
    place: &Place<'_>,
    name: &str,
    writing: &Writing,
) -> Result<(Option<Live>, Bytes), Failure> {
    let modified = unannotated(&place.manifest);
    let mut conflicts = 0;
    loop {
        let Some(live) = place.live(name).await? else {
            let created = place.create(place.manifest.clone(), writing).await;
            return Ok((None, created.map_err(|error| Failure::of_read(&error))?.body));
        };
        let mut plan = Plan::of(place, &modified, &live.object).await?;
        if plan.patch.is_empty() {
            let merged = live.body.clone();
            return Ok((Some(live), merged));
        }
        if conflicts < MOST_CONFLICTS
            && let Some(version) = metadata_text(&live.object, "resourceVersion")
        {
            pin(&mut plan.patch, version);
        }
        match place.write(plan.call(place, name), writing).await {
            Ok(reply) => return Ok((Some(live), reply.body)),
            Err(error) if reason(&error) == "Conflict" && conflicts < MOST_CONFLICTS => conflicts += 1,
            Err(error) => return Err(Failure::of_read(&error)),
        }
    }
}

/// Makes a patch one of this version only.
fn pin(patch: &mut Object, version: &str) {
    let metadata = patch.entry("metadata").or_insert_with(|| json!({}));
    metadata["resourceVersion"] = version.into();
}

/// Both sides, without what may not leave the cluster; of Secrets it can be seen that a value changed, and no more.
fn tell(place: &Place<'_>, live: Option<Live>, merged: Bytes) -> Result<Answer, Failure> {
    let unreadable = || Failure::ours(502, "BadGateway", "the answer is no object in JSON");
    let scrubbed = |body: Bytes| -> Result<Value, Failure> {
        let body = scrub_result(body, place.hand.redactions()).map_err(|_| unreadable())?;
        serde_json::from_slice(&body).map_err(|_| unreadable())
    };
    let is_secret = place.resource.group.is_empty() && &*place.resource.kind == "Secret";
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
