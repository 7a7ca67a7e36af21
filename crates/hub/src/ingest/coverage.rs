//! Who may follow an agent that cached an account: not one that would show less of it, without a word.
//!
//! Permissions and configuration of agents differ. When another agent takes an account over, its first declaration is
//! compared with what its predecessor was able to read. If something would be lost, it stands by for a while, so that an
//! agent that sees all can attach; the operator is told on both sides. After that it is taken, and that is told too.

use std::{collections::HashMap, time::Duration};

use spindrift_model::{
    AccountName, AgentId, Batch, CacheKinds, Declaration, Item, Resource, Scope, ScopeDeclaration,
};
use spindrift_protocol::EventsDown;
use tokio::time::Instant;

use crate::store::{Predecessor, ScopeRow, StoredScope};

/// A standby that sees less asks again after this long.
const RETRY: Duration = Duration::from_secs(5);

/// Scopes that are named in a reason; the others are counted.
const NAMED: usize = 3;

/// The successions on one Events channel.
#[derive(Debug)]
pub(super) struct Succession {
    agent: AgentId,
    grace: Duration,
    /// What the predecessors of accounts that were just attached could read; gone with the first declaration.
    inherited: HashMap<AccountName, Inheritance>,
    /// Accounts of which this agent shows less, since when, and why.
    narrower: HashMap<AccountName, (Instant, String)>,
}

/// What another agent could read of an account.
#[derive(Debug)]
pub(super) struct Inheritance {
    predecessor: AgentId,
    scopes: Vec<Scope>,
}

/// What follows from a first declaration that shows less.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Judgement {
    /// Somebody else is given the chance.
    Refused { reason: String, predecessor: AgentId },
    /// Nobody else came.
    Taken { reason: String },
}

// === impl Succession ===

impl Succession {
    pub(super) fn new(agent: AgentId, grace: Duration) -> Self {
        Self { agent, grace, inherited: HashMap::new(), narrower: HashMap::new() }
    }

    /// The answer to an agent that was found to show less, and has to let others go first.
    pub(super) fn stand_by(&self, account: &AccountName) -> Option<EventsDown> {
        let (since, reason) = self.narrower.get(account)?;
        let (account, reason) = (account.clone(), reason.clone());
        (since.elapsed() < self.grace).then_some(EventsDown::NotAttached {
            account,
            reason,
            retry_after: RETRY,
        })
    }

    /// The account is attached.
    pub(super) fn attached(&mut self, account: &AccountName, inheritance: Option<Inheritance>) {
        match inheritance {
            Some(inheritance) => self.inherited.insert(account.clone(), inheritance),
            None => self.inherited.remove(account),
        };
    }

    /// Compares the first declaration of an attachment with what is inherited; none if nothing is lost.
    pub(super) fn judge(&mut self, batch: &Batch) -> Option<Judgement> {
        let Batch { account, items, .. } = batch;
        let declaration = items.iter().find_map(|item| match item {
            Item::Declare(declaration) => Some(declaration),
            _ => None,
        })?;
        let Inheritance { predecessor, scopes } = self.inherited.remove(account)?;
        let lost: Vec<_> = scopes.iter().filter(|scope| !shows(declaration, scope)).collect();
        if lost.is_empty() {
            self.narrower.remove(account);
            return None;
        }
        let named: Vec<_> = lost.iter().take(NAMED).map(ToString::to_string).collect();
        let more = match lost.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let reason = format!(
            "agent {} shows less of the account than agent {predecessor} did: {}{more}",
            self.agent,
            named.join(", ")
        );
        let (since, _) = self.narrower.entry(account.clone()).or_insert((Instant::now(), reason.clone()));
        if since.elapsed() >= self.grace {
            self.narrower.remove(account);
            return Some(Judgement::Taken { reason });
        }
        Some(Judgement::Refused { reason, predecessor })
    }
}

// === impl Inheritance ===

impl Inheritance {
    /// What another agent that cached the account before could read of it, and is still wanted.
    pub(super) fn left_by(predecessor: Predecessor, kinds: &CacheKinds) -> Self {
        let Predecessor { agent, scopes } = predecessor;
        let readable =
            |stored: &StoredScope| stored.denied.is_none() && kinds.wants(&resource(&stored.row), &[""; 0]);
        let scopes = scopes.into_iter().filter(readable).map(|stored| stored.row.scope).collect();
        Self { predecessor: agent, scopes }
    }
}

/// Whether what was read as this scope is still read. What is not known because its group cannot be discovered stays.
fn shows(declaration: &Declaration, scope: &Scope) -> bool {
    let Declaration { scopes, undiscovered_groups, denied } = declaration;
    let covers = |declared: &Scope| {
        declared.group == scope.group
            && declared.kind == scope.kind
            && (declared.namespace.is_none() || declared.namespace == scope.namespace)
    };
    let readable = scopes.iter().filter(|declared| !denied.iter().any(|denied| denied.id == declared.id));
    undiscovered_groups.contains(&scope.group)
        || readable.map(ScopeDeclaration::scope).any(|declared| covers(&declared))
}

fn resource(row: &ScopeRow) -> Resource {
    Resource {
        group: row.scope.group.clone(),
        version: row.api_version.clone(),
        kind: row.scope.kind.clone(),
        plural: row.plural.clone(),
        namespaced: row.namespaced,
    }
}

#[cfg(test)]
mod tests {
    use spindrift_model::{Cursor, DeniedScope, Epoch, ScopeId, ScrubRevision, Seq};

    use super::*;

    fn scope(kind: &str, namespace: Option<&str>) -> Scope {
        Scope { group: "".into(), kind: kind.into(), namespace: namespace.map(Into::into) }
    }

    fn declare(scopes: &[Scope], denied: &[u32]) -> Batch {
        let declared = |(id, scope): (usize, &Scope)| ScopeDeclaration {
            id: ScopeId(u32::try_from(id).unwrap()),
            resource: Resource {
                group: scope.group.clone(),
                version: "v1".into(),
                kind: scope.kind.clone(),
                plural: "things".into(),
                namespaced: true,
            },
            namespace: scope.namespace.clone(),
            scrub_revision: ScrubRevision(1),
        };
        let denied = denied.iter().map(|id| DeniedScope { id: ScopeId(*id), reason: "no".into() });
        Batch {
            account: AccountName::parse("main").unwrap(),
            cursor: Cursor { epoch: Epoch(1), seq: Seq(0) },
            items: vec![Item::Declare(Declaration {
                scopes: scopes.iter().enumerate().map(declared).collect(),
                denied: denied.collect(),
                undiscovered_groups: vec!["away.example.com".into()],
            })],
        }
    }

    fn judged(grace: Duration, before: &[Scope], batch: &Batch) -> Option<Judgement> {
        let agent = |name: &str| AgentId::parse(name).unwrap();
        let mut succession = Succession::new(agent("b"), grace);
        let inheritance = Inheritance { predecessor: agent("a"), scopes: before.to_vec() };
        succession.attached(&batch.account, Some(inheritance));
        let judgement = succession.judge(batch);
        let refused = matches!(judgement, Some(Judgement::Refused { .. }));
        assert_eq!(succession.stand_by(&batch.account).is_some(), refused);
        assert_eq!(succession.judge(batch), None, "only the first declaration is compared");
        judgement
    }

    const MINUTE: Duration = Duration::from_mins(1);

    #[test]
    fn a_successor_that_shows_as_much_or_more_is_welcome() {
        let (all, one) = (scope("Pod", None), scope("Pod", Some("shop")));
        let away = Scope { group: "away.example.com".into(), ..all.clone() };
        let before = [one.clone(), away];
        assert_eq!(judged(MINUTE, &before, &declare(&[one, scope("Node", None)], &[])), None);
        assert_eq!(judged(MINUTE, &before, &declare(&[all], &[])), None);
    }

    #[test]
    fn a_successor_that_shows_less_is_refused_with_what_would_be_lost() {
        let before = [scope("Pod", None), scope("Secret", None)];
        for narrower in [
            declare(&[scope("Pod", None)], &[]),
            declare(&[scope("Pod", None), scope("Secret", Some("shop"))], &[]),
            declare(&[scope("Pod", None), scope("Secret", None)], &[1]),
        ] {
            let Some(Judgement::Refused { reason, .. }) = judged(MINUTE, &before, &narrower) else {
                panic!("it shows less")
            };
            assert_eq!(
                reason,
                "agent b shows less of the account than agent a did: Secret in (all namespaces)"
            );
        }
    }

    #[test]
    fn after_a_while_it_is_taken_and_that_is_said() {
        let before = [scope("Pod", None)];
        let judgement = judged(Duration::ZERO, &before, &declare(&[], &[]));
        assert!(matches!(judgement, Some(Judgement::Taken { .. })));
    }
}
