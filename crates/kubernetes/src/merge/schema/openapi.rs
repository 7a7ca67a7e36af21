//! Merge strategies from an OpenAPI v3 document; everything else is skipped while it is parsed.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, de::IgnoredAny};

use super::{FieldStrategy, Schema, Strategy, Type};
use crate::json::Malformed;

/// OpenAPI document that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum InvalidOpenApi {
    /// The text is not an OpenAPI document.
    #[error("read the OpenAPI document")]
    Malformed(#[source] Malformed),
    /// A field has an unknown strategy.
    #[error(
        "{field} of {type_name} has the patch strategy {strategy:?}, expected merge, replace or retainKeys"
    )]
    UnknownStrategy {
        /// The type, by its name in the document.
        type_name: String,
        /// Its field.
        field: String,
        /// The strategy.
        strategy: String,
    },
}

#[derive(Deserialize)]
struct OpenApiDocument {
    #[serde(default)]
    paths: BTreeMap<String, PathItem>,
    #[serde(default)]
    components: Components,
}

#[derive(Deserialize)]
struct PathItem {
    patch: Option<Patch>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Patch {
    #[serde(rename = "x-kubernetes-group-version-kind")]
    kind: Option<GroupVersionKind>,
    request_body: Option<RequestBody>,
}

#[derive(Deserialize)]
struct RequestBody {
    #[serde(default)]
    #[expect(clippy::zero_sized_map_values, reason = "only the names of the media types count")]
    content: BTreeMap<String, IgnoredAny>,
}

#[derive(Deserialize, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct GroupVersionKind {
    group: String,
    version: String,
    kind: String,
}

#[derive(Deserialize, Default)]
struct Components {
    #[serde(default)]
    schemas: BTreeMap<Box<str>, TypeDocument>,
}

#[derive(Deserialize)]
struct TypeDocument {
    #[serde(default)]
    properties: BTreeMap<Box<str>, Property>,
    #[serde(default, rename = "x-kubernetes-group-version-kind")]
    kinds: Vec<GroupVersionKind>,
}

#[derive(Deserialize)]
struct Property {
    #[serde(rename = "x-kubernetes-patch-strategy")]
    strategy: Option<String>,
    #[serde(rename = "x-kubernetes-patch-merge-key")]
    merge_key: Option<Box<str>>,
    #[serde(rename = "$ref")]
    reference: Option<String>,
    #[serde(default, rename = "allOf")]
    all_of: Vec<Reference>,
    items: Option<Reference>,
}

/// Reference to another type, directly or in an `allOf`.
#[derive(Deserialize)]
struct Reference {
    #[serde(rename = "$ref")]
    reference: Option<String>,
    #[serde(default, rename = "allOf")]
    all_of: Vec<Reference>,
}

const STRATEGIC_MERGE_PATCH: &str = "application/strategic-merge-patch+json";

/// Reads the document of one group version.
pub(super) fn read(document: &[u8]) -> Result<Schema, InvalidOpenApi> {
    let OpenApiDocument { paths, components } =
        serde_json::from_slice(document).map_err(|error| InvalidOpenApi::Malformed(error.into()))?;
    let strategic: BTreeSet<GroupVersionKind> = paths.into_values().filter_map(strategic_kind).collect();
    let mut schema = Schema::default();
    for (name, TypeDocument { properties, kinds }) in components.schemas {
        for kind in kinds.into_iter().filter(|kind| strategic.contains(kind)) {
            schema.kinds.insert(kind.into_key(), name.clone());
        }
        let facts: Result<Type, _> = properties
            .into_iter()
            .map(|(field, property)| Ok((field.clone(), property.facts(&name, &field)?)))
            .collect();
        schema.types.insert(name, facts?);
    }
    schema.prune();
    Ok(schema)
}

fn strategic_kind(path: PathItem) -> Option<GroupVersionKind> {
    let Patch { kind, request_body } = path.patch?;
    request_body?.content.contains_key(STRATEGIC_MERGE_PATCH).then_some(kind)?
}

// === impl GroupVersionKind ===

impl GroupVersionKind {
    fn into_key(self) -> (Box<str>, Box<str>) {
        let Self { group, version, kind } = self;
        let api_version = if group.is_empty() { version } else { format!("{group}/{version}") };
        (api_version.into(), kind.into())
    }
}

// === impl Property ===

impl Property {
    fn facts(self, type_name: &str, field: &str) -> Result<FieldStrategy, InvalidOpenApi> {
        let Self { strategy, merge_key, reference, all_of, items } = self;
        let itself = Reference { reference, all_of };
        let of = items.unwrap_or(itself).target();
        let mut facts = FieldStrategy { merge_key, of, ..FieldStrategy::default() };
        for word in strategy.iter().flat_map(|strategy| strategy.split(',')) {
            match word {
                "merge" => facts.strategy = Strategy::Merge,
                "replace" => facts.strategy = Strategy::Replace,
                "retainKeys" => facts.retain_keys = true,
                _ => {
                    return Err(InvalidOpenApi::UnknownStrategy {
                        type_name: type_name.to_owned(),
                        field: field.to_owned(),
                        strategy: word.to_owned(),
                    });
                }
            }
        }
        Ok(facts)
    }
}

// === impl Reference ===

impl Reference {
    fn target(self) -> Option<Box<str>> {
        let Self { reference, all_of } = self;
        let reference = reference.or_else(|| all_of.into_iter().next()?.reference)?;
        Some(reference.strip_prefix("#/components/schemas/")?.into())
    }
}
