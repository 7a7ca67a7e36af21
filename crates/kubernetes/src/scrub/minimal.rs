//! Preset `minimal`: what views and operations of Spinnaker need, and nothing else.
//!
//! Kinds that Spinnaker shows are sent without environment, command lines and foreign annotations; of all other kinds
//! only the metadata is requested. The table in `docs/configuration.md` says the same per kind.

use spindrift_model::Resource;

use crate::json::{
    mask::FieldAction,
    path::{FieldPath, Step},
};

/// Kinds whose specification and status are sent, and the place of their pod template's metadata and specification.
const SHOWN: [(&str, &str, &[&str]); 13] = [
    ("", "Namespace", &[]),
    ("", "Pod", &[""]),
    ("", "Service", &[]),
    ("apiextensions.k8s.io", "CustomResourceDefinition", &[]),
    ("apps", "DaemonSet", &["spec.template"]),
    ("apps", "Deployment", &["spec.template"]),
    ("apps", "ReplicaSet", &["spec.template"]),
    ("apps", "StatefulSet", &["spec.template"]),
    ("autoscaling", "HorizontalPodAutoscaler", &[]),
    ("batch", "CronJob", &["spec.jobTemplate", "spec.jobTemplate.spec.template"]),
    ("batch", "Job", &["spec.template"]),
    ("networking.k8s.io", "Ingress", &[]),
    ("networking.k8s.io", "NetworkPolicy", &[]),
];

/// Annotations that stay: those of Spinnaker, and those by which kubectl and rollouts find their way.
const ANNOTATIONS: [&str; 20] = [
    "artifact.spinnaker.io/location",
    "artifact.spinnaker.io/name",
    "artifact.spinnaker.io/type",
    "artifact.spinnaker.io/version",
    "caching.spinnaker.io/ignore",
    "moniker.spinnaker.io/application",
    "moniker.spinnaker.io/cluster",
    "moniker.spinnaker.io/detail",
    "moniker.spinnaker.io/sequence",
    "moniker.spinnaker.io/stack",
    "strategy.spinnaker.io/max-version-history",
    "strategy.spinnaker.io/recreate",
    "strategy.spinnaker.io/replace",
    "strategy.spinnaker.io/server-side-apply",
    "strategy.spinnaker.io/use-source-capacity",
    "strategy.spinnaker.io/versioned",
    "traffic.spinnaker.io/load-balancers",
    "deployment.kubernetes.io/revision",
    "kubectl.kubernetes.io/default-container",
    "kubectl.kubernetes.io/restartedAt",
];

/// Fields of a container that hold command lines.
const COMMANDS: [&str; 6] =
    ["command", "args", "lifecycle", "livenessProbe.exec", "readinessProbe.exec", "startupProbe.exec"];

/// Fields of a pod's status with text that its processes wrote.
const OUTPUT: [&str; 2] = ["state.terminated.message", "lastState.terminated.message"];

/// Whether more than the metadata of a resource is sent.
pub(crate) fn is_shown(resource: &Resource) -> bool {
    place(resource).is_some()
}

/// Returns the rules for a resource.
pub(crate) fn rules(resource: &Resource) -> Vec<(FieldPath, FieldAction)> {
    let mut rules = annotations("");
    let Some(templates) = place(resource) else {
        rules.push((FieldPath::any_member(), FieldAction::Cut));
        rules.push((FieldPath::of_names(["metadata"]), FieldAction::Enter));
        return rules;
    };
    for template in templates {
        if !template.is_empty() {
            rules.extend(annotations(template));
        }
        rules.extend(containers(template));
    }
    if &*resource.kind == "StatefulSet" {
        rules.extend(annotations("spec.volumeClaimTemplates[*]"));
    }
    for statuses in ["containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"] {
        rules.extend(
            OUTPUT.map(|field| (path(&["status", &format!("{statuses}[*]"), field]), FieldAction::Cut)),
        );
    }
    rules
}

fn place(resource: &Resource) -> Option<&'static [&'static str]> {
    // In mirrors and older groups, too: a kind of the same name elsewhere is another kind, and sends less.
    let found = SHOWN.iter().find(|(group, kind, _)| **group == *resource.group && **kind == *resource.kind);
    found.map(|(_, _, templates)| *templates)
}

fn annotations(outer: &str) -> Vec<(FieldPath, FieldAction)> {
    let all = path(&[outer, "metadata.annotations"]);
    let kept = ANNOTATIONS.map(|name| (all.then(Step::Member(name.into())), FieldAction::Keep));
    let mut rules = vec![
        (all.clone(), FieldAction::DropIfEmptied),
        (all.then(Step::AnyMember), FieldAction::Cut),
        // It belongs to the watch protocol, not to the object.
        (all.then(Step::Member("k8s.io/initial-events-end".into())), FieldAction::Keep),
    ];
    rules.extend(kept);
    rules
}

fn containers(template: &str) -> Vec<(FieldPath, FieldAction)> {
    let mut rules = Vec::new();
    for list in ["containers[*]", "initContainers[*]", "ephemeralContainers[*]"] {
        let field = |name: &str| path(&[template, "spec", list, name]);
        rules.push((field("env[*].value"), FieldAction::Redact));
        rules.extend(COMMANDS.map(|name| (field(name), FieldAction::Cut)));
    }
    rules
}

/// Joins constant parts of a path; empty ones are left out.
fn path(parts: &[&str]) -> FieldPath {
    let parts: Vec<_> = parts.iter().copied().filter(|part| !part.is_empty()).collect();
    let text = parts.join(".");
    // A path that cannot be parsed would be a mistake in the constants above, which the tests parse all.
    text.parse().unwrap_or_else(|_| FieldPath::of_names([text.as_str()]))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::{
        scrub::{ScrubRules, scrub},
        {RedactRule, Redactions, View},
    };

    fn resource(group: &str, kind: &str) -> Resource {
        let plural = format!("{}s", kind.to_lowercase()).into();
        Resource { group: group.into(), version: "v1".into(), kind: kind.into(), plural, namespaced: true }
    }

    fn minimal() -> Redactions {
        Redactions::compile(&[RedactRule::preset("minimal")]).unwrap()
    }

    fn sent(group: &str, object: &Value) -> Value {
        let resource = resource(group, object["kind"].as_str().unwrap());
        let rules = ScrubRules::new(&resource, View::Full, &minimal());
        serde_json::from_slice(&scrub(object.to_string().as_bytes(), &rules).unwrap()).unwrap()
    }

    fn container() -> Value {
        json!({ "name": "main", "image": "nginx", "command": ["canary"], "args": ["canary"],
            "env": [{ "name": "A", "value": "canary" }, { "name": "B", "valueFrom": { "fieldRef": {} } }],
            "lifecycle": { "preStop": { "exec": { "command": ["canary"] } } },
            "livenessProbe": { "exec": { "command": ["canary"] }, "periodSeconds": 3 } })
    }

    fn metadata() -> Value {
        json!({ "name": "a", "uid": "u", "resourceVersion": "1", "labels": { "app": "web" }, "annotations": {
            "example.com/token": "canary", "kubectl.kubernetes.io/last-applied-configuration": "canary",
            "moniker.spinnaker.io/application": "shop" } })
    }

    #[test]
    fn every_path_of_the_preset_can_be_parsed() {
        for (group, kind, _) in SHOWN {
            let paths: Vec<_> = rules(&resource(group, kind)).into_iter().map(|(path, _)| path).collect();
            for path in paths {
                assert!(
                    !path.steps().iter().any(|step| step.name().is_some_and(|name| name.contains("[*]"))),
                    "{path}"
                );
            }
        }
    }

    #[test]
    fn workloads_keep_their_shape_and_lose_values_command_lines_and_foreign_annotations() {
        let template = json!({ "metadata": { "annotations": metadata()["annotations"] },
            "spec": { "initContainers": [container()], "containers": [container()] } });
        for (group, kind, spec) in [
            ("apps", "Deployment", json!({ "replicas": 3, "template": template })),
            (
                "batch",
                "CronJob",
                json!({ "jobTemplate": { "metadata": metadata(), "spec": { "template": template } } }),
            ),
            ("", "Pod", template["spec"].clone()),
        ] {
            let object = json!({ "kind": kind, "apiVersion": "v1", "metadata": metadata(), "spec": spec,
                "status": { "phase": "Running", "containerStatuses": [{ "name": "main",
                    "state": { "terminated": { "exitCode": 1, "message": "canary" } } }] } });
            let sent = sent(group, &object);
            assert!(!sent.to_string().contains("canary"), "{sent}");
            assert_eq!(
                sent["metadata"]["annotations"],
                json!({ "moniker.spinnaker.io/application": "shop" })
            );
            assert_eq!(sent["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"], 1);
            assert!(
                sent.to_string().contains(r#""image":"nginx""#) && sent.to_string().contains("periodSeconds")
            );
        }
    }

    #[test]
    fn of_other_kinds_only_the_metadata_is_sent() {
        for (group, kind) in [("", "ConfigMap"), ("example.com", "Widget"), ("example.com", "Pod")] {
            let object = json!({ "kind": kind, "apiVersion": "v1", "metadata": metadata(),
                "data": { "a": "canary" }, "spec": { "x": "canary" }, "rules": ["canary"] });
            let sent = sent(group, &object);
            let fields: Vec<_> = sent.as_object().unwrap().keys().cloned().collect();
            assert_eq!(fields.len(), 3, "{sent}");
            assert!(!sent.to_string().contains("canary") && sent["metadata"]["labels"]["app"] == "web");
        }
    }

    #[test]
    fn the_preset_has_a_revision_of_its_own() {
        let revision = |redactions: &Redactions| {
            ScrubRules::new(&resource("", "Service"), View::Full, redactions).revision()
        };
        assert_ne!(revision(&minimal()), revision(&Redactions::default()));
        let unknown = Redactions::compile(&[RedactRule::preset("minimum")]).unwrap_err();
        assert_eq!(
            unknown.to_string(),
            r#"redact rule 1: expected `minimal` or a rule with kind and paths, found "minimum""#
        );
    }
}
