//! Decision between server-side and client-side apply.

use serde_json::Value;
use spindrift_kubernetes::Object;
use spindrift_model::{ApplyMode, Resource};

use super::{super::manifest_target::ManifestTarget, defaults};
use crate::config::{Choice, KindApply, ServerSideApply};

/// Way in which a manifest is applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) struct Decision {
    /// Client-side or server-side.
    pub(in super::super) mode: ApplyMode,
    /// Server-side: takes all fields from all others first.
    pub(in super::super) clear_managed_fields: bool,
    /// Server-side: fills in defaults that old API servers need to distinguish the elements of lists.
    manifest_defaults: bool,
}

const SERVER_SIDE: &str = "agent-k8s.armory.io/serverside-apply";
const CLEAR_MANAGED_FIELDS: &str = "agent-k8s.armory.io/ssa-clear-managed-fields";
const MANIFEST_DEFAULTS: &str = "agent-k8s.armory.io/ssa-manifest-defaults";

/// Decides by the request first, then by the configuration for all and for the kind, then by the manifest's annotation.
/// The default is client-side. The manifest gets the defaults that it then needs.
pub(in super::super) fn decide(
    config: &ServerSideApply,
    target: &mut ManifestTarget<'_>,
    mode: ApplyMode,
) -> Decision {
    let decision = decide_for(config, &target.resource, &target.manifest, mode);
    if decision.manifest_defaults {
        defaults::fill_in(&mut target.manifest);
    }
    decision
}

fn decide_for(config: &ServerSideApply, resource: &Resource, manifest: &Object, mode: ApplyMode) -> Decision {
    let entry = config.kinds.iter().find(|entry| names(&entry.kind, resource));
    let says = |all: Choice, of_kind: fn(&KindApply) -> Choice, annotation: &str| {
        configured(all)
            .or_else(|| configured(of_kind(entry?)))
            .or_else(|| annotated(manifest, annotation))
            .unwrap_or(false)
    };
    let server_side = match mode {
        ApplyMode::ClientSide => false,
        ApplyMode::ServerSide => true,
        ApplyMode::Configured => says(config.enabled, |entry| entry.enabled, SERVER_SIDE),
    };
    Decision {
        mode: if server_side { ApplyMode::ServerSide } else { ApplyMode::ClientSide },
        clear_managed_fields: server_side
            && says(config.clear_managed_fields, |entry| entry.clear_managed_fields, CLEAR_MANAGED_FIELDS),
        manifest_defaults: server_side
            && says(config.manifest_defaults, |entry| entry.manifest_defaults, MANIFEST_DEFAULTS),
    }
}

/// Whether a setting names a kind: `Kind` or `Kind.group`, case-insensitive.
fn names(setting: &str, resource: &Resource) -> bool {
    match setting.split_once('.') {
        Some((kind, group)) => {
            kind.eq_ignore_ascii_case(&resource.kind) && group.eq_ignore_ascii_case(&resource.group)
        }
        None => setting.eq_ignore_ascii_case(&resource.kind),
    }
}

fn configured(choice: Choice) -> Option<bool> {
    match choice {
        Choice::Always => Some(true),
        Choice::Never => Some(false),
        Choice::Allowed => None,
    }
}

/// The manual of the original agent has `enabled` in one place and `true` in another.
fn annotated(manifest: &Object, annotation: &str) -> Option<bool> {
    match manifest.get("metadata")?.get("annotations")?.get(annotation).and_then(Value::as_str)? {
        "true" | "enabled" => Some(true),
        _ => Some(false),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn config_map() -> Resource {
        Resource {
            group: "".into(),
            version: "v1".into(),
            kind: "ConfigMap".into(),
            plural: "configmaps".into(),
            namespaced: true,
        }
    }

    fn is_server_side(config: &ServerSideApply, annotation: Option<&str>, mode: ApplyMode) -> bool {
        let manifest = json!({ "metadata": { "annotations": { SERVER_SIDE: annotation } } });
        let decision = decide_for(config, &config_map(), manifest.as_object().expect("a manifest"), mode);
        decision.mode == ApplyMode::ServerSide
    }

    fn kind(kind: &str, enabled: Choice) -> Vec<KindApply> {
        vec![KindApply { kind: kind.into(), enabled, ..KindApply::default() }]
    }

    #[test]
    fn the_more_general_word_comes_first() {
        use Choice::{Allowed, Always, Never};
        let configured = ApplyMode::Configured;
        for (enabled, kinds, annotation, expected) in [
            (Allowed, vec![], None, false),
            (Allowed, vec![], Some("true"), true),
            (Allowed, vec![], Some("enabled"), true),
            (Allowed, vec![], Some("false"), false),
            (Always, kind("ConfigMap", Never), Some("false"), true),
            (Never, kind("ConfigMap", Always), Some("true"), false),
            (Allowed, kind("configmap", Always), Some("false"), true),
            (Allowed, kind("ConfigMap", Never), Some("true"), false),
            (Allowed, kind("ConfigMap.apps", Always), None, false),
            (Allowed, kind("ConfigMap.", Always), None, true),
            (Allowed, kind("Secret", Always), None, false),
        ] {
            let config = ServerSideApply { enabled, kinds, ..ServerSideApply::default() };
            assert_eq!(
                is_server_side(&config, annotation, configured),
                expected,
                "{config:?} {annotation:?}"
            );
        }
        let never = ServerSideApply { enabled: Never, ..ServerSideApply::default() };
        assert!(is_server_side(&never, None, ApplyMode::ServerSide), "who asks for it gets it");
        let always = ServerSideApply { enabled: Always, ..ServerSideApply::default() };
        assert!(!is_server_side(&always, None, ApplyMode::ClientSide));
    }

    #[test]
    fn what_goes_with_it_is_decided_likewise() {
        let config = ServerSideApply {
            enabled: Choice::Always,
            manifest_defaults: Choice::Always,
            ..ServerSideApply::default()
        };
        let manifest = json!({ "metadata": { "annotations": { CLEAR_MANAGED_FIELDS: "true" } } });
        let manifest = manifest.as_object().expect("a manifest");
        let decision = decide_for(&config, &config_map(), manifest, ApplyMode::Configured);
        assert!(decision.clear_managed_fields && decision.manifest_defaults);
        let decision = decide_for(&config, &config_map(), manifest, ApplyMode::ClientSide);
        assert!(!decision.clear_managed_fields && !decision.manifest_defaults, "that is server-side only");
    }
}
