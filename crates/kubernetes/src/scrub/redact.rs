//! `redact` rules: paths, by kind, whose values never leave the cluster.

use std::{fmt, sync::Arc};

use parking_lot::RwLock;
use serde::{
    Deserialize, Deserializer, Serialize,
    de::{MapAccess, Visitor, value::MapAccessDeserializer},
};
use spindrift_model::{KindPattern, Resource};

use crate::{
    discovery::{Discovery, ShortNames},
    json::path::{FieldPath, InvalidPath},
};

/// Configured rule, or the name of a set of rules.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize)]
pub struct RedactRule {
    /// The kind: `ConfigMap`, `cm`, `Widget.example.com`, or `*` for every kind.
    pub kind: String,
    /// The values, such as `data.*` or `spec.containers[*].env[*].value`.
    pub paths: Vec<String>,
    /// Name of a set of rules, which is written in place of a rule: `minimal`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preset: Option<String>,
}

/// Fields of a rule that is no preset.
#[derive(Default, Deserialize)]
#[serde(default)]
struct RuleFields {
    kind: String,
    paths: Vec<String>,
}

struct RuleVisitor;

/// Name of the preset that sends what views and operations of Spinnaker need, and nothing else.
const MINIMAL: &str = "minimal";

/// Compiled rules of an account. Clones share them and the short names.
#[derive(Debug, Clone, Default)]
pub struct Redactions {
    /// Set by the preset `minimal`.
    is_minimal: bool,
    rules: Arc<[Redaction]>,
    /// Short names of kinds, from discovery. Names are only added, so that a rule that applied still applies.
    short_names: Arc<RwLock<ShortNames>>,
}

#[derive(Debug)]
struct Redaction {
    /// As configured.
    kind: String,
    /// None matches every kind.
    pattern: Option<KindPattern>,
    paths: Vec<FieldPath>,
}

/// Invalid rule; nothing may be sent as long as there is one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidRedaction {
    /// The preset does not exist.
    #[error("redact rule {number}: expected `minimal` or a rule with kind and paths, found {name:?}")]
    Preset {
        /// Counted from 1.
        number: usize,
        /// As configured.
        name: String,
    },
    /// The rule names no kind.
    #[error("redact rule {number} names no kind; * is every kind")]
    NoKind {
        /// Counted from 1.
        number: usize,
    },
    /// The rule has no paths.
    #[error("redact rule {number}, for {kind}, has no paths")]
    NoPaths {
        /// Counted from 1.
        number: usize,
        /// As configured.
        kind: String,
    },
    /// A path is invalid.
    #[error("redact rule {number}, for {kind}: path {path:?} is not understood: {problem}")]
    Path {
        /// Counted from 1.
        number: usize,
        /// As configured.
        kind: String,
        /// As configured.
        path: String,
        /// The cause.
        problem: InvalidPath,
    },
    /// The path covers a field that identifies objects.
    #[error("redact rule {number}, for {kind}: path {path:?} covers {covered}, by which objects are known")]
    Identity {
        /// Counted from 1.
        number: usize,
        /// As configured.
        kind: String,
        /// As configured.
        path: String,
        /// The covered field.
        covered: String,
    },
}

/// Fields that identify objects.
const IDENTITY: [&[&str]; 6] = [
    &["kind"],
    &["apiVersion"],
    &["metadata", "name"],
    &["metadata", "namespace"],
    &["metadata", "uid"],
    &["metadata", "resourceVersion"],
];

// === impl Redactions ===

impl Redactions {
    /// Compiles rules, in the order in which errors count them.
    pub fn compile<'a>(rules: impl IntoIterator<Item = &'a RedactRule>) -> Result<Self, InvalidRedaction> {
        let mut is_minimal = false;
        let mut compiled = Vec::new();
        for (number, rule) in (1..).zip(rules) {
            match rule.preset.as_deref() {
                Some(MINIMAL) => is_minimal = true,
                Some(name) => return Err(InvalidRedaction::Preset { number, name: name.into() }),
                None => compiled.push(Redaction::compile(number, rule)?),
            }
        }
        Ok(Self { is_minimal, rules: compiled.into(), short_names: Arc::default() })
    }

    /// Whether there are no rules.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty() && !self.is_minimal
    }

    /// Whether the preset `minimal` applies.
    pub(crate) fn is_minimal(&self) -> bool {
        self.is_minimal
    }

    /// Adds the short names of discovery; before that only those of built-in kinds are known.
    pub fn add_short_names(&self, discovery: &Discovery) {
        let named = discovery.resources.iter().map(|resource| (resource, discovery.short_names(resource)));
        let mut known = self.short_names.write();
        for (Resource { group, kind, .. }, short) in named.filter(|(_, short)| !short.is_empty()) {
            known.insert((group.clone(), kind.clone()), short.to_vec());
        }
    }

    /// Returns the kinds of rules that match no served resource: misspelt, or not installed yet.
    pub fn unserved<'a>(&'a self, discovery: &'a Discovery) -> impl Iterator<Item = &'a str> {
        let holds = |pattern: &KindPattern| {
            discovery.resources.iter().any(|it| pattern.covers(it, discovery.short_names(it)))
        };
        let idle = move |rule: &&Redaction| rule.pattern.as_ref().is_some_and(|pattern| !holds(pattern));
        self.rules.iter().filter(idle).map(|rule| rule.kind.as_str())
    }

    /// Returns the redacted paths of a resource, sorted and without duplicates.
    pub(crate) fn paths_of(&self, resource: &Resource) -> Vec<FieldPath> {
        let known = self.short_names.read();
        let short =
            known.get(&(resource.group.clone(), resource.kind.clone())).map_or(&[][..], Vec::as_slice);
        let meant = |rule: &&Redaction| rule.pattern.as_ref().is_none_or(|kind| kind.covers(resource, short));
        let mut paths: Vec<_> = self.rules.iter().filter(meant).flat_map(|rule| rule.paths.clone()).collect();
        paths.sort_unstable();
        paths.dedup();
        paths
    }
}

// === impl RedactRule ===

impl RedactRule {
    /// Returns the rule that stands for a set of rules.
    pub fn preset(name: &str) -> Self {
        Self { preset: Some(name.trim().to_owned()), ..Self::default() }
    }
}

impl<'de> Deserialize<'de> for RedactRule {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(RuleVisitor)
    }
}

impl<'de> Visitor<'de> for RuleVisitor {
    type Value = RedactRule;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("`minimal`, or a rule with kind and paths")
    }

    fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<RedactRule, E> {
        Ok(RedactRule::preset(name))
    }

    fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<RedactRule, A::Error> {
        let RuleFields { kind, paths } = RuleFields::deserialize(MapAccessDeserializer::new(fields))?;
        Ok(RedactRule { kind, paths, preset: None })
    }
}

// === impl Redaction ===

impl Redaction {
    fn compile(number: usize, rule: &RedactRule) -> Result<Self, InvalidRedaction> {
        let kind = rule.kind.trim();
        if kind.is_empty() {
            return Err(InvalidRedaction::NoKind { number });
        }
        if rule.paths.is_empty() {
            return Err(InvalidRedaction::NoPaths { number, kind: kind.into() });
        }
        let paths: Result<Vec<_>, _> = rule.paths.iter().map(|path| read_path(number, kind, path)).collect();
        let pattern = (kind != "*").then(|| KindPattern::parse(kind));
        Ok(Self { kind: kind.into(), pattern, paths: paths? })
    }
}

fn read_path(number: usize, kind: &str, text: &str) -> Result<FieldPath, InvalidRedaction> {
    let path: FieldPath = text.trim().parse().map_err(|problem| InvalidRedaction::Path {
        number,
        kind: kind.into(),
        path: text.into(),
        problem,
    })?;
    match IDENTITY.iter().find(|identity| path.covers(identity)) {
        None => Ok(path),
        Some(covered) => Err(InvalidRedaction::Identity {
            number,
            kind: kind.into(),
            path: text.into(),
            covered: covered.join("."),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(kind: &str, paths: &[&str]) -> RedactRule {
        let paths = paths.iter().map(|path| (*path).into()).collect();
        RedactRule { kind: kind.into(), paths, preset: None }
    }

    fn resource(group: &str, kind: &str, plural: &str) -> Resource {
        Resource {
            group: group.into(),
            version: "v1".into(),
            kind: kind.into(),
            plural: plural.into(),
            namespaced: true,
        }
    }

    #[test]
    fn rules_apply_to_the_kinds_that_they_name() {
        let rules = [
            rule("cm", &["data.*"]),
            rule("*", &["metadata.annotations['a.b/c']"]),
            rule("Widget.example.com", &["spec", "spec"]),
        ];
        let redactions = Redactions::compile(&rules).unwrap();
        let paths =
            |resource| redactions.paths_of(&resource).iter().map(FieldPath::to_string).collect::<Vec<_>>();
        assert_eq!(
            paths(resource("", "ConfigMap", "configmaps")),
            ["data.*", "metadata.annotations['a.b/c']"].map(String::from)
        );
        assert_eq!(
            paths(resource("example.com", "Widget", "widgets")),
            ["metadata.annotations['a.b/c']", "spec"].map(String::from)
        );
        assert_eq!(
            paths(resource("other.com", "Widget", "widgets")),
            ["metadata.annotations['a.b/c']".to_owned()]
        );
    }

    #[test]
    fn a_rule_applies_by_short_name_in_any_version_and_for_mirrors() {
        let rules = [
            rule("wg", &["spec.a"]),
            rule("Widget.v1.example.com", &["spec.b"]),
            rule("Event", &["message"]),
            rule("Wigdet", &["spec"]),
        ];
        let redactions = Redactions::compile(&rules).unwrap();
        let paths = |resource: &Resource| {
            redactions.paths_of(resource).iter().map(FieldPath::to_string).collect::<Vec<_>>()
        };
        let widget = Resource { version: "v2".into(), ..resource("example.com", "Widget", "widgets") };
        let events = resource("events.k8s.io", "Event", "events");
        let discovery =
            Discovery::serving([(widget.clone(), vec!["wg".to_owned()]), (events.clone(), vec![])]);
        assert_eq!(paths(&widget), ["spec.b"], "its short name is not known yet");
        redactions.clone().add_short_names(&discovery);
        assert_eq!(paths(&widget), ["spec.a", "spec.b"]);
        assert_eq!(paths(&events), ["message"]);
        assert_eq!(redactions.unserved(&discovery).collect::<Vec<_>>(), ["Wigdet"]);

        // A group that is missing from one discovery keeps its short names.
        redactions.add_short_names(&Discovery::default());
        assert_eq!(paths(&widget), ["spec.a", "spec.b"]);
    }

    #[test]
    fn errors_name_the_rule_and_the_problem() {
        for (bad, message) in [
            (rule("", &["a"]), "redact rule 2 names no kind; * is every kind"),
            (rule("Pod", &[]), "redact rule 2, for Pod, has no paths"),
            (
                rule("Pod", &["spec", "spec[0]"]),
                r#"redact rule 2, for Pod: path "spec[0]" is not understood: expected [*] or ['name'] at character 5"#,
            ),
            (
                rule("Pod", &["metadata.*"]),
                r#"redact rule 2, for Pod: path "metadata.*" covers metadata.name, by which objects are known"#,
            ),
            (
                rule("Pod", &["*"]),
                r#"redact rule 2, for Pod: path "*" covers kind, by which objects are known"#,
            ),
            (
                rule("Pod", &["metadata"]),
                r#"redact rule 2, for Pod: path "metadata" covers metadata.name, by which objects are known"#,
            ),
        ] {
            let error = Redactions::compile(&[rule("cm", &["data"]), bad]).unwrap_err();
            assert_eq!(error.to_string(), message);
        }
        assert!(Redactions::compile(&[rule("Pod", &["metadata.annotations.*", "metadata.labels"])]).is_ok());
    }
}
