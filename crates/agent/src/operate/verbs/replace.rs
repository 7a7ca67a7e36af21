//! `replace`: puts a manifest in the place of an object.

use http::Method;
use serde_json::Value;
use spindrift_kubernetes::{ApiError, Object, Reply};
use spindrift_model::{DryRun, Replace};

use super::{
    super::{Answer, Failure, Hand},
    create::{self, with_annotation},
    place::{Place, Writing, bad_request, encode, metadata_text, reason},
    recreate::recreate,
};

const MANAGER: &str = "kubectl-replace";

/// How often the version is read anew because the object has changed meanwhile.
const MOST_CONFLICTS: usize = 5;

pub(super) async fn run(hand: &Hand, replace: Replace) -> Result<Answer, Failure> {
    let Replace { manifest, namespace, or_create, force, save_config, field_manager, dry_run, validate } =
        replace;
    if force && dry_run != DryRun::None {
        return Err(bad_request("dryRun: cannot be used when force is set"));
    }
    let place = Place::of(hand, manifest, namespace).await?;
    let name = place.require_name("replace")?;
    let writing = |manager: &str| {
        let manager = field_manager.clone().unwrap_or_else(|| manager.to_owned());
        Writing { manager, dry_run, validate: Some(validate) }
    };
    let (creating, writing) = (writing(create::MANAGER), writing(MANAGER));
    let object = with_annotation(&place.manifest, save_config);
    hand.go_on()?;
    if dry_run == DryRun::Client {
        return place.changed(200, "replaced", encode(&object), &[]);
    }
    if force {
        let live = place.live(name).await?;
        let reply = recreate(&place, name, live, object, &writing).await?;
        return place.changed(reply.code, "replaced", reply.body, &reply.warnings);
    }
    let (action, reply) = match put(&place, name, &object, &writing).await {
        Err(error) if or_create && error.is_not_found() => ("created", place.create(object, &creating).await),
        put => ("replaced", put),
    };
    let reply = reply.map_err(|error| writing.failure(&error))?;
    place.changed(reply.code, action, reply.body, &reply.warnings)
}

/// Puts it in the place of what is there; unless the manifest names a version, of whatever version that is.
async fn put(place: &Place<'_>, name: &str, object: &Object, writing: &Writing) -> Result<Reply, ApiError> {
    let mut conflicts = 0;
    loop {
        let mut object = object.clone();
        let own_version = metadata_text(&object, "resourceVersion").is_some();
        // What cannot be read is put all the same: then the API server says what is wrong.
        if !own_version
            && let Ok(Some(live)) = place.live(name).await
            && let Some(Value::Object(metadata)) = object.get_mut("metadata")
            && let Some(version) = metadata_text(&live.object, "resourceVersion")
        {
            metadata.insert("resourceVersion".to_owned(), version.into());
        }
        let call = place.call(Method::PUT, Some(name)).body("application/json", encode(&object));
        match place.write(call, writing).await {
            Err(error) if !own_version && reason(&error) == "Conflict" && conflicts < MOST_CONFLICTS => {
                conflicts += 1;
            }
            answer => return answer,
        }
    }
}
