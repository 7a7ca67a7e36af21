//! Which agent is asked: for mutations the one that caches the account, for reads whichever is near.

use std::sync::Arc;

use spindrift_model::HubId;
use spindrift_process::report;
use tokio::time::{Instant, sleep, sleep_until};
use tracing::warn;

use super::{Driver, End, Next, POLL, Stage, Task};
use crate::{
    dispatch::{Shared, links::Link, refusal::Refusal},
    store::{Candidate, Route},
};

/// Where an agent was found.
enum Found {
    Here(Arc<Link>),
    There(HubId),
    /// There is none that can be asked.
    Nobody(Refusal),
    /// None may be asked any more.
    Forbidden(Refusal),
}

// === impl Driver ===

impl Driver {
    /// Looks for an agent, again when one comes or some time has passed, and gives up in the end.
    pub(super) async fn seek(&mut self) -> Next {
        let config = &self.shared.config;
        let give_up = Instant::now() + config.backoff * config.retries.saturating_sub(1);
        let mut tick_rx = self.shared.links.subscribe();
        loop {
            tick_rx.mark_unchanged();
            let refusal = match self.find().await {
                Found::Here(link) => return Ok(Stage::Sending(link)),
                Found::There(hub) => return self.hand_over(&hub).await,
                Found::Nobody(refusal) => refusal,
                Found::Forbidden(refusal) => return Err(End::ours(refusal)),
            };
            let now = Instant::now();
            if now >= give_up {
                return Err(End::ours(refusal));
            }
            tokio::select! {
                biased;
                () = self.entry.cancel.cancelled() => return Err(End::cancelled()),
                () = sleep_until(self.deadline) => return Err(End::expired()),
                _ = tick_rx.changed() => {}
                () = sleep_until((now + config.backoff).min(give_up)) => {}
            }
        }
    }

    async fn find(&self) -> Found {
        let (shared, task) = (&self.shared, &self.task);
        let route = match shared.route(&task.account, task.verb).await {
            Ok(Some(route)) => route,
            Ok(None) => return Found::Nobody(Refusal::no_account(&task.account)),
            Err(error) => {
                warn!(operation = %task.id, error = %report(&error), "no agent could be looked for");
                return Found::Nobody(Refusal::store());
            }
        };
        if let Some(freeze) = route.frozen.as_ref().filter(|_| task.mutation) {
            return Found::Forbidden(Refusal::frozen(&task.account, &freeze.reason));
        }
        if let Some(link) = shared.choose_here(task, &route) {
            return Found::Here(link);
        }
        let present = || route.candidates.iter().filter(|candidate| shared.is_present(candidate));
        let capable = || present().filter(|candidate| candidate.can(task.verb));
        let caching =
            capable().find(|candidate| task.mutation && Some(&candidate.agent) == route.holder.as_ref());
        match caching.or_else(|| capable().next()) {
            Some(candidate) => Found::There(candidate.hub.clone()),
            None if present().next().is_none() => Found::Nobody(nobody(task, &route)),
            None => {
                let message = format!("no agent of account {} knows the verb {}", task.account, task.verb);
                Found::Nobody(Refusal::new(501, "NotImplemented", message))
            }
        }
    }

    /// The agent's channel ends at another hub, which carries it on from here.
    async fn hand_over(&mut self, to: &HubId) -> Next {
        let (shared, task) = (&self.shared, &self.task);
        if !shared.vault.is_lasting() {
            let message = format!(
                "the agent of account {} is connected to hub {to}; hubs pass operations to each other if they have the same kubesvc.operations.encryption.key",
                task.account
            );
            return Err(End::ours(Refusal::new(503, "ServiceUnavailable", message)));
        }
        let config = &shared.config;
        match shared.store.hand_over(&config.tenant, task.id, &config.hub, to).await {
            Ok(_) => Ok(Stage::Following),
            // Perhaps it was, and the other hub has begun: the row tells.
            Err(error) => {
                warn!(operation = %task.id, error = %report(&error), "an operation was not handed over");
                sleep(POLL).await;
                Ok(Stage::Following)
            }
        }
    }
}

fn nobody(task: &Task, route: &Route) -> Refusal {
    let last = route.holder.as_ref().map(|agent| format!("; agent {agent} was the last")).unwrap_or_default();
    let message = format!("no agent that serves account {} is connected{last}", task.account);
    Refusal::new(503, "ServiceUnavailable", message)
}

// === impl Shared ===

impl Shared {
    /// An agent whose channel ends here, if it is the one to ask.
    pub(in crate::dispatch) fn choose_here(&self, task: &Task, route: &Route) -> Option<Arc<Link>> {
        let present = route.candidates.iter().filter(|candidate| self.is_present(candidate));
        let capable = present.filter(|candidate| candidate.can(task.verb));
        let link = |candidate: &Candidate| self.links.of_session(&candidate.session);
        if !task.mutation {
            let near: Vec<_> = capable.filter_map(link).collect();
            return fastrand::choice(near);
        }
        let capable: Vec<_> = capable.collect();
        let caching = capable.iter().find(|candidate| Some(&candidate.agent) == route.holder.as_ref());
        // Where nobody caches, the one that has been there for longest would.
        caching.or(capable.first()).and_then(|candidate| link(candidate))
    }

    /// A session that should end here and does not is one of this hub's earlier life, or has just ended.
    fn is_present(&self, candidate: &Candidate) -> bool {
        candidate.hub != self.config.hub || self.links.of_session(&candidate.session).is_some()
    }
}

// === impl Candidate ===

impl Candidate {
    fn can(&self, verb: &str) -> bool {
        self.verbs.iter().any(|known| known == verb)
    }
}
