//! Verbs that change nothing.

use serde::{Deserialize, Serialize};

use super::{ApplyMode, Manifest, ObjectRef};

/// Reads one object. Answer: the object.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Get {
    /// Which.
    pub target: ObjectRef,
    /// Leaves the values of a Secret in the answer; that is written down.
    #[serde(default)]
    pub reveal: bool,
    /// Outside of the account's namespaces, too, as far as the cluster lets its agent.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub anywhere: bool,
}

/// Reads all objects of a kind. Answer: Kubernetes' list, with items of any number.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct List {
    /// Such as `apps/v1`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_version: Option<String>,
    /// As in [`ObjectRef::kind`].
    pub kind: String,
    /// All namespaces if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Such as `app=web,tier!=test`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label_selector: Option<String>,
    /// Such as `status.phase=Running`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field_selector: Option<String>,
    /// Outside of the account's namespaces, too, as far as the cluster lets its agent.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub anywhere: bool,
}

/// Reads what a container has written. Answer: text.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Logs {
    /// A pod, or something that has pods: then the first of them, as kubectl chooses it.
    pub target: ObjectRef,
    /// The only one, or the one that `kubectl.kubernetes.io/default-container` names, if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub container: Option<String>,
    /// Of the life of the container before this one.
    #[serde(default)]
    pub previous: bool,
    /// Goes on as long as the container writes.
    #[serde(default)]
    pub follow: bool,
    /// The last lines only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tail_lines: Option<u64>,
    /// The last seconds only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since_seconds: Option<u64>,
    /// From this moment on, in RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since_time: Option<String>,
    /// Each line begins with its time.
    #[serde(default)]
    pub timestamps: bool,
    /// No more than this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit_bytes: Option<u64>,
    /// Outside of the account's namespaces, too, as far as the cluster lets its agent.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub anywhere: bool,
}

/// Reads what pods or nodes use. Answer: the list of `metrics.k8s.io`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Top {
    /// `pods` or `nodes`.
    pub kind: String,
    /// All namespaces if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// All if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Such as `app=web`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label_selector: Option<String>,
    /// Outside of the account's namespaces, too, as far as the cluster lets its agent.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub anywhere: bool,
}

/// Shows what applying a manifest would change. Answer: `{"live": object or null, "merged": object}`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Diff {
    /// What would be applied.
    pub manifest: Manifest,
    /// Where, if the manifest does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// How it would be applied.
    #[serde(default)]
    pub mode: ApplyMode,
    /// Whose fields they would become.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field_manager: Option<String>,
    /// Takes fields from other managers.
    #[serde(default)]
    pub force_conflicts: bool,
}

/// Tells whether a Secret or ConfigMap holds the same data. Answer: `{"matches": true}`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Matches {
    /// The object that is there.
    pub target: ObjectRef,
    /// The same as this?
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub manifest: Option<Manifest>,
    /// Or the same as this one?
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other: Option<ObjectRef>,
}
