//! Leaves out the types and fields from which no fact can be reached.

use std::{
    collections::{BTreeSet, btree_map::BTreeMap},
    mem,
};

use super::{Field, Schema, Strategy};

// === impl Schema ===

impl Schema {
    /// Keeps what a merge can depend on, of the kinds that there are.
    pub(super) fn prune(&mut self) {
        let telling = self.telling_types();
        let leads_on = |field: &Field| field.of.as_ref().is_some_and(|of| telling.contains(of));
        for fields in self.types.values_mut() {
            fields.retain(|_, field| field.is_fact() || leads_on(field));
            for field in fields.values_mut() {
                field.of = field.of.take().filter(|of| telling.contains(of));
            }
        }
        self.keep_reachable();
    }

    /// The types that have facts themselves, or lead to one that has.
    fn telling_types(&self) -> BTreeSet<Box<str>> {
        let mut users: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        let mut waiting = Vec::new();
        for (name, fields) in &self.types {
            for of in fields.values().filter_map(|field| field.of.as_deref()) {
                users.entry(of).or_default().push(name);
            }
            if fields.values().any(Field::is_fact) {
                waiting.push(&**name);
            }
        }
        let mut telling = BTreeSet::new();
        while let Some(name) = waiting.pop() {
            if telling.insert(name) {
                waiting.extend(users.get(name).into_iter().flatten());
            }
        }
        telling.into_iter().map(Into::into).collect()
    }

    fn keep_reachable(&mut self) {
        let mut types = mem::take(&mut self.types);
        let mut waiting: Vec<Box<str>> = self.kinds.values().cloned().collect();
        while let Some(name) = waiting.pop() {
            if let Some((name, fields)) = types.remove_entry(&name) {
                waiting.extend(fields.values().filter_map(|field| field.of.clone()));
                self.types.insert(name, fields);
            }
        }
    }
}

// === impl Field ===

impl Field {
    /// Whether the field itself is merged otherwise than JSON is.
    fn is_fact(&self) -> bool {
        self.strategy != Strategy::Plain || self.retain_keys
    }
}
