//! `replace`: replaces an object by a manifest.

use http::Method;
use serde_json::Value;
use spindrift_kubernetes::{ApiError, Object, Reply};
use spindrift_model::{DryRun, OperationError, Replace};

use super::{
    super::{Answer, OperationContext},
    create::{self, with_annotation},
    manifest_target::{ManifestTarget, Writing, bad_request, encode, metadata_text, reason},
    recreate::recreate,
};

const MANAGER: &str = "kubectl-replace";

/// Retries after conflicts with concurrent changes.
const MOST_CONFLICTS: usize = 5;

pub(super) async fn run(context: &OperationContext, replace: Replace) -> Result<Answer, OperationError> {
    let Replace { manifest, namespace, or_create, force, save_config, field_manager, dry_run, validate } =
        replace;
    if force && dry_run != DryRun::None {
        return Err(bad_request("dryRun: cannot be used when force is set"));
    }
    let target = ManifestTarget::of(context, manifest, namespace).await?;
    let name = target.require_name("replace")?;
    let writing = |manager: &str| {
        let manager = field_manager.clone().unwrap_or_else(|| manager.to_owned());
        Writing { manager, dry_run, validate: Some(validate) }
    };
    let (creating, writing) = (writing(create::MANAGER), writing(MANAGER));
    let object = with_annotation(&target.manifest, save_config);
    context.go_on()?;
    if dry_run == DryRun::Client {
        return target.changed(200, "replaced", encode(&object), &[]);
    }
    if force {
        let live = target.live(name).await?;
        let reply = recreate(&target, name, live, object, &writing).await?;
        return target.changed(reply.code, "replaced", reply.body, &reply.warnings);
    }
    let (action, reply) = match put(&target, name, &object, &writing).await {
        Err(error) if or_create && error.is_not_found() => {
            ("created", target.create(object, &creating).await)
        }
        put => ("replaced", put),
    };
    let reply = reply.map_err(|error| writing.failure(&error))?;
    target.changed(reply.code, action, reply.body, &reply.warnings)
}

/// Replaces the existing object; of any version, unless the manifest names one.
async fn put(
    target: &ManifestTarget<'_>,
    name: &str,
    object: &Object,
    writing: &Writing,
) -> Result<Reply, ApiError> {
    let mut conflicts = 0;
    loop {
        let mut object = object.clone();
        let own_version = metadata_text(&object, "resourceVersion").is_some();
        // An object that cannot be read is replaced all the same: the error of the API server explains it.
        if !own_version
            && let Ok(Some(live)) = target.live(name).await
            && let Some(Value::Object(metadata)) = object.get_mut("metadata")
            && let Some(version) = metadata_text(&live.object, "resourceVersion")
        {
            metadata.insert("resourceVersion".to_owned(), version.into());
        }
        let call = target.call(Method::PUT, Some(name)).body("application/json", encode(&object));
        match target.write(call, writing).await {
            Err(error) if !own_version && reason(&error) == "Conflict" && conflicts < MOST_CONFLICTS => {
                conflicts += 1;
            }
            answer => return answer,
        }
    }
}
