//! The patch that brings a live object to what a manifest says.

use std::sync::Arc;

use http::Method;
use spindrift_kubernetes::{
    Call, MergeError, Object, Schema, Shape, apply_json_merge, apply_strategic, last_applied, normalized,
    three_way_json, three_way_strategic,
};

use super::super::{
    super::Failure,
    place::{Place, bad_request, encode},
};

/// A patch, and how the API server has to read it.
pub(in super::super) struct Plan {
    pub(in super::super) patch: Object,
    merge: Merge,
}

/// How patches of a kind are merged.
pub(in super::super) enum Merge {
    /// By merge keys: the server's own, or those that we were built with.
    Strategic { facts: Option<Arc<Schema>>, api_version: String, kind: Arc<str> },
    /// As JSON, since nothing is known of the kind.
    Json,
}

// === impl Plan ===

impl Plan {
    /// Computes what is to be done to a live object.
    pub(in super::super) async fn of(
        place: &Place<'_>,
        modified: &Object,
        current: &Object,
    ) -> Result<Self, Failure> {
        let original = last_applied(current).unwrap_or_else(|| Ok(Object::new()));
        let original = original
            .map_err(|_| bad_request(format!("the last-applied annotation of {place} is no JSON")))?;
        let current = normalized(current.clone());
        let merge = Merge::of(place).await;
        let patch = match merge.shape() {
            Some(shape) => three_way_strategic(&original, modified, &current, shape),
            None => three_way_json(&original, modified, &current),
        };
        Ok(Self { patch: patch.map_err(|error| impossible(place, &error))?, merge })
    }

    /// The call that does it.
    pub(in super::super) fn call(&self, place: &Place<'_>, name: &str) -> Call {
        place.call(Method::PATCH, Some(name)).body(self.merge.media_type(), encode(&self.patch))
    }

    /// What would come of it, without defaults and admission.
    pub(in super::super) fn locally(&self, place: &Place<'_>, object: Object) -> Result<Object, Failure> {
        self.merge.apply(place, object, self.patch.clone())
    }
}

// === impl Merge ===

impl Merge {
    /// As the API server says it, or else as the built-in kinds are merged.
    pub(in super::super) async fn of(place: &Place<'_>) -> Self {
        let (hand, api_version) = (place.hand, place.api_version());
        let facts = hand.account.schemas.of(hand.api(), &api_version).await;
        let strategic = Self::Strategic { facts, api_version, kind: place.resource.kind.clone() };
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
        place: &Place<'_>,
        object: Object,
        patch: Object,
    ) -> Result<Object, Failure> {
        match self.shape() {
            Some(shape) => apply_strategic(object, patch, shape).map_err(|error| impossible(place, &error)),
            None => Ok(apply_json_merge(object, patch)),
        }
    }
}

fn impossible(place: &Place<'_>, error: &MergeError) -> Failure {
    bad_request(format!("no patch can be computed for {place}: {error}"))
}
