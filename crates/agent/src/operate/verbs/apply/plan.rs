//! Patch from a live object to a manifest.

use spindrift_model::OperationError;
use std::sync::Arc;

use http::Method;
use spindrift_kubernetes::{
    Call, MergeError, Object, Schema, Shape, apply_json_merge, apply_strategic, last_applied, normalized,
    three_way_json, three_way_strategic,
};

use super::super::manifest_target::{ManifestTarget, bad_request, encode};

/// Patch with its type.
pub(in super::super) struct Plan {
    pub(in super::super) patch: Object,
    merge: Merge,
}

/// Merge of patches of a kind.
pub(in super::super) enum Merge {
    /// By merge keys: the server's own, or the built-in ones.
    Strategic { facts: Option<Arc<Schema>>, api_version: String, kind: Arc<str> },
    /// As JSON, for a kind without merge keys.
    Json,
}

// === impl Plan ===

impl Plan {
    /// Computes the patch of a live object.
    pub(in super::super) async fn of(
        target: &ManifestTarget<'_>,
        modified: &Object,
        current: &Object,
    ) -> Result<Self, OperationError> {
        let original = last_applied(current).unwrap_or_else(|| Ok(Object::new()));
        let original = original
            .map_err(|_| bad_request(format!("the last-applied annotation of {target} is no JSON")))?;
        let current = normalized(current.clone());
        let merge = Merge::of(target).await;
        let patch = match merge.shape() {
            Some(shape) => three_way_strategic(&original, modified, &current, shape),
            None => three_way_json(&original, modified, &current),
        };
        Ok(Self { patch: patch.map_err(|error| impossible(target, &error))?, merge })
    }

    /// Call with the patch.
    pub(in super::super) fn call(&self, target: &ManifestTarget<'_>, name: &str) -> Call {
        target.call(Method::PATCH, Some(name)).body(self.merge.media_type(), encode(&self.patch))
    }

    /// Object after the patch, without defaults and admission.
    pub(in super::super) fn locally(
        &self,
        target: &ManifestTarget<'_>,
        object: Object,
    ) -> Result<Object, OperationError> {
        self.merge.apply(target, object, self.patch.clone())
    }
}

// === impl Merge ===

impl Merge {
    /// Merge keys of the API server, or else those of the built-in kinds.
    pub(in super::super) async fn of(target: &ManifestTarget<'_>) -> Self {
        let (context, api_version) = (target.context, target.api_version());
        let facts = context.account.schemas.of(context.api(), &api_version).await;
        let strategic = Self::Strategic { facts, api_version, kind: target.resource.kind.clone() };
        if strategic.shape().is_some() { strategic } else { Self::Json }
    }

    fn shape(&self) -> Option<Shape<'_>> {
        match self {
            Self::Strategic { facts, api_version, kind } => {
                facts.as_deref().unwrap_or_else(|| Schema::builtin()).shape(api_version, kind)
            }
            Self::Json => None,
        }
    }

    fn media_type(&self) -> &'static str {
        match self {
            Self::Strategic { .. } => "application/strategic-merge-patch+json",
            Self::Json => "application/merge-patch+json",
        }
    }

    pub(in super::super) fn apply(
        &self,
        target: &ManifestTarget<'_>,
        object: Object,
        patch: Object,
    ) -> Result<Object, OperationError> {
        match self.shape() {
            Some(shape) => apply_strategic(object, patch, shape).map_err(|error| impossible(target, &error)),
            None => Ok(apply_json_merge(object, patch)),
        }
    }
}

fn impossible(target: &ManifestTarget<'_>, error: &MergeError) -> OperationError {
    bad_request(format!("no patch can be computed for {target}: {error}"))
}
