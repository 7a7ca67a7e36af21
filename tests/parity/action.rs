//! One thing to do, in the words of kubectl and in ours.

use serde_json::{Value, json};

use crate::{
    kinds::{Kind, NAMESPACE, Scope},
    side::Side,
};

#[derive(Debug, Clone)]
pub(crate) enum Action {
    Apply { manifest: Value, mode: Mode },
    Create { manifest: Value },
    Replace { manifest: Value },
    Patch { sort: &'static str, patch: Value },
    Scale { replicas: u32, current: Option<u32>, version: Option<&'static str> },
    Delete(Deletion),
    Rollout(Rollout),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    ClientSide,
    ServerSide { manager: Option<&'static str>, force: bool },
}

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Deletion {
    /// All with the label of the case, instead of the one by its name.
    pub(crate) by_label: bool,
    pub(crate) grace: Option<u64>,
    pub(crate) cascade: Option<&'static str>,
    pub(crate) ignore_not_found: bool,
    pub(crate) wait: bool,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Rollout {
    Undo(Option<u64>),
    Pause,
    Resume,
    Restart,
}

/// Interface by which we are called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// Outcomes are compared.
    Rest,
    /// By `spindrift`, with kubectl's arguments: the whole output is compared.
    CommandLine,
}

/// Object of an action, and its place.
#[derive(Clone, Copy)]
pub(crate) struct Target<'a> {
    pub(crate) way: Way,
    pub(crate) kind: &'static Kind,
    pub(crate) name: &'a str,
    pub(crate) label: &'a str,
    pub(crate) side: &'a Side,
}

// === impl Target ===

impl Target<'_> {
    pub(crate) fn name(&self) -> String {
        self.side.render_text(self.name)
    }

    fn argument(&self) -> String {
        format!("{}/{}", self.kind.argument(), self.name())
    }

    fn reference(&self) -> Value {
        json!({
            "apiVersion": self.kind.api_version,
            "kind": self.kind.name,
            "namespace": self.namespace(),
            "name": self.name(),
        })
    }

    fn namespace(&self) -> Option<String> {
        (self.kind.scope == Scope::Namespaced).then(|| self.side.render_text(NAMESPACE))
    }

    fn label(&self) -> String {
        format!("{LABEL}={}", self.side.render_text(self.label))
    }
}

/// Label of all objects of one case, where a selector shall find them.
pub(crate) const LABEL: &str = "parity-case";

// === impl Action ===

impl Action {
    fn manifest(&self) -> Option<&Value> {
        match self {
            Self::Apply { manifest, .. } | Self::Create { manifest } | Self::Replace { manifest } => {
                Some(manifest)
            }
            _ => None,
        }
    }

    /// The name in the manifest, if there is one.
    pub(crate) fn object_name(&self) -> Option<&str> {
        self.manifest()?["metadata"]["name"].as_str()
    }

    /// The manifest, if there is one, as this side writes it.
    pub(crate) fn document(&self, side: &Side) -> Option<String> {
        self.manifest().map(|manifest| side.render(manifest).to_string())
    }

    /// Arguments of kubectl; `file` stands for the manifest.
    pub(crate) fn arguments(&self, target: &Target<'_>, file: &str) -> Vec<String> {
        let mut words: Vec<String> = Vec::new();
        let mut say = |word: &str| words.push(word.to_owned());
        match self {
            Self::Apply { mode, .. } => {
                say("apply");
                if let Mode::ServerSide { manager, force } = mode {
                    say("--server-side");
                    if let Some(manager) = manager {
                        say(&format!("--field-manager={manager}"));
                    }
                    if *force {
                        say("--force-conflicts");
                    }
                }
            }
            Self::Create { .. } => say("create"),
            Self::Replace { .. } => say("replace"),
            Self::Patch { sort, patch } => {
                say("patch");
                say(&target.argument());
                say(&format!("--type={sort}"));
                say("-p");
                say(&target.side.render(patch).to_string());
            }
            Self::Scale { replicas, current, version } => {
                say("scale");
                say(&target.argument());
                say(&format!("--replicas={replicas}"));
                if let Some(current) = current {
                    say(&format!("--current-replicas={current}"));
                }
                if let Some(version) = version {
                    say(&format!("--resource-version={version}"));
                }
            }
            Self::Delete(deletion) => {
                say("delete");
                if deletion.by_label {
                    say(&target.kind.argument());
                    say(&format!("--selector={}", target.label()));
                } else {
                    say(&target.argument());
                }
                deletion.flags().iter().for_each(|flag| say(flag));
            }
            Self::Rollout(rollout) => {
                say("rollout");
                say(rollout.word());
                say(&target.argument());
                if let Rollout::Undo(Some(revision)) = rollout {
                    say(&format!("--to-revision={revision}"));
                }
            }
        }
        if self.manifest().is_some() {
            say("-f");
            say(file);
        }
        say("-n");
        say(&target.side.render_text(NAMESPACE));
        words
    }

    /// kubectl's field manager, for actions without a flag for it: the same fields shall move when an object that was
    /// applied client-side is applied server-side later.
    pub(crate) fn manager(&self) -> Option<&'static str> {
        match self {
            Self::Apply { mode: Mode::ClientSide, .. } => Some("kubectl-client-side-apply"),
            Self::Apply { mode: Mode::ServerSide { manager: None, .. }, .. } => Some("kubectl"),
            _ => None,
        }
    }

    /// Body of the request to the hub.
    pub(crate) fn verb(&self, target: &Target<'_>) -> Value {
        let manifest = |manifest: &Value| target.side.render(manifest);
        match self {
            Self::Apply { manifest: value, mode: Mode::ClientSide } => json!({
                "verb": "apply",
                "mode": "client-side",
                "manifest": manifest(value),
                "fieldManager": self.manager(),
            }),
            Self::Apply { manifest: value, mode: Mode::ServerSide { manager, force } } => json!({
                "verb": "apply",
                "mode": "server-side",
                "manifest": manifest(value),
                "fieldManager": manager.or_else(|| self.manager()),
                "forceConflicts": force,
            }),
            Self::Create { manifest: value } => json!({ "verb": "create", "manifest": manifest(value) }),
            Self::Replace { manifest: value } => json!({ "verb": "replace", "manifest": manifest(value) }),
            Self::Patch { sort, patch } => json!({
                "verb": "patch", "target": target.reference(), "type": sort, "patch": target.side.render(patch),
            }),
            Self::Scale { replicas, current, version } => json!({
                "verb": "scale", "target": target.reference(), "replicas": replicas,
                "currentReplicas": current, "resourceVersion": version,
            }),
            Self::Delete(deletion) => deletion.verb(target),
            Self::Rollout(rollout) => {
                let mut verb =
                    json!({ "verb": "rollout", "target": target.reference(), "action": rollout.word() });
                if let Rollout::Undo(revision) = rollout {
                    verb["toRevision"] = json!(revision);
                }
                verb
            }
        }
    }

    /// As the table of results calls it.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Apply { mode: Mode::ClientSide, .. } => "apply".to_owned(),
            Self::Apply { mode: Mode::ServerSide { .. }, .. } => "apply --server-side".to_owned(),
            Self::Create { .. } => "create".to_owned(),
            Self::Replace { .. } => "replace".to_owned(),
            Self::Patch { sort, .. } => format!("patch --type={sort}"),
            Self::Scale { .. } => "scale".to_owned(),
            Self::Delete(_) => "delete".to_owned(),
            Self::Rollout(rollout) => format!("rollout {}", rollout.word()),
        }
    }
}

// === impl Deletion ===

impl Deletion {
    fn flags(&self) -> Vec<String> {
        let mut flags = vec![format!("--wait={}", self.wait), "--output=name".to_owned()];
        if let Some(grace) = self.grace {
            flags.push(format!("--grace-period={grace}"));
            // kubectl makes one second of zero, unless a flag confirms the zero.
            if grace == 0 {
                flags.push("--force".to_owned());
            }
        }
        flags.extend(self.cascade.map(|cascade| format!("--cascade={cascade}")));
        if self.ignore_not_found {
            flags.push("--ignore-not-found".to_owned());
        }
        flags
    }

    fn verb(&self, target: &Target<'_>) -> Value {
        let (name, selector) =
            if self.by_label { (None, Some(target.label())) } else { (Some(target.name()), None) };
        json!({
            "verb": "delete",
            "apiVersion": target.kind.api_version,
            "kind": target.kind.name,
            "namespace": target.namespace(),
            "name": name,
            "labelSelector": selector,
            "gracePeriodSeconds": self.grace,
            // kubectl's default, which is not that of all API servers.
            "propagationPolicy": self.cascade.unwrap_or("background"),
            "ignoreNotFound": self.ignore_not_found,
            "wait": self.wait,
        })
    }
}

// === impl Rollout ===

impl Rollout {
    fn word(self) -> &'static str {
        match self {
            Self::Undo(_) => "undo",
            Self::Pause => "pause",
            Self::Resume => "resume",
            Self::Restart => "restart",
        }
    }
}
