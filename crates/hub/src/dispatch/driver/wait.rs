//! Waits for the agent's word, through all that can come between.

use std::{future::pending, sync::Arc, time::Duration};

use tokio::time::{Instant, MissedTickBehavior, interval, interval_at, sleep_until};
use tracing::debug;

use super::{Driver, End, GRACE, Next, POLL, Stage};
use crate::{
    dispatch::{
        answer::{self, Pumped, Unreadable},
        links::Link,
    },
    store::{OperationRow, OperationState},
};

/// How often the store is asked where an agent went that was lost: it mostly comes back here.
const LOOK: Duration = Duration::from_secs(1);

// === impl Driver ===

impl Driver {
    /// Waits until the agent has said how it ended. If its link breaks, a read is asked of another; for a mutation, the
    /// same incarnation has to come back.
    pub(super) async fn wait(&mut self, mut link: Option<Arc<Link>>) -> Next {
        let mut tick_rx = self.shared.links.subscribe();
        let mut look = interval_at(Instant::now() + LOOK, LOOK);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut told = false;
        let unheard = self.events_tx.clone();
        loop {
            if link.is_none() {
                if !self.task.mutation {
                    return self.ask_another().await;
                }
                if let Some(next) = self.look_for_the_same() {
                    return next;
                }
            }
            let abandoned = !self.task.mutation && !self.entry.is_kept();
            tokio::select! {
                biased;
                arrival = self.arrivals_rx.recv() => {
                    if let Some(arrival) = arrival && let Some(end) = self.take(arrival).await {
                        return Err(end);
                    }
                }
                () = self.entry.cancel.cancelled(), if !told => {
                    told = true;
                    if let Some(next) = self.call_off(link.as_deref()).await {
                        return next;
                    }
                }
                () = unheard.closed(), if abandoned => {
                    // Its caller may have left it to itself, and not left it.
                    if !self.entry.is_kept()
                        && let Some(next) = self.call_off(link.as_deref()).await
                    {
                        return next;
                    }
                }
                () = gone(link.as_deref()) => link = None,
                _ = tick_rx.changed(), if link.is_none() => {}
                _ = look.tick(), if link.is_none() => {
                    if let Some(next) = self.look_elsewhere().await {
                        return next;
                    }
                }
                () = sleep_until(self.deadline + GRACE) => return Err(self.overdue()),
            }
        }
    }

    /// A read whose agent is gone is asked of another, unless its reader has a part of it.
    async fn ask_another(&mut self) -> Next {
        if self.answer.passed {
            return Err(End::broken("the agent was lost in the middle of its answer"));
        }
        if self.answer.stored > 0 {
            self.shared.store.forget_parts(&self.shared.config.tenant, self.task.id).await.ok();
        }
        self.answer = answer::Answer::default();
        Ok(Stage::Seeking)
    }

    /// Whether the incarnation that was asked is back, or can never come back.
    fn look_for_the_same(&self) -> Option<Next> {
        let asked = self.sent.as_ref()?;
        let link = self.shared.links.of_agent(&asked.agent)?;
        if link.seat() == asked {
            // It answers with what it did, or does it now: it knows which.
            return Some(Ok(Stage::Sending(link)));
        }
        Some(Err(self.died()))
    }

    /// The same question to the store: the agent may be at another hub by now, or its word have come there.
    async fn look_elsewhere(&mut self) -> Option<Next> {
        let config = &self.shared.config;
        let row = self.shared.store.operation(&config.tenant, self.task.id).await.ok()??;
        let ended = row.ended_at.is_some() && row.state != OperationState::Unknown;
        if ended || row.driver != config.hub {
            return Some(Ok(Stage::Following));
        }
        let asked = self.sent.clone()?;
        let route = self.shared.route(&self.task.account, self.task.verb).await.ok()??;
        let seen = route.candidates.into_iter().rfind(|candidate| candidate.agent == asked.agent)?;
        if seen.incarnation != asked.incarnation {
            return Some(Err(self.died()));
        }
        // Without a common key the other hub could not ask again; but what the agent tells it, it writes down.
        if seen.hub == config.hub || !self.shared.vault.is_lasting() {
            return None;
        }
        let handed = self.shared.store.hand_over(&config.tenant, self.task.id, &config.hub, &seen.hub).await;
        handed.is_ok().then_some(Ok(Stage::Following))
    }

    async fn call_off(&mut self, link: Option<&Link>) -> Option<Next> {
        if let Some(link) = link {
            link.cancel(self.task.id).await;
        }
        // What changes something may be past calling off: the agent tells.
        (!self.task.mutation).then_some(Err(End::cancelled()))
    }

    fn died(&self) -> End {
        let agent = self.sent.as_ref().map_or("?", |seat| seat.agent.as_str());
        End::unknown(format!(
            "agent {agent} was restarted after the operation had been sent to it, and before it said what came of it"
        ))
    }

    /// The deadline has passed, and then some.
    pub(super) fn overdue(&self) -> End {
        match &self.sent {
            Some(seat) if self.task.mutation => End::unknown(format!(
                "it was sent to agent {}, which has not said before the deadline what came of it",
                seat.agent
            )),
            _ => End::expired(),
        }
    }

    /// Another hub carries it on: what it writes down is passed on here.
    pub(super) async fn follow(&mut self) -> Next {
        let config = self.shared.config.clone();
        let mut poll = interval(POLL);
        poll.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut told = false;
        let mut ended = false;
        loop {
            tokio::select! {
                biased;
                arrival = self.arrivals_rx.recv() => {
                    if let Some(arrival) = arrival && let Some(end) = self.take(arrival).await {
                        return Err(end);
                    }
                    continue;
                }
                () = self.entry.cancel.cancelled(), if !told => {
                    told = true;
                    if let Err(error) = self.shared.store.cancel_operation(&config.tenant, self.task.id).await {
                        debug!(%error, "a cancellation was not passed on");
                    }
                    continue;
                }
                // The hub that carries it on says first that it is overdue.
                () = sleep_until(self.deadline + 2 * GRACE), if !ended => return Err(self.overdue()),
                _ = poll.tick() => {}
            }
            let Ok(Some(row)) = self.shared.store.operation(&config.tenant, self.task.id).await else {
                continue;
            };
            self.sent = row.sent.as_ref().map(|(_, _, seat)| seat.clone());
            let pumped =
                answer::pump(&self.shared, &row, &self.entry, &mut self.answer, &self.events_tx).await;
            match (row.ending(), pumped) {
                (Some(ending), Ok(Pumped::All)) => return Err(End::elsewhere(ending, row.content)),
                (Some(ending), Err(Unreadable)) => return Err(End::forgotten(ending)),
                // It has ended there, and is still to be told.
                (Some(_), Ok(Pumped::TooFast | Pumped::NotNow)) => {
                    ended = true;
                    continue;
                }
                (None, _) => {}
            }
            if row.driver == config.hub {
                return Ok(self.resume(&row));
            }
        }
    }

    /// The hub that carried it on is gone, or gave it back.
    fn resume(&mut self, row: &OperationRow) -> Stage {
        self.delivered = row.state == OperationState::Sent;
        match row.state {
            OperationState::Sent => Stage::Waiting(None),
            _ => Stage::Seeking,
        }
    }
}

/// Ends with the link; never, if there is none.
async fn gone(link: Option<&Link>) {
    match link {
        Some(link) => link.gone().await,
        None => pending().await,
    }
}
