//! Server-side apply: the API server computes the change from who owns which field.
//!
//! What was applied client-side before is owned by updates. After the first server-side apply that ownership moves to the
//! one that applies, so that what a manifest drops goes, and the manifest is sent once more. The annotation of
//! client-side apply is kept, by a manager of its own, so that one can go back.

use http::Method;
use serde_json::json;
use spindrift_kubernetes::{
    ApiError, LAST_APPLIED, Object, Ownership, Reply, move_to_apply, owners_of_last_applied,
};
use spindrift_model::DryRun;

use super::{
    super::{
        super::{Answer, Failure},
        place::{Live, Place, Writing, encode, reason},
    },
    SERVER_SIDE_MANAGER,
    client_side::warning_of_deletion,
};

/// How a manifest is applied server-side.
pub(in super::super) struct ServerSide {
    pub(in super::super) writing: Writing,
    /// Takes fields from other managers.
    pub(in super::super) force_conflicts: bool,
    /// Takes all fields from all managers, before.
    pub(in super::super) clear_managed_fields: bool,
}

/// Takes care of the annotation of client-side apply.
const ANNOTATION_MANAGER: &str = "kubectl-last-applied";

/// How often ownership is moved anew because the object has changed meanwhile.
const MOST_CONFLICTS: usize = 5;

// === impl ServerSide ===

impl ServerSide {
    pub(in super::super) async fn apply(&self, place: &Place<'_>) -> Result<Answer, Failure> {
        let name = place.require_name("apply")?;
        if self.writing.dry_run == DryRun::Client {
            return Err(super::bad_request(
                "dryRun: client cannot tell what the server would do; expected server",
            ));
        }
        if self.clear_managed_fields {
            self.clear_managed_fields(place, name).await?;
        }
        let first = self.send(place, name).await.map_err(|error| self.writing.failure(&error))?;
        let code = first.code;
        let mut warnings = first.warnings;
        let live = Live::written(first.body)?;
        warnings.extend(warning_of_deletion(&live.object));
        let (live, more) = self.take_over(place, name, live).await;
        warnings.extend(more);
        place.changed(code, "serverside-applied", live.body, &warnings)
    }

    /// Sends the manifest as it is.
    pub(in super::super) async fn send(&self, place: &Place<'_>, name: &str) -> Result<Reply, ApiError> {
        let force = if self.force_conflicts { "true" } else { "false" };
        self.send_apply(place, name, &place.manifest, &self.writing, Some(force)).await
    }

    async fn send_apply(
        &self,
        place: &Place<'_>,
        name: &str,
        object: &Object,
        writing: &Writing,
        force: Option<&str>,
    ) -> Result<Reply, ApiError> {
        let mut call =
            place.call(Method::PATCH, Some(name)).body("application/apply-patch+yaml", encode(object));
        if let Some(force) = force {
            call = call.query("force", force);
        }
        place.write(call, writing).await
    }

    /// Moves what client-side apply owns. The object is applied already, so that a failure is only warned of, and
    /// repaired by the next apply.
    async fn take_over(&self, place: &Place<'_>, name: &str, live: Live) -> (Live, Option<String>) {
        let warn = |what: &str, error: &ApiError| {
            let error = error
                .status()
                .map_or_else(|| spindrift_process::report(error), |status| status.message.clone());
            Some(format!("{what}. This is non-fatal and will be retried next time you apply. Error: {error}"))
        };
        let live = match self.keep_annotation(place, name, &live).await {
            Ok(kept) => kept.unwrap_or(live),
            Err(error) => {
                let what = format!("failed to migrate {LAST_APPLIED} for Server-Side Apply");
                return (live, warn(&what, &error));
            }
        };
        match self.move_ownership(place, name, &live).await {
            Ok(false) => return (live, None),
            Ok(true) => {}
            Err(error) => {
                let what = "server rejected managed fields migration to Server-Side Apply";
                return (live, warn(what, &error));
            }
        }
        // Only now can what the manifest dropped really go.
        match self.send(place, name).await.map(|reply| Live::of(reply.body)) {
            Ok(Ok(again)) => (again, None),
            Ok(Err(_)) => (live, None),
            Err(error) => {
                let what = "failed to re-apply configuration after performing Server-Side Apply migration";
                (live, warn(what, &error))
            }
        }
    }

    /// Gives the annotation an owner that stays, or it would go with its former one.
    async fn keep_annotation(
        &self,
        place: &Place<'_>,
        name: &str,
        live: &Live,
    ) -> Result<Option<Live>, ApiError> {
        let annotation = || live.object.get("metadata")?.get("annotations")?.get(LAST_APPLIED)?.as_str();
        let owners = owners_of_last_applied(&live.object, Ownership::Apply);
        let Some(annotation) = annotation().filter(|_| owners.is_empty()) else { return Ok(None) };
        // Only for kubectl's own name does the API server keep it up to date.
        if self.writing.manager != SERVER_SIDE_MANAGER {
            return Ok(None);
        }
        let mut metadata = json!({ "name": name, "annotations": { LAST_APPLIED: annotation } });
        if let Some(namespace) = &place.namespace {
            metadata["namespace"] = namespace.as_str().into();
        }
        let object: Object = [
            ("apiVersion".to_owned(), place.api_version().into()),
            ("kind".to_owned(), place.resource.kind.as_ref().into()),
            ("metadata".to_owned(), metadata),
        ]
        .into_iter()
        .collect();
        let writing = Writing { manager: ANNOTATION_MANAGER.to_owned(), ..self.writing.clone() };
        let reply = self.send_apply(place, name, &object, &writing, None).await?;
        Ok(Live::of(reply.body).ok())
    }

    /// Whether there was anything to be moved.
    async fn move_ownership(&self, place: &Place<'_>, name: &str, live: &Live) -> Result<bool, ApiError> {
        let former = owners_of_last_applied(&live.object, Ownership::Update);
        let mut newer: Option<Live> = None;
        let mut conflicts = 0;
        loop {
            let object = newer.as_ref().map_or(&live.object, |newer| &newer.object);
            let Some(patch) = move_to_apply(object, &former, &self.writing.manager) else { return Ok(false) };
            let call =
                place.call(Method::PATCH, Some(name)).body("application/json-patch+json", patch.to_string());
            match place.write(call, &self.writing).await {
                Ok(_) => return Ok(true),
                Err(error) if reason(&error) == "Conflict" && conflicts < MOST_CONFLICTS => conflicts += 1,
                Err(error) => return Err(error),
            }
            match place.live(name).await {
                Ok(Some(live)) => newer = Some(live),
                _ => return Ok(false),
            }
        }
    }

    /// Takes all fields from all managers, of exactly the version that was seen.
    async fn clear_managed_fields(&self, place: &Place<'_>, name: &str) -> Result<(), Failure> {
        let mut conflicts = 0;
        loop {
            let Some(live) = place.live(name).await? else { return Ok(()) };
            let version = live.object.get("metadata").map(|metadata| metadata["resourceVersion"].clone());
            let patch = json!({ "metadata": { "managedFields": [{}], "resourceVersion": version } });
            let call =
                place.call(Method::PATCH, Some(name)).body("application/merge-patch+json", patch.to_string());
            place.hand.go_on()?;
            match place.write(call, &self.writing).await {
                Ok(_) => return Ok(()),
                Err(error) if reason(&error) == "Conflict" && conflicts < MOST_CONFLICTS => conflicts += 1,
                Err(error) => return Err(self.writing.failure(&error)),
            }
        }
    }
}
