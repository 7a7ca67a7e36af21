//! Decisions that can be made again: a case always gives the same manifest, and its next version differs in few places.

use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::Value;

/// The decisions of one version of one case. Each has a name, and does not depend on any other.
#[derive(Clone)]
pub(crate) struct Decisions {
    case: u64,
    version: u32,
    /// Immutable fields change, too, in a later version.
    careless: bool,
    path: String,
}

/// Percentage of decisions that change in a later version.
const CHANGES: u64 = 25;

// === impl Decisions ===

impl Decisions {
    /// The first version of a case.
    pub(crate) fn new(seed: u64, case: u64) -> Self {
        Self { case: hash(&(seed, case)), version: 0, careless: false, path: String::new() }
    }

    /// A later version of the same case.
    pub(crate) fn version(&self, version: u32) -> Self {
        Self { version, ..self.clone() }
    }

    /// A version that changes immutable fields.
    pub(crate) fn careless(&self) -> Self {
        Self { careless: true, ..self.clone() }
    }

    /// For fields that cannot change: the same decisions in all versions.
    pub(crate) fn firm(&self) -> Self {
        let version = if self.careless { self.version } else { 0 };
        Self { version, ..self.clone() }
    }

    /// For a part whose decisions have the same names as those of another part.
    pub(crate) fn within(&self, part: &str) -> Self {
        Self { path: format!("{}/{part}", self.path), ..self.clone() }
    }

    fn rng(&self, decision: &str) -> fastrand::Rng {
        let again = self.version > 0
            && hash(&(self.case, &self.path, decision, self.version, "again")) % 100 < CHANGES;
        let version = if again { self.version } else { 0 };
        fastrand::Rng::with_seed(hash(&(self.case, &self.path, decision, version)))
    }

    /// True in so many of a hundred cases.
    pub(crate) fn chance(&self, decision: &str, percent: u8) -> bool {
        self.rng(decision).u8(..100) < percent
    }

    pub(crate) fn number(&self, decision: &str, range: std::ops::Range<i64>) -> i64 {
        self.rng(decision).i64(range)
    }

    pub(crate) fn one<T: Clone>(&self, decision: &str, of: &[T]) -> T {
        of[self.rng(decision).usize(..of.len())].clone()
    }

    /// A value in so many of a hundred cases, else null, which [`prune`] takes out.
    pub(crate) fn maybe(&self, decision: &str, percent: u8, value: impl FnOnce(&Self) -> Value) -> Value {
        if self.chance(&format!("{decision}?"), percent) {
            value(&self.within(decision))
        } else {
            Value::Null
        }
    }

    /// Some of these, in some order; at least so many of them.
    pub(crate) fn some<'a>(&self, decision: &str, least: usize, of: &[&'a str]) -> Vec<&'a str> {
        let inside = self.within(decision);
        let mut all = of.to_vec();
        inside.rng("order").shuffle(&mut all);
        let (mut taken, left): (Vec<_>, Vec<_>) = all.into_iter().partition(|item| inside.chance(item, 55));
        let missing = least.saturating_sub(taken.len());
        taken.extend(left.into_iter().take(missing));
        taken
    }

    /// A list of some of these, each made by a function; null without any.
    pub(crate) fn items(
        &self,
        decision: &str,
        least: usize,
        of: &[&str],
        mut make: impl FnMut(&str, &Self) -> Value,
    ) -> Value {
        let inside = self.within(decision);
        let items: Vec<_> =
            self.some(decision, least, of).into_iter().map(|item| make(item, &inside.within(item))).collect();
        if items.is_empty() { Value::Null } else { Value::Array(items) }
    }

    /// A map with some of these keys; null without any.
    pub(crate) fn map(&self, decision: &str, least: usize, keys: &[&str], values: &[&str]) -> Value {
        let inside = self.within(decision);
        let entries: serde_json::Map<_, _> = self
            .some(decision, least, keys)
            .into_iter()
            .map(|key| (key.to_owned(), inside.within(key).one("value", values).into()))
            .collect();
        if entries.is_empty() { Value::Null } else { Value::Object(entries) }
    }
}

/// Removes the parts that were not chosen.
pub(crate) fn prune(value: Value) -> Value {
    match value {
        Value::Object(entries) => entries
            .into_iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(key, value)| (key, prune(value)))
            .collect(),
        Value::Array(items) => items.into_iter().map(prune).collect(),
        other => other,
    }
}

pub(crate) fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

#[test]
fn a_version_differs_from_the_first_in_few_decisions() {
    let first = Decisions::new(1, 1);
    let names: Vec<_> = (0..1000).map(|number| number.to_string()).collect();
    let differ = |other: &Decisions| {
        names.iter().filter(|name| first.number(name, 0..1 << 40) != other.number(name, 0..1 << 40)).count()
    };
    assert_eq!(differ(&Decisions::new(1, 1)), 0);
    assert!((200..300).contains(&differ(&first.version(1))), "{}", differ(&first.version(1)));
    assert_eq!(differ(&first.version(1).firm()), 0);
    assert_eq!(differ(&Decisions::new(1, 2)), 1000);
}
