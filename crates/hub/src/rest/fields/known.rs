//! Fields of the built-in kinds, to refuse a misspelt field selector. Custom resources can have any field.

use std::{collections::HashMap, fmt, sync::LazyLock};

use crate::rest::kinds::GroupKind;

/// One line for each kind: its name, then the paths of its scalar fields.
const KNOWN: &str = include_str!("known.txt");
/// Name of the line with the fields of every kind.
const EVERY_KIND: &str = "*";

static FIELDS: LazyLock<HashMap<&str, Vec<&str>>> = LazyLock::new(|| {
    let lines = KNOWN.lines().filter(|line| !line.starts_with('#'));
    lines
        .filter_map(|line| {
            let mut words = line.split(' ');
            Some((words.next()?, words.collect()))
        })
        .collect()
});

/// A field that none of the selected kinds has.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct UnknownField {
    path: String,
    kind: String,
    nearest: Option<&'static str>,
    /// Fields below the longest part of the path that exists.
    expected: Vec<&'static str>,
}

/// Checks that one of these kinds has the field.
pub(super) fn check(path: &[String], kinds: &[GroupKind]) -> Result<(), UnknownField> {
    let of_every_kind = FIELDS.get(EVERY_KIND).map(Vec::as_slice).unwrap_or_default();
    if kinds.is_empty() || of_every_kind.iter().any(|known| covers(known, path)) {
        return Ok(());
    }
    let mut all = of_every_kind.to_vec();
    for kind in kinds {
        // Of a kind without a line, all fields are allowed: it is a custom resource, or newer than the table.
        let Some(fields) = FIELDS.get(name(kind).as_str()) else { return Ok(()) };
        if fields.iter().any(|known| covers(known, path)) {
            return Ok(());
        }
        all.extend(fields);
    }
    let text = path.join(".");
    let nearest = spindrift_process::nearest(all.iter().copied(), &text);
    Err(UnknownField {
        nearest,
        expected: siblings(path, &all),
        kind: kinds.iter().map(name).collect::<Vec<_>>().join(", "),
        path: text,
    })
}

fn name((group, kind): &GroupKind) -> String {
    if group.is_empty() { kind.clone() } else { format!("{kind}.{group}") }
}

/// Whether a known path is this one, or a map that contains it.
fn covers(known: &str, path: &[String]) -> bool {
    let mut path = path.iter();
    for part in known.split('.') {
        match path.next() {
            Some(_) if part == "*" => return true,
            Some(wanted) if wanted == part => {}
            _ => return false,
        }
    }
    path.next().is_none()
}

/// Fields with the same beginning as the path, as much of it as exists.
fn siblings(path: &[String], all: &[&'static str]) -> Vec<&'static str> {
    for length in (0..path.len()).rev() {
        let begin: String = path[..length].iter().flat_map(|part| [part, "."]).collect();
        // Deeper fields are too many to read.
        let close = |known: &&&str| {
            known.strip_prefix(&*begin).is_some_and(|rest| rest.split('.').count() <= 2)
                && !known.ends_with('*')
        };
        let mut found: Vec<_> = all.iter().filter(close).copied().collect();
        found.sort_unstable();
        found.dedup();
        if !found.is_empty() {
            return found;
        }
    }
    Vec::new()
}

// === impl UnknownField ===

impl fmt::Display for UnknownField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, kind, nearest, expected } = self;
        write!(f, "field label not supported: {path} of {kind}; ")?;
        if let Some(nearest) = nearest {
            write!(f, "did you mean {nearest}? ")?;
        }
        write!(f, "expected one of {}", expected.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(path: &str, kinds: &[(&str, &str)]) -> Result<(), String> {
        let path: Vec<_> = path.split('.').map(str::to_owned).collect();
        let kinds: Vec<_> =
            kinds.iter().map(|(group, kind)| ((*group).to_owned(), (*kind).to_owned())).collect();
        check(&path, &kinds).map_err(|unknown| unknown.to_string())
    }

    const POD: (&str, &str) = ("", "Pod");

    #[test]
    fn fields_of_the_kind_are_allowed() {
        for (path, kinds) in [
            ("status.phase", &[POD][..]),
            ("metadata.name", &[POD]),
            ("metadata.labels.app", &[("apps", "Deployment")]),
            ("spec.nodeSelector.disk", &[POD]),
            ("involvedObject.name", &[("", "Event")]),
            ("spec.template.spec.hostNetwork", &[("apps", "DaemonSet")]),
            ("status.phase", &[POD, ("", "Service")]),
            ("anything.at.all", &[("example.com", "Widget")]),
            ("anything.at.all", &[]),
        ] {
            assert_eq!(checked(path, kinds), Ok(()), "{path}");
        }
    }

    #[test]
    fn a_misspelt_field_is_refused_with_the_allowed_ones() {
        let error = checked("status.phsae", &[POD]).unwrap_err();
        for part in ["status.phsae of Pod", "did you mean status.phase?", "status.hostIP", "status.podIP"] {
            assert!(error.contains(part), "{part}: {error}");
        }
        for (path, kind) in [("stauts.phase", POD), ("status.phase", ("", "Service")), ("metadata.nmae", POD)]
        {
            let error = checked(path, &[kind]).unwrap_err();
            assert!(error.contains("expected one of "), "{error}");
            assert!(error.len() < 4000, "{error}");
        }
    }
}
