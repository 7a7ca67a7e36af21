//! Server-side apply: the API server computes the change from the managed fields.
//!
//! Fields of an earlier client-side apply are owned by updates. After the first server-side apply that ownership moves to
//! the applying manager, so that fields which the manifest drops are removed, and the manifest is sent once more. The
//! annotation of client-side apply is kept, by a manager of its own, so that one can go back.

use http::Method;
use serde_json::json;
use spindrift_kubernetes::{
    ApiError, LAST_APPLIED, Object, Ownership, Reply, move_to_apply, owners_of_last_applied,
};
use spindrift_model::{DryRun, OperationError};

use super::{
    super::{
        super::Answer,
        manifest_target::{Live, ManifestTarget, Writing, encode, reason},
    },
    SERVER_SIDE_MANAGER,
    client_side::warning_of_deletion,
};

/// Options of server-side apply.
pub(in super::super) struct ServerSide {
    pub(in super::super) writing: Writing,
    /// Takes fields from other managers.
    pub(in super::super) force_conflicts: bool,
    /// Takes all fields from all managers first.
    pub(in super::super) clear_managed_fields: bool,
}

/// Field manager of the annotation of client-side apply.
const ANNOTATION_MANAGER: &str = "kubectl-last-applied";

/// Retries after conflicts with concurrent changes.
const MOST_CONFLICTS: usize = 5;

// === impl ServerSide ===

impl ServerSide {
    pub(in super::super) async fn apply(
        &self,
        target: &ManifestTarget<'_>,
    ) -> Result<Answer, OperationError> {
        let name = target.require_name("apply")?;
        if self.writing.dry_run == DryRun::Client {
            return Err(super::bad_request(
                "dryRun: client cannot tell what the server would do; expected server",
            ));
        }
        if self.clear_managed_fields {
            self.clear_managed_fields(target, name).await?;
        }
        let first = self.send(target, name).await.map_err(|error| self.writing.failure(&error))?;
        let code = first.code;
        let mut warnings = first.warnings;
        let live = Live::written(first.body)?;
        warnings.extend(warning_of_deletion(&live.object));
        let (live, more) = self.take_over(target, name, live).await;
        warnings.extend(more);
        target.changed(code, "serverside-applied", live.body, &warnings)
    }

    /// Sends the manifest unchanged.
    pub(in super::super) async fn send(
        &self,
        target: &ManifestTarget<'_>,
        name: &str,
    ) -> Result<Reply, ApiError> {
        let force = if self.force_conflicts { "true" } else { "false" };
        self.send_apply(target, name, &target.manifest, &self.writing, Some(force)).await
    }

    async fn send_apply(
        &self,
        target: &ManifestTarget<'_>,
        name: &str,
        object: &Object,
        writing: &Writing,
        force: Option<&str>,
    ) -> Result<Reply, ApiError> {
        let mut call =
            target.call(Method::PATCH, Some(name)).body("application/apply-patch+yaml", encode(object));
        if let Some(force) = force {
            call = call.query("force", force);
        }
        target.write(call, writing).await
    }

    /// Moves the fields of client-side apply. The object is applied already, so that a failure is a warning only, and the
    /// next apply repairs it.
    async fn take_over(&self, target: &ManifestTarget<'_>, name: &str, live: Live) -> (Live, Option<String>) {
        let warn = |what: &str, error: &ApiError| {
            let error = error
                .status()
                .map_or_else(|| spindrift_process::report(error), |status| status.message.clone());
            Some(format!("{what}. This is non-fatal and will be retried next time you apply. Error: {error}"))
        };
        let live = match self.keep_annotation(target, name, &live).await {
            Ok(kept) => kept.unwrap_or(live),
            Err(error) => {
                let what = format!("failed to migrate {LAST_APPLIED} for Server-Side Apply");
                return (live, warn(&what, &error));
            }
        };
        match self.move_ownership(target, name, &live).await {
            Ok(false) => return (live, None),
            Ok(true) => {}
            Err(error) => {
                let what = "server rejected managed fields migration to Server-Side Apply";
                return (live, warn(what, &error));
            }
        }
        // Only now can dropped fields be removed.
        match self.send(target, name).await.map(|reply| Live::of(reply.body)) {
            Ok(Ok(again)) => (again, None),
            Ok(Err(_)) => (live, None),
            Err(error) => {
                let what = "failed to re-apply configuration after performing Server-Side Apply migration";
                (live, warn(what, &error))
            }
        }
    }

    /// Gives the annotation a manager that stays, or it would be removed with its former one.
    async fn keep_annotation(
        &self,
        target: &ManifestTarget<'_>,
        name: &str,
        live: &Live,
    ) -> Result<Option<Live>, ApiError> {
        let annotation = || live.object.get("metadata")?.get("annotations")?.get(LAST_APPLIED)?.as_str();
        let owners = owners_of_last_applied(&live.object, Ownership::Apply);
        let Some(annotation) = annotation().filter(|_| owners.is_empty()) else { return Ok(None) };
        // The API server keeps it up to date for kubectl's own name only.
        if self.writing.manager != SERVER_SIDE_MANAGER {
            return Ok(None);
        }
        let mut metadata = json!({ "name": name, "annotations": { LAST_APPLIED: annotation } });
        if let Some(namespace) = &target.namespace {
            metadata["namespace"] = namespace.as_str().into();
        }
        let object: Object = [
            ("apiVersion".to_owned(), target.api_version().into()),
            ("kind".to_owned(), target.resource.kind.as_ref().into()),
            ("metadata".to_owned(), metadata),
        ]
        .into_iter()
        .collect();
        let writing = Writing { manager: ANNOTATION_MANAGER.to_owned(), ..self.writing.clone() };
        let reply = self.send_apply(target, name, &object, &writing, None).await?;
        Ok(Live::of(reply.body).ok())
    }

    /// Returns whether there was anything to move.
    async fn move_ownership(
        &self,
        target: &ManifestTarget<'_>,
        name: &str,
        live: &Live,
    ) -> Result<bool, ApiError> {
        let former = owners_of_last_applied(&live.object, Ownership::Update);
        let mut newer: Option<Live> = None;
        let mut conflicts = 0;
        loop {
            let object = newer.as_ref().map_or(&live.object, |newer| &newer.object);
            let Some(patch) = move_to_apply(object, &former, &self.writing.manager) else { return Ok(false) };
            let call =
                target.call(Method::PATCH, Some(name)).body("application/json-patch+json", patch.to_string());
            match target.write(call, &self.writing).await {
                Ok(_) => return Ok(true),
                Err(error) if reason(&error) == "Conflict" && conflicts < MOST_CONFLICTS => conflicts += 1,
                Err(error) => return Err(error),
            }
            match target.live(name).await {
                Ok(Some(live)) => newer = Some(live),
                _ => return Ok(false),
            }
        }
    }

    /// Takes all fields from all managers, at exactly the version that was read.
    async fn clear_managed_fields(
        &self,
        target: &ManifestTarget<'_>,
        name: &str,
    ) -> Result<(), OperationError> {
        let mut conflicts = 0;
        loop {
            let Some(live) = target.live(name).await? else { return Ok(()) };
            let version = live.object.get("metadata").map(|metadata| metadata["resourceVersion"].clone());
            let patch = json!({ "metadata": { "managedFields": [{}], "resourceVersion": version } });
            let call = target
                .call(Method::PATCH, Some(name))
                .body("application/merge-patch+json", patch.to_string());
            target.context.go_on()?;
            match target.write(call, &self.writing).await {
                Ok(_) => return Ok(()),
                Err(error) if reason(&error) == "Conflict" && conflicts < MOST_CONFLICTS => conflicts += 1,
                Err(error) => return Err(self.writing.failure(&error)),
            }
        }
    }
}
