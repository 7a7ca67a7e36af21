//! Choice of the agent: for changes the one that caches the account, for reads any one at this hub.

use std::sync::Arc;

use spindrift_model::{ErrorKind, HubId, OperationError};
use spindrift_process::report;
use tokio::time::{Instant, sleep, sleep_until};
use tracing::warn;

use super::{Delivery, End, Next, OperationSummary, POLL, Stage};
use crate::{
    dispatch::{Shared, errors, links::Link},
    store::{Candidate, Route},
};

/// Agent that was found.
enum Found {
    Here(Arc<Link>),
    There(HubId),
    /// No agent can take it now.
    NoAgent(OperationError),
    /// No agent may get it any more.
    Forbidden(OperationError),
}

// === impl Delivery ===

impl Delivery {
    /// Looks for an agent; again when one connects or the backoff has passed, until the retries are used up.
    pub(super) async fn seek(&mut self) -> Next {
        let config = &self.shared.config;
        let give_up = Instant::now() + config.backoff * config.retries.saturating_sub(1);
        let mut tick_rx = self.shared.links.subscribe();
        loop {
            tick_rx.mark_unchanged();
            let error = match self.find().await {
                Found::Here(link) => return Ok(Stage::Sending(link)),
                Found::There(hub) => return self.hand_over(&hub).await,
                Found::NoAgent(error) => error,
                Found::Forbidden(error) => return Err(End::of(error)),
            };
            let now = Instant::now();
            if now >= give_up {
                return Err(End::of(error));
            }
            tokio::select! {
                biased;
                () = self.entry.cancel.cancelled() => return Err(End::of(OperationError::cancelled())),
                () = sleep_until(self.deadline) => return Err(End::of(OperationError::deadline_exceeded())),
                _ = tick_rx.changed() => {}
                () = sleep_until((now + config.backoff).min(give_up)) => {}
            }
        }
    }

    async fn find(&self) -> Found {
        let (shared, summary) = (&self.shared, &self.summary);
        let route = match shared.route(&summary.account, summary.verb).await {
            Ok(Some(route)) => route,
            Ok(None) => return Found::NoAgent(errors::no_account(&summary.account)),
            Err(error) => {
                warn!(operation = %summary.id, error = %report(&error), "the agents of an account could not be read");
                return Found::NoAgent(errors::not_sent());
            }
        };
        if let Some(freeze) = route.frozen.as_ref().filter(|_| summary.mutation) {
            return Found::Forbidden(errors::frozen(&summary.account, &freeze.reason));
        }
        if let Some(link) = shared.choose_here(summary, &route) {
            return Found::Here(link);
        }
        let present = || route.candidates.iter().filter(|candidate| shared.is_present(candidate));
        let capable = || present().filter(|candidate| candidate.can(summary.verb));
        let caching =
            capable().find(|candidate| summary.mutation && Some(&candidate.agent) == route.holder.as_ref());
        match caching.or_else(|| capable().next()) {
            Some(candidate) => Found::There(candidate.hub.clone()),
            None if present().next().is_none() => Found::NoAgent(no_agent(summary, &route)),
            None => {
                let message =
                    format!("no agent of account {} implements the verb {}", summary.account, summary.verb);
                Found::NoAgent(OperationError::hub(ErrorKind::NotImplemented, message))
            }
        }
    }

    /// The agent is connected to another hub, which delivers it from here on.
    async fn hand_over(&mut self, to: &HubId) -> Next {
        let (shared, summary) = (&self.shared, &self.summary);
        if !shared.vault.is_lasting() {
            let message = format!(
                "the agent of account {} is connected to hub {to}; hubs pass operations to each other if they have the same kubesvc.operations.encryption.key",
                summary.account
            );
            return Err(End::of(OperationError::hub(ErrorKind::Unavailable, message)));
        }
        let config = &shared.config;
        match shared.store.hand_over(&config.tenant, summary.id, &config.hub, to).await {
            Ok(_) => Ok(Stage::Following),
            // Perhaps it was, and the other hub has begun: the row shows it.
            Err(error) => {
                warn!(operation = %summary.id, error = %report(&error), "an operation was not handed over");
                sleep(POLL).await;
                Ok(Stage::Following)
            }
        }
    }
}

fn no_agent(summary: &OperationSummary, route: &Route) -> OperationError {
    let last = route.holder.as_ref().map(|agent| format!("; agent {agent} was the last")).unwrap_or_default();
    let message = format!("no agent that serves account {} is connected{last}", summary.account);
    OperationError::hub(ErrorKind::NoAgent, message)
}

// === impl Shared ===

impl Shared {
    /// Link of an agent at this hub, if it is the one to use.
    pub(in crate::dispatch) fn choose_here(
        &self,
        summary: &OperationSummary,
        route: &Route,
    ) -> Option<Arc<Link>> {
        let present = route.candidates.iter().filter(|candidate| self.is_present(candidate));
        let capable = present.filter(|candidate| candidate.can(summary.verb));
        let link = |candidate: &Candidate| self.links.of_session(&candidate.session);
        if !summary.mutation {
            let near: Vec<_> = capable.filter_map(link).collect();
            return fastrand::choice(near);
        }
        let capable: Vec<_> = capable.collect();
        let caching = capable.iter().find(|candidate| Some(&candidate.agent) == route.holder.as_ref());
        // If none caches the account, the one that is connected for longest.
        caching.or(capable.first()).and_then(|candidate| link(candidate))
    }

    /// Whether the candidate's session is alive: one of this hub without a link is from before its restart, or has just ended.
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
