//! The validations that clients meet most: names, selectors, containers, and immutable fields.

use serde_json::{Value, json};

use super::{names, schema};
use crate::catalogue::{DEFINITIONS, Resource};
use crate::object::{self, list, text};
use crate::selector;
use crate::status::Cause;

/// Validates an object on its own.
pub(crate) fn validate(resource: &Resource, object: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    let name = object::name(object);
    if let Some(why) = names::complaint(&resource.kind, name) {
        causes.push(Cause::invalid("metadata.name", &name.into(), &why));
    }
    labels(object, &mut causes);
    finalizers(object, &mut causes);
    if let Some(custom) = &resource.custom {
        schema::validate(&custom.schema, object, "", &mut causes);
        return causes;
    }
    match resource.kind.as_str() {
        "Pod" => pod_spec(object.get("spec"), "spec", &mut causes),
        "Deployment" | "ReplicaSet" | "StatefulSet" | "DaemonSet" => workload(object, &mut causes),
        "Job" => {
            pod_spec(object.pointer("/spec/template/spec"), "spec.template.spec", &mut causes);
            if text(object, "/spec/template/spec/restartPolicy") == "Always" {
                let why = "valid values: \"OnFailure\", \"Never\"";
                causes.push(Cause::required("spec.template.spec.restartPolicy", why));
            }
        }
        "Service" => service(object, &mut causes),
        "CustomResourceDefinition" if resource.is(DEFINITIONS) => definition(object, &mut causes),
        "RoleBinding" | "ClusterRoleBinding" if text(object, "/roleRef/name").is_empty() => {
            causes.push(Cause::required("roleRef.name", ""));
        }
        "ConfigMap" | "Secret" => keys(object, &mut causes),
        _ => {}
    }
    causes
}

fn labels(object: &Value, causes: &mut Vec<Cause>) {
    let labels = object.pointer("/metadata/labels").and_then(Value::as_object);
    for (key, value) in labels.into_iter().flatten() {
        let text = value.as_str().unwrap_or_default();
        if let Some(why) = names::label_key_complaint(key) {
            causes.push(Cause::invalid("metadata.labels", &key.as_str().into(), &why));
        }
        if let Some(why) = names::label_complaint(text) {
            causes.push(Cause::invalid("metadata.labels", value, &why));
        }
    }
}

fn finalizers(object: &Value, causes: &mut Vec<Cause>) {
    const STANDARD: [&str; 3] = ["kubernetes", "foregroundDeletion", "orphan"];
    for (index, finalizer) in object::finalizers(object).iter().enumerate() {
        if !finalizer.contains('/') && !STANDARD.contains(&finalizer.as_str()) {
            let why = "name is neither a standard finalizer name nor is it fully qualified";
            let field = format!("metadata.finalizers[{index}]");
            causes.push(Cause::invalid(field, &finalizer.as_str().into(), why));
        }
    }
}

fn workload(object: &Value, causes: &mut Vec<Cause>) {
    if let Some(replicas) = object.pointer("/spec/replicas").and_then(Value::as_i64)
        && replicas < 0
    {
        causes.push(Cause::invalid("spec.replicas", &replicas.into(), "must be greater than or equal to 0"));
    }
    let selector = object.pointer("/spec/selector").filter(|selector| !selector.is_null());
    let labels = object.pointer("/spec/template/metadata/labels").unwrap_or(&Value::Null);
    match selector {
        None => causes.push(Cause::required("spec.selector", "")),
        Some(selector) if selector.as_object().is_none_or(serde_json::Map::is_empty) => {
            causes.push(Cause::invalid(
                "spec.selector",
                selector,
                "empty selector is invalid for deployment",
            ));
        }
        Some(_) => {}
    }
    if !selector.is_some_and(|selector| selector::structured_matches(selector, labels)) {
        let why = "`selector` does not match template `labels`";
        causes.push(Cause::invalid("spec.template.metadata.labels", labels, why));
    }
    pod_spec(object.pointer("/spec/template/spec"), "spec.template.spec", causes);
}

fn pod_spec(spec: Option<&Value>, at: &str, causes: &mut Vec<Cause>) {
    let spec = spec.unwrap_or(&Value::Null);
    if list(spec, "/containers").is_empty() {
        causes.push(Cause::required(format!("{at}.containers"), ""));
    }
    let mut names = Vec::new();
    for (part, index, container) in ["initContainers", "containers"]
        .into_iter()
        .flat_map(|part| list(spec, &format!("/{part}")).iter().enumerate().map(move |(i, c)| (part, i, c)))
    {
        let field = |name: &str| format!("{at}.{part}[{index}].{name}");
        let name = text(container, "/name");
        if name.is_empty() {
            causes.push(Cause::required(field("name"), ""));
        } else if names.contains(&name) {
            causes.push(Cause {
                reason: "FieldValueDuplicate",
                field: field("name"),
                message: format!("Duplicate value: {name:?}"),
            });
        }
        names.push(name);
        if text(container, "/image").is_empty() {
            causes.push(Cause::required(field("image"), ""));
        }
    }
    let policy = text(spec, "/restartPolicy");
    let known = ["Always", "OnFailure", "Never"];
    if !known.contains(&policy) {
        causes.push(Cause::unsupported(format!("{at}.restartPolicy"), &policy.into(), &known));
    }
}

fn service(object: &Value, causes: &mut Vec<Cause>) {
    let (kind, address) = (text(object, "/spec/type"), text(object, "/spec/clusterIP"));
    let known = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];
    if !known.contains(&kind) {
        causes.push(Cause::unsupported("spec.type", &kind.into(), &known));
    }
    if !address.is_empty() && address != "None" && address.parse::<std::net::IpAddr>().is_err() {
        let why = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
        causes.push(Cause::invalid("spec.clusterIPs[0]", &address.into(), why));
    }
    if list(object, "/spec/ports").is_empty() && address != "None" && kind != "ExternalName" {
        causes.push(Cause::required("spec.ports", ""));
    }
    for (index, port) in list(object, "/spec/ports").iter().enumerate() {
        let number = port.get("port").and_then(Value::as_i64).unwrap_or(0);
        if !(1..=65_535).contains(&number) {
            let why = "must be between 1 and 65535, inclusive";
            causes.push(Cause::invalid(format!("spec.ports[{index}].port"), &number.into(), why));
        }
    }
}

fn keys(object: &Value, causes: &mut Vec<Cause>) {
    for part in ["data", "binaryData"] {
        let Some(entries) = object.get(part).and_then(Value::as_object) else { continue };
        for key in entries.keys() {
            let good = !key.is_empty()
                && key.len() <= 253
                && key.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'));
            if !good {
                let why = "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";
                causes.push(Cause::invalid(format!("{part}[{key}]"), &key.as_str().into(), why));
            }
        }
    }
}

fn definition(object: &Value, causes: &mut Vec<Cause>) {
    let (group, plural) = (text(object, "/spec/group"), text(object, "/spec/names/plural"));
    let expected = format!("{plural}.{group}");
    let name = object::name(object);
    if name != expected {
        let why = "must be spec.names.plural+\".\"+spec.group";
        causes.push(Cause::invalid("metadata.name", &name.into(), why));
    }
    if group.is_empty() {
        causes.push(Cause::required("spec.group", ""));
    } else if !names::is_dns_subdomain(group) || !group.contains('.') {
        causes.push(Cause::invalid("spec.group", &group.into(), "should be a domain with at least one dot"));
    }
    let scope = text(object, "/spec/scope");
    if !["Cluster", "Namespaced"].contains(&scope) {
        causes.push(Cause::unsupported("spec.scope", &scope.into(), &["Cluster", "Namespaced"]));
    }
    let versions = list(object, "/spec/versions");
    let stored = versions.iter().filter(|version| version.get("storage") == Some(&json!(true))).count();
    if stored != 1 {
        let shown = object.pointer("/spec/versions").cloned().unwrap_or_default();
        causes.push(Cause::invalid(
            "spec.versions",
            &shown,
            "must have exactly one version marked as storage version",
        ));
    }
    for (index, version) in versions.iter().enumerate() {
        if version.pointer("/schema/openAPIV3Schema").is_none() {
            let field = format!("spec.versions[{index}].schema.openAPIV3Schema");
            causes.push(Cause::required(field, "schemas are required"));
        }
    }
    for field in ["plural", "kind"] {
        if text(object, &format!("/spec/names/{field}")).is_empty() {
            causes.push(Cause::required(format!("spec.names.{field}"), ""));
        }
    }
}

/// Validates an update: fields that are immutable.
pub(crate) fn validate_change(resource: &Resource, stored: &Value, wanted: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    no_new_finalizers(stored, wanted, &mut causes);
    if resource.custom.is_some() {
        return causes;
    }
    let immutable = |pointer: &str, causes: &mut Vec<Cause>| {
        let (old, new) = (stored.pointer(pointer), wanted.pointer(pointer).unwrap_or(&Value::Null));
        if old.unwrap_or(&Value::Null) != new {
            let field = pointer.trim_start_matches('/').replace('/', ".");
            causes.push(Cause::invalid(field, new, "field is immutable"));
        }
    };
    match resource.kind.as_str() {
        "Deployment" | "ReplicaSet" | "DaemonSet" => immutable("/spec/selector", &mut causes),
        "StatefulSet" => stateful_set(stored, wanted, &mut causes),
        "Job" => {
            for pointer in ["/spec/selector", "/spec/template", "/spec/completionMode"] {
                immutable(pointer, &mut causes);
            }
        }
        "ConfigMap" | "Secret" if stored.get("immutable") == Some(&json!(true)) => {
            for field in ["immutable", "data", "binaryData"] {
                if stored.get(field) != wanted.get(field) {
                    let why = "field is immutable when `immutable` is set";
                    causes.push(Cause::forbidden(field, why));
                }
            }
        }
        "Secret" => immutable("/type", &mut causes),
        "Service"
            if text(stored, "/spec/type") == "ClusterIP" && text(wanted, "/spec/type") == "ClusterIP" =>
        {
            let (old, new) = (text(stored, "/spec/clusterIP"), text(wanted, "/spec/clusterIP"));
            if !old.is_empty() && old != new {
                let why = "may not change once set";
                causes.push(Cause::invalid("spec.clusterIPs[0]", &json!([new]), why));
            }
        }
        "RoleBinding" | "ClusterRoleBinding" if stored.get("roleRef") != wanted.get("roleRef") => {
            let new = wanted.get("roleRef").cloned().unwrap_or_default();
            causes.push(Cause::invalid("roleRef", &new, "cannot change roleRef"));
        }
        "Pod" => pod(stored, wanted, &mut causes),
        _ => {}
    }
    causes
}

fn no_new_finalizers(stored: &Value, wanted: &Value, causes: &mut Vec<Cause>) {
    if !object::is_terminating(stored) {
        return;
    }
    let old = object::finalizers(stored);
    let new: Vec<String> = object::finalizers(wanted)
        .into_iter()
        .filter(|finalizer| !old.contains(finalizer))
        .map(|finalizer| format!("{finalizer:?}"))
        .collect();
    if !new.is_empty() {
        let why = format!(
            "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
            new.join(", ")
        );
        causes.push(Cause::forbidden("metadata.finalizers", &why));
    }
}

fn stateful_set(stored: &Value, wanted: &Value, causes: &mut Vec<Cause>) {
    let changeable = [
        "replicas",
        "ordinals",
        "template",
        "updateStrategy",
        "revisionHistoryLimit",
        "minReadySeconds",
        "persistentVolumeClaimRetentionPolicy",
    ];
    let rest = |object: &Value| {
        let mut spec = object.get("spec").cloned().unwrap_or_default();
        for field in changeable {
            object::fields(&mut spec).remove(field);
        }
        spec
    };
    if rest(stored) != rest(wanted) {
        let why = "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden";
        causes.push(Cause::forbidden("spec", why));
    }
}

fn pod(stored: &Value, wanted: &Value, causes: &mut Vec<Cause>) {
    let rest = |object: &Value| {
        let mut spec = object.get("spec").cloned().unwrap_or_default();
        for part in ["containers", "initContainers"] {
            for container in spec.get_mut(part).and_then(Value::as_array_mut).into_iter().flatten() {
                object::fields(container).remove("image");
            }
        }
        let spec = object::fields(&mut spec);
        // The scheduler sets the node through the binding subresource, in the real server too.
        for field in [
            "activeDeadlineSeconds",
            "tolerations",
            "terminationGracePeriodSeconds",
            "ephemeralContainers",
            "nodeName",
            "schedulingGates",
        ] {
            spec.remove(field);
        }
        Value::Object(spec.clone())
    };
    if rest(stored) != rest(wanted) {
        let why = "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";
        causes.push(Cause::forbidden("spec", why));
    }
}
