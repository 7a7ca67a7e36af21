//! What is done with each value of a document, by where it stands in it.

use crate::json::path::{Path, Step};

/// What is done with a value. Where several are asked for, the last of them in this order is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fate {
    /// It is taken out of the document, as one of the items that it is made of.
    Item,
    /// It passes, but if all of its members are cut, it goes with them.
    Thin,
    /// It stays as a value that says nothing.
    Redact,
    /// It goes, and its key with it.
    Cut,
    /// It passes, whatever else is said.
    Pass,
}

/// The places of a document that differ from the rest, as a tree.
#[derive(Debug, Clone)]
pub(crate) struct Mesh(Vec<Place>);

/// An index into the mesh.
pub(crate) type PlaceId = usize;

/// One place, and what is below it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Place {
    fate: Option<Fate>,
    members: Vec<(Box<str>, PlaceId)>,
    other_members: Option<PlaceId>,
    elements: Option<PlaceId>,
}

/// The place that is everywhere else: all passes there.
const ELSEWHERE: PlaceId = 0;

/// The place of the document itself.
pub(crate) const ROOT: PlaceId = 1;

// === impl Mesh ===

impl Mesh {
    /// A mesh in which all that no rule names passes.
    pub(crate) fn new(rules: &[(Path, Fate)]) -> Self {
        let rules: Vec<_> = rules.iter().map(|(path, fate)| (path.steps(), *fate)).collect();
        let mut mesh = Self(vec![Place::default()]);
        mesh.add(&rules);
        mesh
    }

    pub(crate) fn place(&self, id: PlaceId) -> &Place {
        &self.0[id]
    }

    /// Adds a place, given what the rules say from there on.
    fn add(&mut self, rules: &[(&[Step], Fate)]) -> PlaceId {
        let id = self.0.len();
        let here = rules.iter().filter(|(path, _)| path.is_empty());
        let fate = here.map(|(_, fate)| *fate).max();
        self.0.push(Place { fate, ..Place::default() });
        if fate == Some(Fate::Redact) {
            return self.spare(id, rules);
        }
        if matches!(fate, Some(Fate::Cut | Fate::Pass)) {
            return id;
        }
        let mut names: Vec<&str> = rules.iter().filter_map(|(path, _)| path.first()?.name()).collect();
        names.sort_unstable();
        names.dedup();
        let members = names
            .into_iter()
            .map(|name| {
                let is_meant = |step: &Step| *step == Step::AnyMember || step.name() == Some(name);
                (name.into(), self.add(&below(rules, is_meant)))
            })
            .collect();
        let other_members = below(rules, |step| *step == Step::AnyMember);
        let elements = below(rules, |step| *step == Step::AnyElement);
        let other_members = (!other_members.is_empty()).then(|| self.add(&other_members));
        let elements = (!elements.is_empty()).then(|| self.add(&elements));
        self.0[id] = Place { fate, members, other_members, elements };
        id
    }

    /// Looks into a place that is redacted if members of it pass whatever is said; all others go then.
    fn spare(&mut self, id: PlaceId, rules: &[(&[Step], Fate)]) -> PlaceId {
        let spared = rules.iter().filter_map(|(path, fate)| match path {
            [Step::Member(name)] if *fate == Fate::Pass => Some(name.clone()),
            _ => None,
        });
        let mut members = Vec::new();
        for name in spared {
            members.push((name, self.leaf(Fate::Pass)));
        }
        if !members.is_empty() {
            let other_members = Some(self.leaf(Fate::Cut));
            self.0[id] = Place { fate: Some(Fate::Redact), members, other_members, elements: None };
        }
        id
    }

    fn leaf(&mut self, fate: Fate) -> PlaceId {
        self.0.push(Place { fate: Some(fate), ..Place::default() });
        self.0.len() - 1
    }
}

/// What the rules say below the steps that are meant.
fn below<'a>(rules: &[(&'a [Step], Fate)], is_meant: impl Fn(&Step) -> bool) -> Vec<(&'a [Step], Fate)> {
    let split = rules.iter().filter_map(|(path, fate)| Some((path.split_first()?, *fate)));
    split.filter(|((first, _), _)| is_meant(first)).map(|((_, rest), fate)| (rest, fate)).collect()
}

// === impl Place ===

impl Place {
    pub(crate) fn fate(&self) -> Option<Fate> {
        self.fate
    }

    pub(crate) fn looks_into_objects(&self) -> bool {
        !self.members.is_empty() || self.other_members.is_some()
    }

    pub(crate) fn looks_into_arrays(&self) -> bool {
        self.elements.is_some()
    }

    /// The place of a member; without a name, of one whose key is no text.
    pub(crate) fn member(&self, name: Option<&str>) -> PlaceId {
        let named = name.and_then(|name| self.members.iter().find(|(known, _)| **known == *name));
        named.map(|(_, place)| *place).or(self.other_members).unwrap_or(ELSEWHERE)
    }

    /// The place of each element.
    pub(crate) fn element(&self) -> Option<PlaceId> {
        self.elements
    }
}
