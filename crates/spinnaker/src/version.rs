//! Versions: objects of some kinds are never changed. Each deployment creates the next version, `shop-v000`, `shop-v001`, …,
//! unless one with the same content exists.

use std::fmt;

use serde_json::{Map, Value};

use crate::{Artifact, Manifest, gson::without_nulls};

/// Version number of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(pub u32);

// === impl Version ===

impl Version {
    /// Parses `v` and a number.
    pub fn parse(text: &str) -> Option<Self> {
        text.strip_prefix('v')?.parse().ok().map(Self)
    }

    /// Version of a manifest, given the objects of its kind in its namespace.
    ///
    /// An object that was last applied with the same content is deployed again; else it is the version after the newest.
    /// `manifest` is bound but not yet annotated: the template of an existing replica set has annotations, so that it is never
    /// equal. `same` names objects whose content may not be shown, but which the agent found to be equal.
    pub fn of(manifest: &Manifest, live: &[Manifest], same: &[String]) -> Self {
        let versions = versions(manifest, live);
        let is_same = |object: &Manifest| {
            is_applied(manifest, object) || same.iter().any(|name| Some(name.as_str()) == object.name())
        };
        match versions.iter().find(|(object, _)| is_same(object)) {
            Some((_, version)) => *version,
            None => {
                versions.iter().map(|(_, version)| Self(version.0.saturating_add(1))).max().unwrap_or(Self(0))
            }
        }
    }

    /// Names of the objects that are versions of a manifest, oldest first.
    pub fn names(manifest: &Manifest, live: &[Manifest]) -> Vec<String> {
        let names = versions(manifest, live).into_iter().filter_map(|(object, _)| object.name());
        names.map(str::to_owned).collect()
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "v{:03}", self.0)
    }
}

/// Objects that are versions of a manifest's artifact, oldest first.
fn versions<'a>(manifest: &Manifest, live: &'a [Manifest]) -> Vec<(&'a Manifest, Version)> {
    let version = |object: &'a Manifest| {
        let artifact = Artifact::deployed(object)?;
        let version = Version::parse(artifact.version.as_deref()?)?;
        (artifact.name.as_deref() == manifest.name()).then_some((object, version))
    };
    let mut versions: Vec<_> = live.iter().filter_map(version).collect();
    versions.sort_by(|(one, _), (other, _)| one.created().cmp(other.created()));
    versions
}

/// Newest object that is a version of the manifest's artifact.
pub(crate) fn latest<'a>(manifest: &Manifest, live: &'a [Manifest]) -> Option<&'a Manifest> {
    versions(manifest, live).into_iter().max_by_key(|(_, version)| *version).map(|(object, _)| object)
}

/// Whether the object was last applied with this content, except for metadata and nulls.
fn is_applied(manifest: &Manifest, object: &Manifest) -> bool {
    let Some(Value::Object(applied)) = object.last_applied() else { return false };
    let content = |mut body: Map<String, Value>| {
        body.remove("metadata");
        without_nulls(Value::Object(body))
    };
    is_equal(&content(manifest.as_map().clone()), &content(applied))
}

/// Equality in which `1` and `1.0` are the same number.
fn is_equal(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one == other || one.as_f64() == other.as_f64(),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| is_equal(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one.iter().all(|(key, value)| other.get(key).is_some_and(|other| is_equal(value, other)))
        }
        _ => one == other,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn config_map(data: &str) -> Manifest {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "shop-cm"}, "data": {"a": data}})
            .try_into()
            .unwrap()
    }

    fn live(name: &str, version: &str, created: u32, data: Option<&str>) -> Manifest {
        let applied = data.map(|data| {
            json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": data},
                "metadata": {"name": format!("{name}-{version}"), "annotations": {}}})
            .to_string()
        });
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {
            "creationTimestamp": format!("2026-11-15T20:37:{created:02}Z"),
            "annotations": {"artifact.spinnaker.io/type": "kubernetes/configMap",
                "artifact.spinnaker.io/name": name, "artifact.spinnaker.io/version": version,
                "kubectl.kubernetes.io/last-applied-configuration": applied}}})
        .try_into()
        .unwrap()
    }

    #[test]
    fn versions_have_three_digits_or_more() {
        let table = [(0, "v000"), (7, "v007"), (999, "v999"), (1000, "v1000")];
        for (version, text) in table {
            assert_eq!(Version(version).to_string(), text);
            assert_eq!(Version::parse(text), Some(Version(version)));
        }
        assert_eq!(Version::parse(""), None);
        assert_eq!(Version::parse("vx"), None);
    }

    #[test]
    fn the_next_version_follows_the_newest_of_the_same_name() {
        let objects = [
            live("shop-cm", "v009", 2, Some("1")),
            live("shop-cm", "v002", 3, None),
            live("other", "v044", 4, None),
        ];
        assert_eq!(Version::of(&config_map("2"), &objects, &[]), Version(10));
        assert_eq!(Version::of(&config_map("2"), &[], &[]), Version(0));
        let latest = latest(&config_map("2"), &objects).unwrap();
        assert_eq!(latest.annotation("artifact.spinnaker.io/version"), Some("v009"));
    }

    #[test]
    fn the_same_content_is_deployed_again_under_its_version() {
        let objects = [live("shop-cm", "v001", 3, Some("1")), live("shop-cm", "v000", 1, Some("1"))];
        assert_eq!(Version::of(&config_map("1"), &objects, &[]), Version(0), "the oldest that is the same");
        assert_eq!(Version::of(&config_map("2"), &objects, &[]), Version(2));
        let mut with_nulls = config_map("1").as_map().clone();
        with_nulls.insert("binaryData".into(), Value::Null);
        let with_nulls = Value::Object(with_nulls).try_into().unwrap();
        assert_eq!(Version::of(&with_nulls, &objects, &[]), Version(0), "what is null is not applied");
        let replaced = [live("shop-cm", "v000", 1, None)];
        assert_eq!(
            Version::of(&config_map("1"), &replaced, &[]),
            Version(1),
            "nobody knows what it was made from"
        );
    }

    #[test]
    fn hidden_content_is_equal_if_the_agent_found_it_equal() {
        let named = |version: &str, created| {
            let mut secret = live("token", version, created, None);
            secret.set_name(&format!("token-{version}"));
            secret
        };
        let secrets = [named("v001", 2), named("v000", 1)];
        let mut manifest = config_map("1");
        manifest.set_name("token");
        assert_eq!(Version::names(&manifest, &secrets), ["token-v000", "token-v001"]);
        assert_eq!(Version::of(&manifest, &secrets, &["token-v001".into()]), Version(1));
        assert_eq!(Version::of(&manifest, &secrets, &[]), Version(2));
    }

    #[test]
    fn numbers_are_the_same_however_they_are_written() {
        assert!(is_equal(&json!({"a": [1, 2.0]}), &json!({"a": [1.0, 2]})));
        assert!(!is_equal(&json!({"a": null}), &json!({})));
        assert!(!is_equal(&json!([1]), &json!([1, 1])));
    }
}
