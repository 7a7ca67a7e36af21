//! CustomResourceDefinitions: the resources that a definition adds to the catalogue, and the definition's conditions.

use serde_json::{Value, json};
use spindrift_printer::Printer;

use super::{Resource, Scope, Subresource, Verbs, table_id};
use crate::object::{self, fields, list, text};

/// Fields of a resource that only custom resources have.
#[derive(Debug, Clone)]
pub(crate) struct CustomResource {
    pub(crate) scale: Option<ScalePaths>,
    pub(crate) printer: Printer,
    /// OpenAPI schema of the version; null if the definition has none.
    pub(crate) schema: Value,
}

/// JSON pointers to the fields that the scale subresource reads and writes.
#[derive(Debug, Clone)]
pub(crate) struct ScalePaths {
    pub(crate) spec: String,
    pub(crate) status: String,
    pub(crate) selector: Option<String>,
}

/// Resources that a definition serves, preferred version first.
pub(crate) fn resources(definition: &Value) -> Vec<Resource> {
    let mut versions: Vec<&Value> = list(definition, "/spec/versions")
        .iter()
        .filter(|version| version.get("served").and_then(Value::as_bool) == Some(true))
        .collect();
    versions.sort_by_key(|version| std::cmp::Reverse(priority(text(version, "/name"))));
    versions.into_iter().map(|version| resource(definition, version)).collect()
}

fn resource(definition: &Value, version: &Value) -> Resource {
    let group = text(definition, "/spec/group");
    let names = |field: &str| text(definition, &format!("/spec/names/{field}")).to_owned();
    let words = |field: &str| -> Vec<String> {
        let words = list(definition, &format!("/spec/names/{field}"));
        words.iter().filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let kind = names("kind");
    let scope =
        if text(definition, "/spec/scope") == "Namespaced" { Scope::Namespaced } else { Scope::Cluster };
    let table = table_id(group, &names("plural"));
    Resource {
        group: group.to_owned(),
        version: text(version, "/name").to_owned(),
        list_kind: Some(names("listKind")).filter(|k| !k.is_empty()).unwrap_or_else(|| format!("{kind}List")),
        plural: names("plural"),
        singular: Some(names("singular")).filter(|s| !s.is_empty()).unwrap_or_else(|| kind.to_lowercase()),
        scope,
        short_names: words("shortNames"),
        categories: words("categories"),
        verbs: Verbs::All,
        subresources: subresources(version, &kind),
        storage: table.clone(),
        table,
        custom: Some(CustomResource {
            scale: version.pointer("/subresources/scale").map(scale_paths),
            printer: Printer::custom(definition, text(version, "/name")),
            schema: version.pointer("/schema/openAPIV3Schema").cloned().unwrap_or_default(),
        }),
        kind,
    }
}

fn subresources(version: &Value, kind: &str) -> Vec<Subresource> {
    let verbs: &[&str] = &["get", "patch", "update"];
    let mut subresources = Vec::new();
    if version.pointer("/subresources/status").is_some() {
        subresources.push(Subresource {
            name: "status".into(),
            group: "",
            version: "",
            kind: kind.into(),
            verbs,
        });
    }
    if version.pointer("/subresources/scale").is_some() {
        subresources.push(Subresource {
            name: "scale".into(),
            group: "autoscaling",
            version: "v1",
            kind: "Scale".into(),
            verbs,
        });
    }
    subresources
}

fn scale_paths(scale: &Value) -> ScalePaths {
    let pointer = |field: &str| text(scale, field).replace('.', "/");
    ScalePaths {
        spec: pointer("/specReplicasPath"),
        status: pointer("/statusReplicasPath"),
        selector: Some(pointer("/labelSelectorPath")).filter(|path| !path.is_empty()),
    }
}

/// Sort key of a version in Kubernetes' order: v2, v1, v1beta1, v1alpha1, then all others.
fn priority(version: &str) -> (u8, u32, u32) {
    let Some(rest) = version.strip_prefix('v') else { return (0, 0, 0) };
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let (major, stage) = rest.split_at(digits);
    let Ok(major) = major.parse() else { return (0, 0, 0) };
    match (stage.strip_prefix("beta"), stage.strip_prefix("alpha")) {
        _ if stage.is_empty() => (3, major, 0),
        (Some(minor), _) => minor.parse().map_or((0, 0, 0), |minor| (2, major, minor)),
        (_, Some(minor)) => minor.parse().map_or((0, 0, 0), |minor| (1, major, minor)),
        _ => (0, 0, 0),
    }
}

/// Defaults the names and accepts the definition at once; the real server does so within a second.
pub(crate) fn establish(definition: &mut Value) {
    let kind = text(definition, "/spec/names/kind").to_owned();
    if let Some(names) = definition.pointer_mut("/spec/names") {
        let names = fields(names);
        object::default(names, "listKind", format!("{kind}List"));
        object::default(names, "singular", kind.to_lowercase());
    }
    if let Some(spec) = definition.pointer_mut("/spec") {
        object::default(fields(spec), "conversion", json!({"strategy": "None"}));
    }
    let names = definition.pointer("/spec/names").cloned().unwrap_or_default();
    let storage = list(definition, "/spec/versions")
        .iter()
        .find(|version| version.get("storage").and_then(Value::as_bool) == Some(true));
    let stored = storage.map(|version| text(version, "/name").to_owned()).unwrap_or_default();
    let now = object::now();
    let status = object::child(definition, "status");
    if !status.contains_key("conditions") {
        let condition = |kind: &str, reason: &str, message: &str| json!({"type": kind, "status": "True", "lastTransitionTime": now, "reason": reason, "message": message});
        let accepted = condition("NamesAccepted", "NoConflicts", "no conflicts found");
        let established =
            condition("Established", "InitialNamesAccepted", "the initial names have been accepted");
        status.insert("conditions".into(), json!([accepted, established]));
    }
    status.insert("acceptedNames".into(), names);
    let versions = status.entry("storedVersions").or_insert(json!([]));
    if let Value::Array(versions) = versions
        && !versions.iter().any(|version| *version == stored)
    {
        versions.push(stored.into());
    }
}

#[cfg(test)]
mod tests {
    use super::priority;

    #[test]
    fn versions_are_ordered_by_stage_and_then_by_number() {
        let mut versions = ["v1alpha1", "foo", "v1", "v2beta1", "v10", "v1beta2", "v2"];
        versions.sort_by_key(|version| std::cmp::Reverse(priority(version)));
        assert_eq!(versions, ["v10", "v2", "v1", "v2beta1", "v1beta2", "v1alpha1", "foo"]);
    }
}
