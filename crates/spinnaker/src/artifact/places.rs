//! Fields of an object that name artifacts.

use serde_json::{Map, Value};

use super::DOCKER_IMAGE;
use crate::Kind;

/// Type of a field, which decides how it is compared with artifacts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ArtifactField {
    Image,
    /// Image of a bare pod, which is replaced only if it equals the artifact's name.
    ExactImage,
    Object(&'static str),
}

const CONFIG_MAP: &str = "kubernetes/configMap";
const SECRET: &str = "kubernetes/secret";
const DEPLOYMENT: &str = "kubernetes/deployment";
const REPLICA_SET: &str = "kubernetes/replicaSet";

// === impl ArtifactField ===

impl ArtifactField {
    pub(super) fn artifact_type(self) -> &'static str {
        match self {
            Self::Image | Self::ExactImage => DOCKER_IMAGE,
            Self::Object(of_type) => of_type,
        }
    }
}

/// Visits every artifact name in an object of this kind, to read or replace it.
pub(super) fn visit(
    kind: &Kind,
    object: &mut Map<String, Value>,
    visit: &mut impl FnMut(ArtifactField, &mut String),
) {
    if kind.has_pod_template() {
        in_templates(object, visit);
    } else if kind.is("pod") {
        let Some(spec) = object.get_mut("spec") else { return };
        for container in list(spec, "containers") {
            name(container, "image", ArtifactField::ExactImage, visit);
        }
    } else if kind.is("horizontalpodautoscaler") {
        let Some(target) = object.get_mut("spec").and_then(|spec| spec.get_mut("scaleTargetRef")) else {
            return;
        };
        let place = match target.get("kind").and_then(Value::as_str) {
            Some("Deployment" | "deployment") => ArtifactField::Object(DEPLOYMENT),
            Some("ReplicaSet" | "replicaSet") => ArtifactField::Object(REPLICA_SET),
            _ => return,
        };
        name(target, "name", place, visit);
    }
}

/// Every `spec.template.spec`, at any depth: that of a cron job is further down.
fn in_templates(map: &mut Map<String, Value>, visit: &mut impl FnMut(ArtifactField, &mut String)) {
    if let Some(spec) = map.get_mut("spec") {
        in_template_of(spec, visit);
    }
    map.values_mut().for_each(|value| below(value, visit));
}

fn below(value: &mut Value, visit: &mut impl FnMut(ArtifactField, &mut String)) {
    match value {
        Value::Object(map) => in_templates(map, visit),
        Value::Array(items) => items.iter_mut().for_each(|item| below(item, visit)),
        _ => {}
    }
}

fn in_template_of(spec: &mut Value, visit: &mut impl FnMut(ArtifactField, &mut String)) {
    let Some(pod) = spec.get_mut("template").and_then(|template| template.get_mut("spec")) else { return };
    for containers in ["containers", "initContainers"] {
        for container in list(pod, containers) {
            name(container, "image", ArtifactField::Image, visit);
        }
    }
    for containers in ["containers", "initContainers"] {
        for container in list(pod, containers) {
            for variable in list(container, "env") {
                let Some(source) = variable.get_mut("valueFrom") else { continue };
                inner_name(source, "configMapKeyRef", "name", ArtifactField::Object(CONFIG_MAP), visit);
                inner_name(source, "secretKeyRef", "name", ArtifactField::Object(SECRET), visit);
            }
            for source in list(container, "envFrom") {
                inner_name(source, "configMapRef", "name", ArtifactField::Object(CONFIG_MAP), visit);
                inner_name(source, "secretRef", "name", ArtifactField::Object(SECRET), visit);
            }
        }
    }
    for volume in list(pod, "volumes") {
        inner_name(volume, "configMap", "name", ArtifactField::Object(CONFIG_MAP), visit);
        inner_name(volume, "secret", "secretName", ArtifactField::Object(SECRET), visit);
        let Some(projected) = volume.get_mut("projected") else { continue };
        for source in list(projected, "sources") {
            inner_name(source, "configMap", "name", ArtifactField::Object(CONFIG_MAP), visit);
            inner_name(source, "secret", "name", ArtifactField::Object(SECRET), visit);
        }
    }
}

fn list<'a>(value: &'a mut Value, key: &str) -> impl Iterator<Item = &'a mut Value> {
    value.get_mut(key).and_then(Value::as_array_mut).into_iter().flatten()
}

fn inner_name(
    value: &mut Value,
    inner: &str,
    key: &str,
    place: ArtifactField,
    visit: &mut impl FnMut(ArtifactField, &mut String),
) {
    if let Some(inner) = value.get_mut(inner) {
        name(inner, key, place, visit);
    }
}

fn name(
    value: &mut Value,
    key: &str,
    place: ArtifactField,
    visit: &mut impl FnMut(ArtifactField, &mut String),
) {
    if let Some(Value::String(text)) = value.get_mut(key) {
        visit(place, text);
    }
}
