//! Verbs that change something.
//!
//! Unless said otherwise, the answer is `{"action": "configured", "object": …, "warnings": ["…"]}`, with the action in
//! kubectl's words.

use serde::{Deserialize, Serialize};

use super::{Manifest, ObjectRef};

/// Makes an object what a manifest says, and creates it where it is missing.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Apply {
    /// What it shall be.
    pub manifest: Manifest,
    /// Where, if the manifest does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Who computes the change.
    #[serde(default)]
    pub mode: ApplyMode,
    /// Whose fields they become.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field_manager: Option<String>,
    /// Server-side: takes fields from other managers.
    #[serde(default)]
    pub force_conflicts: bool,
    /// Deletes and creates what cannot be changed in place.
    #[serde(default)]
    pub force: bool,
    /// Shows what would be.
    #[serde(default)]
    pub dry_run: DryRun,
    /// What becomes of fields that the API server does not know.
    #[serde(default)]
    pub validate: Validation,
}

/// Creates an object that is not there yet; `generateName` is understood.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Create {
    /// What it shall be.
    pub manifest: Manifest,
    /// Where, if the manifest does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Keeps the manifest in the last-applied annotation, for a later apply.
    #[serde(default)]
    pub save_config: bool,
    /// Whose fields they become.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field_manager: Option<String>,
    /// Shows what would be.
    #[serde(default)]
    pub dry_run: DryRun,
    /// What becomes of fields that the API server does not know.
    #[serde(default)]
    pub validate: Validation,
}

/// Puts a manifest in the place of an object.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Replace {
    /// What it shall be.
    pub manifest: Manifest,
    /// Where, if the manifest does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Creates what is not there.
    #[serde(default)]
    pub or_create: bool,
    /// Deletes and creates, whatever is there.
    #[serde(default)]
    pub force: bool,
    /// Keeps the manifest in the last-applied annotation, for a later apply.
    #[serde(default)]
    pub save_config: bool,
    /// Whose fields they become.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field_manager: Option<String>,
    /// Shows what would be.
    #[serde(default)]
    pub dry_run: DryRun,
    /// What becomes of fields that the API server does not know.
    #[serde(default)]
    pub validate: Validation,
}

/// Changes parts of an object.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Patch {
    /// Which.
    pub target: ObjectRef,
    /// How the patch is to be read.
    #[serde(default, rename = "type")]
    pub kind: PatchKind,
    /// The change.
    pub patch: Manifest,
    /// Such as `status` or `scale`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subresource: Option<String>,
    /// Whose fields they become.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field_manager: Option<String>,
    /// Shows what would be.
    #[serde(default)]
    pub dry_run: DryRun,
}

/// Deletes an object, or all that a selector finds. Answer: `{"deleted": [ObjectRef with uid]}`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Delete {
    /// Such as `apps/v1`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_version: Option<String>,
    /// As in [`ObjectRef::kind`].
    pub kind: String,
    /// Where; for a selector, all namespaces if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Which one; or a selector.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Which ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label_selector: Option<String>,
    /// Which ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field_selector: Option<String>,
    /// How long they may take to end by themselves; their own wish if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grace_period_seconds: Option<u64>,
    /// Lets a grace period of 0 be one: without it, that is a second, as with kubectl.
    #[serde(default)]
    pub force: bool,
    /// What becomes of what they own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub propagation_policy: Option<Propagation>,
    /// Only if it is still this one.
    #[serde(default)]
    pub preconditions: Preconditions,
    /// Answers when they are gone, not when they are told to go.
    #[serde(default = "yes")]
    pub wait: bool,
    /// What is not there is no failure.
    #[serde(default)]
    pub ignore_not_found: bool,
    /// Shows what would be.
    #[serde(default)]
    pub dry_run: DryRun,
}

/// Sets the number of replicas. The object of the answer is a `Scale`; `target` beside it says of what (`apiVersion`,
/// `kind`, `name`).
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Scale {
    /// Of what.
    pub target: ObjectRef,
    /// How many.
    pub replicas: u32,
    /// Only if there are so many now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current_replicas: Option<u32>,
    /// Only if it is still this version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource_version: Option<String>,
    /// Shows what would be.
    #[serde(default)]
    pub dry_run: DryRun,
}

/// What concerns revisions of a workload.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Rollout {
    /// Which workload.
    pub target: ObjectRef,
    /// What to do with it.
    #[serde(flatten)]
    pub action: RolloutAction,
    /// Shows what would be.
    #[serde(default)]
    pub dry_run: DryRun,
}

/// What to do with a rollout. In JSON, the field `action` tells which it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "action", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum RolloutAction {
    /// Goes back.
    Undo {
        /// To this one; to the one before if left out or 0.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        to_revision: Option<u64>,
    },
    /// Holds it.
    Pause,
    /// Lets it go on.
    Resume,
    /// Replaces all pods.
    Restart,
    /// Answer: `{"revisions": [{"revision": 1, "changeCause": null, "template": …}]}`.
    History {
        /// This one only.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        revision: Option<u64>,
    },
    /// Answer: lines of `{"message": "…", "done": false}`, the last one done unless it is not followed.
    Status {
        /// Goes on until it is done.
        #[serde(default)]
        follow: bool,
    },
}

/// Who computes the change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ApplyMode {
    /// As the agent is configured: globally, by kind, by the manifest's annotation.
    #[default]
    Configured,
    /// We do, from the last-applied annotation.
    ClientSide,
    /// The API server does, from managed fields.
    ServerSide,
}

/// Whether it is only tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DryRun {
    /// No: it is done.
    #[default]
    None,
    /// Nothing is sent that could change anything.
    Client,
    /// The API server tries it and stores nothing.
    Server,
}

/// What becomes of fields that the API server does not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub enum Validation {
    /// They are refused.
    #[default]
    Strict,
    /// They are dropped with a warning.
    Warn,
    /// They are dropped.
    Ignore,
}

/// How a patch is to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PatchKind {
    /// By the merge keys of the type.
    #[default]
    Strategic,
    /// RFC 7386.
    Merge,
    /// RFC 6902.
    Json,
}

/// What becomes of what a deleted object owns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Propagation {
    /// It is deleted first.
    #[serde(alias = "foreground")]
    Foreground,
    /// It is deleted afterwards.
    #[serde(alias = "background")]
    Background,
    /// It stays.
    #[serde(alias = "orphan")]
    Orphan,
}

/// Only if it is still this one.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Preconditions {
    /// The object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
    /// The version of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_version: Option<String>,
}

fn yes() -> bool {
    true
}

// === impl RolloutAction ===

impl RolloutAction {
    /// Whether it changes something.
    pub fn is_mutation(&self) -> bool {
        !matches!(self, Self::History { .. } | Self::Status { .. })
    }
}
