//! `replace`: replaces an object by a manifest.

use http::Method;
use serde_json::Value;
use spindrift_kubernetes::{ApiError, Object, Reply};
use spindrift_model::{DryRun, OperationError, Replace};

use super::{
    super::{Answer, OperationContext},
    create::{self, with_annotation},
    hidden_values::HiddenValues,
    manifest_target::{ManifestTarget, Writing, bad_request, encode, metadata_text, reason},
    recreate::recreate,
};

const MANAGER: &str = "kubectl-replace";

/// Retries after conflicts with concurrent changes.
const MOST_CONFLICTS: usize = 5;

pub(super) async fn run(context: &OperationContext, replace: Replace) -> Result<Answer, OperationError> {
    let Replace {
        manifest,
        namespace,
        or_create,
        force,
        save_config,
        field_manager,
        dry_run,
        validate,
        values_from,
    } = replace;
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
    let mut object = with_annotation(&target.manifest, save_config);
    let hidden = HiddenValues::read(&target, values_from).await?;
    if let Some(hidden) = &hidden {
        hidden.fill_in(&mut object, name, None);
    }
    context.go_on()?;
    if dry_run == DryRun::Client {
        return target.changed(200, "replaced", encode(&object), &[]);
    }
    if force {
        let live = target.live(name).await?;
        if let Some(hidden) = &hidden {
            hidden.fill_in(&mut object, name, live.as_ref().map(|live| &live.object));
        }
        let reply = recreate(&target, name, live, object, &writing).await?;
        return target.changed(reply.code, "replaced", reply.body, &reply.warnings);
    }
    let (action, reply) = match put(&target, name, &object, &writing, hidden.as_ref()).await {
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
    hidden: Option<&HiddenValues>,
) -> Result<Reply, ApiError> {
    let mut conflicts = 0;
    loop {
        let mut object = object.clone();
        let own_version = metadata_text(&object, "resourceVersion").is_some();
        // An object that cannot be read is replaced all the same: the error of the API server explains it.
        if !own_version
            && let Ok(Some(live)) = target.live(name).await
            && let Some(version) = metadata_text(&live.object, "resourceVersion")
        {
            if let Some(Value::Object(metadata)) = object.get_mut("metadata") {
                metadata.insert("resourceVersion".to_owned(), version.into());
            }
            if let Some(hidden) = hidden {
                hidden.fill_in(&mut object, name, Some(&live.object));
            }
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
