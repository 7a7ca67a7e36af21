//! Field masks: the action for each value of a document, by its path.

use crate::json::path::{FieldPath, Step};

/// Action for a value. If several rules select it, the last action in this order applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum FieldAction {
    /// Extracts the value from the document as an item.
    Item,
    /// Keeps the value, unless all of its members are cut.
    DropIfEmptied,
    /// Replaces the value by a placeholder.
    Redact,
    /// Removes the value and its key.
    Cut,
    /// Keeps the value, in spite of other rules.
    Keep,
    /// Keeps the value, in spite of other rules for it, and applies those for its parts.
    Enter,
}

/// Tree of the paths of a document that have actions; all other values are kept.
#[derive(Debug, Clone)]
pub(crate) struct FieldMask(Vec<MaskNode>);

/// Index of a node.
pub(crate) type NodeId = usize;

/// Node of a mask: its action, and its children.
#[derive(Debug, Clone, Default)]
pub(crate) struct MaskNode {
    action: Option<FieldAction>,
    members: Vec<(Box<str>, NodeId)>,
    other_members: Option<NodeId>,
    elements: Option<NodeId>,
}

/// Node of all values without a rule.
const UNMASKED: NodeId = 0;

/// Node of the document itself.
pub(crate) const ROOT: NodeId = 1;

// === impl FieldMask ===

impl FieldMask {
    /// Builds a mask; values without a rule are kept.
    pub(crate) fn new(rules: &[(FieldPath, FieldAction)]) -> Self {
        let rules: Vec<_> = rules.iter().map(|(path, action)| (path.steps(), *action)).collect();
        let mut mask = Self(vec![MaskNode::default()]);
        mask.add(&rules);
        mask
    }

    pub(crate) fn node(&self, id: NodeId) -> &MaskNode {
        &self.0[id]
    }

    /// Adds a node, given the rules relative to it.
    fn add(&mut self, rules: &[(&[Step], FieldAction)]) -> NodeId {
        let id = self.0.len();
        let here = rules.iter().filter(|(path, _)| path.is_empty());
        let action = here.map(|(_, action)| *action).max().filter(|action| *action != FieldAction::Enter);
        self.0.push(MaskNode { action, ..MaskNode::default() });
        if action == Some(FieldAction::Redact) {
            return self.keep_members(id, rules);
        }
        if matches!(action, Some(FieldAction::Cut | FieldAction::Keep)) {
            return id;
        }
        let mut names: Vec<&str> = rules.iter().filter_map(|(path, _)| path.first()?.name()).collect();
        names.sort_unstable();
        names.dedup();
        let members = names
            .into_iter()
            .map(|name| {
                let is_selected = |step: &Step| *step == Step::AnyMember || step.name() == Some(name);
                (name.into(), self.add(&below(rules, is_selected)))
            })
            .collect();
        let other_members = below(rules, |step| *step == Step::AnyMember);
        let elements = below(rules, |step| *step == Step::AnyElement);
        let other_members = (!other_members.is_empty()).then(|| self.add(&other_members));
        let elements = (!elements.is_empty()).then(|| self.add(&elements));
        self.0[id] = MaskNode { action, members, other_members, elements };
        id
    }

    /// Walks into a redacted node if some of its members must be kept; all others are cut then.
    fn keep_members(&mut self, id: NodeId, rules: &[(&[Step], FieldAction)]) -> NodeId {
        let kept = rules.iter().filter_map(|(path, action)| match path {
            [Step::Member(name)] if *action == FieldAction::Keep => Some(name.clone()),
            _ => None,
        });
        let mut members = Vec::new();
        for name in kept {
            members.push((name, self.leaf(FieldAction::Keep)));
        }
        if !members.is_empty() {
            let other_members = Some(self.leaf(FieldAction::Cut));
            self.0[id] =
                MaskNode { action: Some(FieldAction::Redact), members, other_members, elements: None };
        }
        id
    }

    fn leaf(&mut self, action: FieldAction) -> NodeId {
        self.0.push(MaskNode { action: Some(action), ..MaskNode::default() });
        self.0.len() - 1
    }
}

/// Returns the rules below the selected steps.
fn below<'a>(
    rules: &[(&'a [Step], FieldAction)],
    is_selected: impl Fn(&Step) -> bool,
) -> Vec<(&'a [Step], FieldAction)> {
    let split = rules.iter().filter_map(|(path, action)| Some((path.split_first()?, *action)));
    split.filter(|((first, _), _)| is_selected(first)).map(|((_, rest), action)| (rest, action)).collect()
}

// === impl MaskNode ===

impl MaskNode {
    pub(crate) fn action(&self) -> Option<FieldAction> {
        self.action
    }

    pub(crate) fn has_members(&self) -> bool {
        !self.members.is_empty() || self.other_members.is_some()
    }

    pub(crate) fn has_elements(&self) -> bool {
        self.elements.is_some()
    }

    /// Returns the node of a member; the name is none if the key is not valid text.
    pub(crate) fn member(&self, name: Option<&str>) -> NodeId {
        let named = name.and_then(|name| self.members.iter().find(|(known, _)| **known == *name));
        named.map(|(_, node)| *node).or(self.other_members).unwrap_or(UNMASKED)
    }

    /// Returns the node of each element.
    pub(crate) fn element(&self) -> Option<NodeId> {
        self.elements
    }
}
