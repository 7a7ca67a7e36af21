//! Waits for the agent's result, through lost links and other hubs.

use std::{future::pending, sync::Arc, time::Duration};

use spindrift_model::OperationError;
use tokio::time::{Instant, MissedTickBehavior, interval, interval_at, sleep_until};
use tracing::debug;

use super::{Delivery, End, GRACE, Next, POLL, Stage};
use crate::{
    dispatch::{
        answer::{self, Pumped, Unreadable},
        links::Link,
    },
    store::{OperationRow, OperationState},
};

/// Interval at which the store is read for an agent whose link was lost: mostly it comes back here.
const LOOK: Duration = Duration::from_secs(1);

// === impl Delivery ===

impl Delivery {
    /// Waits until the agent reports the end. If its link breaks, a read is sent to another agent; for a change, the same
    /// incarnation has to come back.
    pub(super) async fn wait(&mut self, mut link: Option<Arc<Link>>) -> Next {
        let mut tick_rx = self.shared.links.subscribe();
        let mut look = interval_at(Instant::now() + LOOK, LOOK);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut is_cancelled = false;
        let caller = self.events_tx.clone();
        loop {
            if link.is_none() {
                if !self.summary.mutation {
                    return self.send_to_another().await;
                }
                if let Some(next) = self.find_incarnation() {
                    return next;
                }
            }
            let abandoned = !self.summary.mutation && !self.entry.is_kept();
            tokio::select! {
                biased;
                arrival = self.arrivals_rx.recv() => {
                    if let Some(arrival) = arrival && let Some(end) = self.take(arrival).await {
                        return Err(end);
                    }
                }
                () = self.entry.cancel.cancelled(), if !is_cancelled => {
                    is_cancelled = true;
                    if let Some(next) = self.cancel(link.as_deref()).await {
                        return next;
                    }
                }
                () = caller.closed(), if abandoned => {
                    // The caller may have detached from it instead of dropping it.
                    if !self.entry.is_kept()
                        && let Some(next) = self.cancel(link.as_deref()).await
                    {
                        return next;
                    }
                }
                () = gone(link.as_deref()) => link = None,
                _ = tick_rx.changed(), if link.is_none() => {}
                _ = look.tick(), if link.is_none() => {
                    if let Some(next) = self.find_elsewhere().await {
                        return next;
                    }
                }
                () = sleep_until(self.deadline + GRACE) => return Err(self.overdue()),
            }
        }
    }

    /// Sends a read whose agent is gone to another one, unless its reader has a part of the answer.
    async fn send_to_another(&mut self) -> Next {
        if self.answer.passed {
            return Err(End::broken("the agent was lost in the middle of its answer"));
        }
        if self.answer.stored > 0 {
            self.shared.store.forget_parts(&self.shared.config.tenant, self.summary.id).await.ok();
        }
        self.answer = answer::Answer::default();
        Ok(Stage::Seeking)
    }

    /// Looks for the incarnation that has the operation among the links of this hub: back, or replaced by a newer one.
    fn find_incarnation(&self) -> Option<Next> {
        let asked = self.sent.as_ref()?;
        let link = self.shared.links.of_agent(&asked.agent)?;
        if link.seat() == asked {
            // It answers with its result, or executes it now.
            return Some(Ok(Stage::Sending(link)));
        }
        Some(Err(self.restarted()))
    }

    /// Looks in the store: the agent may be connected to another hub by now, or have reported the end there.
    async fn find_elsewhere(&mut self) -> Option<Next> {
        let config = &self.shared.config;
        let row = self.shared.store.operation(&config.tenant, self.summary.id).await.ok()??;
        let ended = row.ended_at.is_some() && row.state != OperationState::Unknown;
        if ended || row.driver != config.hub {
            return Some(Ok(Stage::Following));
        }
        let asked = self.sent.clone()?;
        let route = self.shared.route(&self.summary.account, self.summary.verb).await.ok()??;
        let seen = route.candidates.into_iter().rfind(|candidate| candidate.agent == asked.agent)?;
        if seen.incarnation != asked.incarnation {
            return Some(Err(self.restarted()));
        }
        // Without a common key the other hub could not send it again; but it records the end that the agent reports.
        if seen.hub == config.hub || !self.shared.vault.is_lasting() {
            return None;
        }
        let handed =
            self.shared.store.hand_over(&config.tenant, self.summary.id, &config.hub, &seen.hub).await;
        handed.is_ok().then_some(Ok(Stage::Following))
    }

    async fn cancel(&mut self, link: Option<&Link>) -> Option<Next> {
        if let Some(link) = link {
            link.cancel(self.summary.id).await;
        }
        // A change may be past cancelling: the agent reports its end.
        (!self.summary.mutation).then_some(Err(End::of(OperationError::cancelled())))
    }

    fn restarted(&self) -> End {
        let agent = self.sent.as_ref().map_or("?", |seat| seat.agent.as_str());
        End::of(OperationError::unknown(format!(
            "agent {agent} was restarted after the operation had been sent to it, and before it reported the outcome"
        )))
    }

    /// End after the deadline and the grace time.
    pub(super) fn overdue(&self) -> End {
        match &self.sent {
            Some(seat) if self.summary.mutation => End::of(OperationError::unknown(format!(
                "it was sent to agent {}, which has not reported the outcome before the deadline",
                seat.agent
            ))),
            _ => End::of(OperationError::deadline_exceeded()),
        }
    }

    /// Another hub delivers it: passes on the answer that it stores.
    pub(super) async fn follow(&mut self) -> Next {
        let config = self.shared.config.clone();
        let mut poll = interval(POLL);
        poll.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut is_cancelled = false;
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
                () = self.entry.cancel.cancelled(), if !is_cancelled => {
                    is_cancelled = true;
                    if let Err(error) = self.shared.store.cancel_operation(&config.tenant, self.summary.id).await {
                        debug!(%error, "a cancellation was not stored");
                    }
                    continue;
                }
                // The hub that delivers it ends it first.
                () = sleep_until(self.deadline + 2 * GRACE), if !ended => return Err(self.overdue()),
                _ = poll.tick() => {}
            }
            let Ok(Some(row)) = self.shared.store.operation(&config.tenant, self.summary.id).await else {
                continue;
            };
            self.sent = row.sent.as_ref().map(|(_, _, seat)| seat.clone());
            let pumped =
                answer::pump(&self.shared, &row, &self.entry, &mut self.answer, &self.events_tx).await;
            match (row.ending(), pumped) {
                (Some(ending), Ok(Pumped::All)) => return Err(End::recorded(ending, row.content)),
                (Some(ending), Err(Unreadable)) => return Err(End::without_answer(ending)),
                // It has ended there, and the rest of its answer is still to be passed on.
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

    /// The hub that delivered it is gone, or gave it back.
    fn resume(&mut self, row: &OperationRow) -> Stage {
        self.delivered = row.state == OperationState::Sent;
        match row.state {
            OperationState::Sent => Stage::Waiting(None),
            _ => Stage::Seeking,
        }
    }
}

/// Returns when the link is gone; never, if there is none.
async fn gone(link: Option<&Link>) {
    match link {
        Some(link) => link.gone().await,
        None => pending().await,
    }
}
