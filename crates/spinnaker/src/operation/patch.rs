//! Preparation of a patch.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::PatchManifest;
use crate::{Artifact, Binding, Failure, Kind, bind, check_bound};

/// Type of a patch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MergeStrategy {
    Strategic,
    Json,
    Merge,
}

/// Patch to send.
#[derive(Debug, Clone, PartialEq)]
pub struct PatchBody {
    pub strategy: MergeStrategy,
    pub body: Value,
    /// Artifacts that were bound in it.
    pub bound: Vec<Artifact>,
}

// === impl MergeStrategy ===

impl MergeStrategy {
    pub fn content_type(self) -> &'static str {
        match self {
            Self::Strategic => "application/strategic-merge-patch+json",
            Self::Json => "application/json-patch+json",
            Self::Merge => "application/merge-patch+json",
        }
    }
}

// === impl PatchBody ===

impl PatchBody {
    /// Binds the artifacts in the patch of a request; nulls stay, so that a key can be deleted.
    pub fn prepare(patch: &PatchManifest, kind: &Kind, binding: Binding<'_>) -> Result<Self, Failure> {
        let strategy = patch.options.as_ref().and_then(|options| options.merge_strategy);
        let (Some(strategy), Some(body)) = (strategy, &patch.patch_body) else {
            let message = "a patch must have patchBody and options.mergeStrategy";
            return Err(Failure::illegal_argument(message));
        };
        match strategy {
            MergeStrategy::Json => Ok(Self { strategy, body: json_patch(body)?, bound: Vec::new() }),
            MergeStrategy::Strategic | MergeStrategy::Merge => {
                let mut body = merge_patch(body)?;
                let bound = bind(kind, &mut body, &patch.all_artifacts, binding);
                check_bound(&patch.required_artifacts, &bound)
                    .map_err(|unbound| Failure::illegal_argument(unbound.in_patch()))?;
                Ok(Self { strategy, body: Value::Object(body), bound })
            }
        }
    }
}

fn merge_patch(body: &Value) -> Result<Map<String, Value>, Failure> {
    let message = "patchBody must be an object, unless options.mergeStrategy is json";
    body.as_object().cloned().ok_or_else(|| Failure::illegal_argument(message))
}

/// JSON patch of `add`, `replace` and `remove`; Clouddriver supports no others.
fn json_patch(body: &Value) -> Result<Value, Failure> {
    let steps = body.as_array().ok_or_else(|| {
        Failure::illegal_argument("patchBody must be a list of steps if options.mergeStrategy is json")
    })?;
    for (index, step) in steps.iter().enumerate() {
        let op = step.get("op").and_then(Value::as_str).unwrap_or_default();
        if !["add", "replace", "remove"].contains(&op) {
            return Err(Failure::illegal_argument(format!(
                "patchBody[{index}].op must be add, replace or remove, not \"{op}\""
            )));
        }
    }
    Ok(body.clone())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::ImageMatch;

    fn prepare(mut description: Value) -> Result<PatchBody, Failure> {
        description["manifestName"] = "deployment shop-api".into();
        let patch = serde_json::from_value(description).unwrap();
        let binding = Binding { account: "account1", namespace: "ns", images: ImageMatch::default() };
        PatchBody::prepare(&patch, &Kind::parse("deployment"), binding)
    }

    fn pods(image: &str) -> Value {
        json!({"spec": {"template": {"spec": {"containers": [{"name": "main", "image": image}]}}}})
    }

    #[test]
    fn artifacts_are_bound_in_merge_patches() {
        let nginx = json!({"type": "docker/image", "name": "nginx", "reference": "nginx:1.28"});
        let patch = prepare(json!({"options": {"mergeStrategy": "strategic"}, "patchBody": pods("nginx"),
            "requiredArtifacts": [nginx.clone()], "allArtifacts": [nginx.clone()]}))
        .unwrap();
        assert_eq!((patch.body, patch.bound.len()), (pods("nginx:1.28"), 1));
        let unbound = prepare(json!({"options": {"mergeStrategy": "merge"}, "patchBody": {"metadata": {}},
            "requiredArtifacts": [nginx.clone()], "allArtifacts": [nginx]}));
        assert!(unbound.unwrap_err().message.contains("reference=nginx:1.28)]'.Check that"));
    }

    #[test]
    fn a_merge_keeps_the_nulls_that_delete() {
        let body = json!({"metadata": {"labels": {"gone": null}}});
        let patch =
            prepare(json!({"options": {"mergeStrategy": "merge"}, "patchBody": body.clone()})).unwrap();
        assert_eq!(patch.body, body);
        let list = prepare(json!({"options": {"mergeStrategy": "merge"}, "patchBody": [body]}));
        assert!(list.unwrap_err().message.starts_with("patchBody must be an object"));
    }

    #[test]
    fn a_json_patch_supports_three_operations() {
        let step = |op: &str| {
            json!({"options": {"mergeStrategy": "json"},
            "patchBody": [{"op": op, "path": "/metadata/labels/x", "value": "y"}]})
        };
        assert_eq!(prepare(step("add")).unwrap().strategy, MergeStrategy::Json);
        let message = prepare(step("test")).unwrap_err().message;
        assert_eq!(message, "patchBody[0].op must be add, replace or remove, not \"test\"");
        let object = json!({"options": {"mergeStrategy": "json"}, "patchBody": {}});
        assert!(prepare(object).is_err());
    }
}
