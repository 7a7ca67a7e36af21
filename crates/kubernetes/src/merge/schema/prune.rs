//! Removal of types and fields that do not lead to a strategy.

use std::{
    collections::{BTreeSet, btree_map::BTreeMap},
    mem,
};

use super::{FieldStrategy, Schema, Strategy};

// === impl Schema ===

impl Schema {
    /// Keeps the types and fields that merges of the known kinds depend on.
    pub(super) fn prune(&mut self) {
        let relevant = self.relevant_types();
        let leads_on = |field: &FieldStrategy| field.of.as_ref().is_some_and(|of| relevant.contains(of));
        for fields in self.types.values_mut() {
            fields.retain(|_, field| field.is_fact() || leads_on(field));
            for field in fields.values_mut() {
                field.of = field.of.take().filter(|of| relevant.contains(of));
            }
        }
        self.keep_reachable();
    }

    /// Returns the types with strategies, and those that lead to them.
    fn relevant_types(&self) -> BTreeSet<Box<str>> {
        let mut users: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        let mut waiting = Vec::new();
        for (name, fields) in &self.types {
            for of in fields.values().filter_map(|field| field.of.as_deref()) {
                users.entry(of).or_default().push(name);
            }
            if fields.values().any(FieldStrategy::is_fact) {
                waiting.push(&**name);
            }
        }
        let mut relevant = BTreeSet::new();
        while let Some(name) = waiting.pop() {
            if relevant.insert(name) {
                waiting.extend(users.get(name).into_iter().flatten());
            }
        }
        relevant.into_iter().map(Into::into).collect()
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

// === impl FieldStrategy ===

impl FieldStrategy {
    /// Whether the field itself is merged differently from JSON.
    fn is_fact(&self) -> bool {
        self.strategy != Strategy::Plain || self.retain_keys
    }
}
