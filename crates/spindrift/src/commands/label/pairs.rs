//! Pairs of a command line, `app=web` and `tier-`, and the change that they make to an object.

use std::collections::BTreeMap;

use anyhow::{bail, ensure};
use serde_json::{Map, Value};

/// Map of the metadata that is changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MetadataMap {
    Labels,
    Annotations,
}

/// Requested values and removals.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Pairs {
    set: BTreeMap<String, String>,
    remove: Vec<String>,
}

/// Change of one object.
#[derive(Debug, PartialEq)]
pub(super) struct PairsChange {
    /// Entries of the merge patch; null removes one.
    pub(super) entries: Map<String, Value>,
    /// Result in kubectl's words.
    pub(super) word: &'static str,
    /// Keys to remove that the object does not have.
    pub(super) not_found: Vec<String>,
}

/// Result of a label command that changes nothing.
pub(super) const NOT_LABELED: &str = "not labeled";
/// Annotation that may always be overwritten.
const CHANGE_CAUSE: &str = "kubernetes.io/change-cause";
/// Maximum length of a label value.
const LONGEST_VALUE: usize = 63;

// === impl MetadataMap ===

impl MetadataMap {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Labels => "label",
            Self::Annotations => "annotation",
        }
    }

    /// Field of the metadata.
    pub(super) fn field(self) -> &'static str {
        match self {
            Self::Labels => "labels",
            Self::Annotations => "annotations",
        }
    }

    pub(super) fn action(self) -> &'static str {
        match self {
            Self::Labels => "labeling",
            Self::Annotations => "annotating",
        }
    }

    pub(super) fn manager(self) -> &'static str {
        match self {
            Self::Labels => "kubectl-label",
            Self::Annotations => "kubectl-annotate",
        }
    }
}

// === impl Pairs ===

impl Pairs {
    pub(super) fn parse(map: MetadataMap, words: &[String]) -> anyhow::Result<Self> {
        let mut pairs = Self::default();
        for word in words {
            match word.split_once('=') {
                Some((key, value)) => {
                    if map == MetadataMap::Labels {
                        ensure!(!value.contains('='), "invalid label spec: {word}");
                        check_value(word, value)?;
                    }
                    pairs.set.insert(key.to_owned(), value.to_owned());
                }
                None => pairs.remove.push(word.strip_suffix('-').unwrap_or(word).to_owned()),
            }
        }
        let both: Vec<_> = pairs.remove.iter().filter(|key| pairs.set.contains_key(*key)).cloned().collect();
        match map {
            _ if both.is_empty() => Ok(pairs),
            MetadataMap::Labels => bail!("can not both modify and remove a label in the same command"),
            MetadataMap::Annotations => bail!(
                "can not both modify and remove the following annotation(s) in the same command: {}",
                both.join(", ")
            ),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.set.is_empty() && self.remove.is_empty()
    }

    /// Compares the pairs with an object.
    pub(super) fn change(
        &self,
        map: MetadataMap,
        live: &Value,
        overwrite: bool,
    ) -> Result<PairsChange, String> {
        let current = |key: &str| live["metadata"][map.field()].get(key).and_then(Value::as_str);
        if !overwrite {
            self.check_overwrites(map, current)?;
        }
        let mut entries = Map::new();
        for (key, value) in &self.set {
            if current(key) != Some(value.as_str()) {
                entries.insert(key.clone(), value.as_str().into());
            }
        }
        let added = entries.len();
        let (found, not_found): (Vec<_>, Vec<_>) =
            self.remove.iter().cloned().partition(|key| current(key).is_some());
        entries.extend(found.iter().map(|key| (key.clone(), Value::Null)));
        let word = match (map, added, found.len()) {
            (MetadataMap::Annotations, ..) => "annotated",
            (MetadataMap::Labels, 0, 0) => NOT_LABELED,
            (MetadataMap::Labels, 0, _) => "unlabeled",
            (MetadataMap::Labels, _, 0) => "labeled",
            (MetadataMap::Labels, ..) => "modified",
        };
        Ok(PairsChange { entries, word, not_found })
    }

    fn check_overwrites<'v>(
        &self,
        map: MetadataMap,
        current: impl Fn(&str) -> Option<&'v str>,
    ) -> Result<(), String> {
        let mut taken = Vec::new();
        for (key, value) in &self.set {
            match current(key).filter(|current| current != value) {
                Some(_) if map == MetadataMap::Annotations && key == CHANGE_CAUSE => {}
                Some(current) => taken.push(format!("'{key}' already has a value ({current})")),
                None => {}
            }
        }
        match (&taken[..], map) {
            ([], _) => Ok(()),
            (_, MetadataMap::Annotations) => Err(format!(
                "--overwrite is false but found the following declared annotation(s): {}",
                taken.join("; ")
            )),
            ([one], MetadataMap::Labels) => Err(format!("{one}, and --overwrite is false")),
            (several, MetadataMap::Labels) => {
                let several: Vec<_> =
                    several.iter().map(|one| format!("{one}, and --overwrite is false")).collect();
                Err(format!("[{}]", several.join(", ")))
            }
        }
    }
}

/// Checks a label value as the API server does, before any account is changed.
fn check_value(word: &str, value: &str) -> anyhow::Result<()> {
    let is_letter = |c: char| c.is_ascii_alphanumeric();
    ensure!(
        value.len() <= LONGEST_VALUE,
        "invalid label value: {word:?}: must be no more than 63 characters"
    );
    let is_valid = value.is_empty()
        || (value.starts_with(is_letter)
            && value.ends_with(is_letter)
            && value.chars().all(|c| is_letter(c) || matches!(c, '-' | '_' | '.')));
    ensure!(
        is_valid,
        "invalid label value: {word:?}: a valid label must be an empty string or consist of alphanumeric characters, \
         '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or \
         '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parsed(map: MetadataMap, words: &str) -> Result<Pairs, String> {
        let words: Vec<_> = words.split_whitespace().map(str::to_owned).collect();
        Pairs::parse(map, &words).map_err(|error| error.to_string())
    }

    #[test]
    fn words_are_read_as_by_kubectl() {
        let pairs = parsed(MetadataMap::Labels, "app=web tier- empty=").unwrap();
        assert_eq!(
            pairs.set,
            BTreeMap::from([("app".into(), "web".into()), ("empty".into(), String::new())])
        );
        assert_eq!(pairs.remove, ["tier"]);
        assert_eq!(parsed(MetadataMap::Annotations, "a=b=c").unwrap().set["a"], "b=c");
        for (map, words, expected) in [
            (MetadataMap::Labels, "a=b=c", "invalid label spec: a=b=c"),
            (MetadataMap::Labels, "a=-b", "invalid label value: \"a=-b\""),
            (MetadataMap::Labels, "a=b a-", "can not both modify and remove a label"),
            (MetadataMap::Annotations, "a=b a-", "the following annotation(s) in the same command: a"),
        ] {
            let error = parsed(map, words).unwrap_err();
            assert!(error.contains(expected), "{words}: {error}");
        }
    }

    #[test]
    fn only_differences_are_sent() {
        let live = json!({ "metadata": { "labels": { "app": "web", "tier": "front" } } });
        let change = |words: &str, overwrite| {
            parsed(MetadataMap::Labels, words).unwrap().change(MetadataMap::Labels, &live, overwrite)
        };
        let same = change("app=web", false).unwrap();
        assert_eq!((same.word, same.entries.len()), (NOT_LABELED, 0));
        assert_eq!(change("new=1", false).unwrap().word, "labeled");
        assert_eq!(change("tier- gone-", false).unwrap().not_found, ["gone"]);
        let both = change("new=1 tier-", false).unwrap();
        assert_eq!(
            (both.word, Value::Object(both.entries)),
            ("modified", json!({ "new": "1", "tier": null }))
        );
        assert_eq!(
            change("app=x", false).unwrap_err(),
            "'app' already has a value (web), and --overwrite is false"
        );
        assert_eq!(change("app=x", true).unwrap().word, "labeled");
    }
}
