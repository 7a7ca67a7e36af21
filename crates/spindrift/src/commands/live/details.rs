//! Description of one object, opened from the list of changes.

use super::changes::ChangeEntry;
use crate::{
    commands::describe::describe_object,
    hub::{Client, Selection},
};

/// Open description.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Details {
    pub(super) title: String,
    pub(super) lines: Vec<String>,
    /// First line that is shown.
    pub(super) scrolled: usize,
}

/// Object to open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OpenRequest {
    account: String,
    group: String,
    kind: String,
    namespace: String,
    name: String,
}

// === impl Details ===

impl Details {
    /// Description that is being requested.
    pub(super) fn loading(request: &OpenRequest) -> Self {
        Self { title: request.title(), lines: vec!["loading…".to_owned()], scrolled: 0 }
    }

    pub(super) fn scroll_to(&mut self, line: usize) {
        self.scrolled = line.min(self.lines.len().saturating_sub(1));
    }
}

// === impl OpenRequest ===

impl OpenRequest {
    /// Object of a change; of an event, the object that it is about.
    pub(super) fn of(change: &ChangeEntry) -> Self {
        let (group, kind) =
            change.about.clone().unwrap_or_else(|| (change.group.clone(), change.kind.clone()));
        let ChangeEntry { account, namespace, name, .. } = change.clone();
        Self { account, group, kind, namespace, name }
    }

    fn title(&self) -> String {
        let Self { account, kind, name, .. } = self;
        format!("{kind} {name} in {account}")
    }

    /// Requests the description from the hub.
    pub(super) async fn run(self, hub: Client) -> Details {
        let kind =
            if self.group.is_empty() { self.kind.clone() } else { format!("{}.{}", self.kind, self.group) };
        let selection = Selection {
            account: Some(self.account.clone()),
            namespace: Some(self.namespace.clone()).filter(|namespace| !namespace.is_empty()),
            limit: Some(1),
            ..Selection::default()
        };
        let text = match describe_object(&hub, &kind, &self.name, selection).await {
            Ok(Some(page)) => page,
            Ok(None) => "It does not exist any more.".to_owned(),
            Err(error) => format!("It could not be read: {error:#}"),
        };
        Details { title: self.title(), lines: text.lines().map(str::to_owned).collect(), scrolled: 0 }
    }
}
