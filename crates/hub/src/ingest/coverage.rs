//! Coverage check of a takeover: an agent that reads less of an account than the previous one stands by at first.
//!
//! Permissions and configuration of agents differ. When another agent takes over an account, its first declaration is
//! compared with the scopes that the previous agent was able to read. If scopes would be lost, the agent stands by for a
//! while, so that one that reads all of them can attach; agent and hub both report it. After that the agent is accepted,
//! which the hub reports too.

use std::{collections::HashMap, time::Duration};

use spindrift_model::{
    AccountName, AgentId, Batch, CacheKinds, Declaration, Item, Resource, Scope, ScopeDeclaration,
};
use spindrift_protocol::EventsDown;
use tokio::time::Instant;

use crate::store::{PreviousAgent, ScopeRow, StoredScope};

/// Duration after which an agent that stands by tries to attach again.
const RETRY: Duration = Duration::from_secs(5);

/// Number of lost scopes that a reason names; the others are counted.
const NAMED: usize = 3;

/// Coverage of the accounts on one Events channel.
#[derive(Debug)]
pub(super) struct CoverageCheck {
    agent: AgentId,
    grace: Duration,
    /// Scopes that previous agents read of accounts that were just attached; removed with the first declaration.
    previous: HashMap<AccountName, PreviousScopes>,
    /// Accounts of which this agent reads less, since when, and the reason.
    narrower: HashMap<AccountName, (Instant, String)>,
}

/// Scopes that another agent was able to read of an account.
#[derive(Debug)]
pub(super) struct PreviousScopes {
    agent: AgentId,
    scopes: Vec<Scope>,
}

/// Consequence of a first declaration that covers less.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The agent stands by, so that another one can attach.
    Refused { reason: String, previous: AgentId },
    /// No other agent has attached within the grace period.
    Accepted { reason: String },
}

// === impl CoverageCheck ===

impl CoverageCheck {
    pub(super) fn new(agent: AgentId, grace: Duration) -> Self {
        Self { agent, grace, previous: HashMap::new(), narrower: HashMap::new() }
    }

    /// Returns the answer to an agent that reads less and has to stand by; none if it may attach.
    pub(super) fn stand_by(&self, account: &AccountName) -> Option<EventsDown> {
        let (since, reason) = self.narrower.get(account)?;
        let (account, reason) = (account.clone(), reason.clone());
        (since.elapsed() < self.grace).then_some(EventsDown::NotAttached {
            account,
            reason,
            retry_after: RETRY,
        })
    }

    /// Stores the scopes that the first declaration of an account is compared with.
    pub(super) fn attached(&mut self, account: &AccountName, previous: Option<PreviousScopes>) {
        match previous {
            Some(previous) => self.previous.insert(account.clone(), previous),
            None => self.previous.remove(account),
        };
    }

    /// Compares the first declaration of an attachment with the previous scopes; returns none if no scope is lost.
    pub(super) fn check(&mut self, batch: &Batch) -> Option<Verdict> {
        let Batch { account, items, .. } = batch;
        let declaration = items.iter().find_map(|item| match item {
            Item::Declare(declaration) => Some(declaration),
            _ => None,
        })?;
        let PreviousScopes { agent: previous, scopes } = self.previous.remove(account)?;
        let lost: Vec<_> = scopes.iter().filter(|scope| !covers(declaration, scope)).collect();
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
            "agent {} shows less of the account than agent {previous} did: {}{more}",
            self.agent,
            named.join(", ")
        );
        let (since, _) = self.narrower.entry(account.clone()).or_insert((Instant::now(), reason.clone()));
        if since.elapsed() >= self.grace {
            self.narrower.remove(account);
            return Some(Verdict::Accepted { reason });
        }
        Some(Verdict::Refused { reason, previous })
    }
}

// === impl PreviousScopes ===

impl PreviousScopes {
    /// Takes the scopes that the previous agent was able to read and that are still to be cached.
    pub(super) fn new(previous: PreviousAgent, kinds: &CacheKinds) -> Self {
        let PreviousAgent { agent, scopes } = previous;
        let readable =
            |stored: &StoredScope| stored.denied.is_none() && kinds.wants(&resource(&stored.row), &[""; 0]);
        let scopes = scopes.into_iter().filter(readable).map(|stored| stored.row.scope).collect();
        Self { agent, scopes }
    }
}

/// Whether a declaration still covers a scope. A scope whose API group cannot be discovered counts as covered.
fn covers(declaration: &Declaration, scope: &Scope) -> bool {
    let Declaration { scopes, undiscovered_groups, denied } = declaration;
    let contains = |declared: &Scope| {
        declared.group == scope.group
            && declared.kind == scope.kind
            && (declared.namespace.is_none() || declared.namespace == scope.namespace)
    };
    let readable = scopes.iter().filter(|declared| !denied.iter().any(|denied| denied.id == declared.id));
    undiscovered_groups.contains(&scope.group)
        || readable.map(ScopeDeclaration::scope).any(|declared| contains(&declared))
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

    fn checked(grace: Duration, before: &[Scope], batch: &Batch) -> Option<Verdict> {
        let agent = |name: &str| AgentId::parse(name).unwrap();
        let mut coverage = CoverageCheck::new(agent("b"), grace);
        let previous = PreviousScopes { agent: agent("a"), scopes: before.to_vec() };
        coverage.attached(&batch.account, Some(previous));
        let verdict = coverage.check(batch);
        let refused = matches!(verdict, Some(Verdict::Refused { .. }));
        assert_eq!(coverage.stand_by(&batch.account).is_some(), refused);
        assert_eq!(coverage.check(batch), None, "only the first declaration is compared");
        verdict
    }

    const MINUTE: Duration = Duration::from_mins(1);

    #[test]
    fn an_agent_that_reads_as_much_or_more_is_accepted() {
        let (all, one) = (scope("Pod", None), scope("Pod", Some("shop")));
        let away = Scope { group: "away.example.com".into(), ..all.clone() };
        let before = [one.clone(), away];
        assert_eq!(checked(MINUTE, &before, &declare(&[one, scope("Node", None)], &[])), None);
        assert_eq!(checked(MINUTE, &before, &declare(&[all], &[])), None);
    }

    #[test]
    fn an_agent_that_reads_less_is_refused_with_the_lost_scopes() {
        let before = [scope("Pod", None), scope("Secret", None)];
        for declaration in [
            declare(&[scope("Pod", None)], &[]),
            declare(&[scope("Pod", None), scope("Secret", Some("shop"))], &[]),
            declare(&[scope("Pod", None), scope("Secret", None)], &[1]),
        ] {
            let Some(Verdict::Refused { reason, .. }) = checked(MINUTE, &before, &declaration) else {
                panic!("it reads less")
            };
            assert_eq!(
                reason,
                "agent b shows less of the account than agent a did: Secret in (all namespaces)"
            );
        }
    }

    #[test]
    fn an_agent_that_reads_less_is_accepted_after_the_grace_period() {
        let before = [scope("Pod", None)];
        let verdict = checked(Duration::ZERO, &before, &declare(&[], &[]));
        assert!(matches!(verdict, Some(Verdict::Accepted { .. })));
    }
}
