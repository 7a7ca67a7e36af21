//! Which accounts an agent holds: attached, renewed while the channel lives, given back.

use std::{sync::Arc, time::Duration};

use futures::FutureExt;
use spindrift_model::{AccountName, Epoch};
use spindrift_protocol::EventsDown;
use tracing::{debug, info, warn};

use super::{
    Attachment,
    attached::Hold,
    channel::{Done, Ended, EventsChannel, EventsOptions},
    coverage::Inheritance,
};
use crate::store::{AttachOutcome, AttachRequest, StoreError};

/// A standby asks again after about this long, in milliseconds; a holder that leaves is followed within it. Spread, so
/// that the accounts of an agent do not ask in step.
const STANDBY_RETRY: std::ops::Range<u64> = 1500..2500;

impl EventsChannel {
    pub(super) async fn attach(&mut self, account: AccountName) -> Result<(), Ended> {
        if let Some(answer) = self.succession.stand_by(&account) {
            return self.send(answer).await;
        }
        if !self.attaching.insert(account.clone()) {
            debug!(%account, "an attach is on its way already");
            return Ok(());
        }
        let EventsOptions { context, session, info, .. } = &self.options;
        let request = AttachRequest {
            tenant: info.tenant.clone(),
            account: account.clone(),
            agent: info.agent.clone(),
            session: session.clone(),
            hub: context.config.hub.clone(),
            lease: context.config.lease,
        };
        let context = Arc::clone(context);
        let attach = async move {
            let outcome = context.store.attach(&request).await;
            if let Ok(AttachOutcome::Attached { .. }) = &outcome {
                context.rules.learn(&account).await;
            }
            Done::Attached(account, outcome)
        };
        self.work.push(attach.boxed());
        Ok(())
    }

    pub(super) async fn attached(
        &mut self,
        account: AccountName,
        outcome: Result<AttachOutcome, StoreError>,
    ) -> Result<(), Ended> {
        let wanted = self.attaching.remove(&account);
        let EventsOptions { context, info, .. } = &self.options;
        let not_attached = |reason| EventsDown::NotAttached {
            account: account.clone(),
            reason,
            retry_after: Duration::from_millis(fastrand::u64(STANDBY_RETRY)),
        };
        let answer = match outcome {
            Ok(AttachOutcome::Attached { attachment, predecessor }) => {
                info!(%account, agent = %info.agent, epoch = %attachment.cursor.epoch, seq = %attachment.cursor.seq,
                    resumable = attachment.resume_points.len(), "account attached");
                if !wanted {
                    self.give_back(account, attachment.cursor.epoch);
                    return Ok(());
                }
                let folding =
                    Attachment::new(info.tenant.clone(), account.clone(), &attachment, context.config.lease);
                let hold = Hold::new(folding, &context.config.budget, &context.metrics);
                let credit_bytes = hold.credit();
                self.holds.insert(account.clone(), hold);
                let inheritance =
                    predecessor.map(|before| Inheritance::left_by(before, &context.config.kinds));
                self.succession.attached(&account, inheritance);
                EventsDown::Attached { account, attachment, credit_bytes }
            }
            Ok(AttachOutcome::SessionClosed) => {
                return Err("a newer session of this agent has replaced this one".into());
            }
            Ok(AttachOutcome::NotAccepted) => {
                warn!(%account, agent = %info.agent, "attach refused: the agent was not accepted for this account");
                not_attached("the agent was not accepted for this account; announce it first".into())
            }
            Ok(AttachOutcome::Busy { agent, .. }) => {
                not_attached(format!("agent {agent} caches this account"))
            }
            Err(error) => {
                warn!(%account, %error, "attach failed");
                not_attached("the hub's store did not answer".into())
            }
        };
        self.send(answer).await
    }

    /// Extends the leases; while the store is slow, one renewal at a time.
    pub(super) fn renew(&mut self) {
        let held: Vec<_> = self.holds.iter().map(|(account, hold)| (account.clone(), hold.epoch())).collect();
        if held.is_empty() || self.renewing {
            return;
        }
        self.renewing = true;
        let (context, tenant) = (Arc::clone(&self.options.context), self.options.info.tenant.clone());
        let renewal =
            async move { Done::Renewed(context.store.renew(&tenant, &held, context.config.lease).await) };
        self.work.push(renewal.boxed());
    }

    pub(super) async fn renewed(
        &mut self,
        outcome: Result<Vec<(AccountName, Epoch)>, StoreError>,
    ) -> Result<(), Ended> {
        self.renewing = false;
        match outcome {
            Ok(lost) => {
                for (account, epoch) in lost {
                    // It may be attached anew since it was asked for.
                    if self.holds.get(&account).is_some_and(|hold| hold.epoch() == epoch) {
                        self.detach(account, "another attachment has taken over the account".into()).await?;
                    }
                }
            }
            Err(error) => warn!(%error, "leases were not renewed"),
        }
        Ok(())
    }

    /// Ends an attachment and tells the agent, which will attach again.
    pub(super) async fn detach(&mut self, account: AccountName, reason: String) -> Result<(), Ended> {
        let Some(epoch) = self.release(&account) else { return Ok(()) };
        self.send(EventsDown::Detached { account, epoch, reason }).await
    }

    /// Forgets an attachment and gives its lease back, if it is still ours.
    pub(super) fn release(&mut self, account: &AccountName) -> Option<Epoch> {
        let epoch = self.holds.remove(account)?.epoch();
        self.give_back(account.clone(), epoch);
        Some(epoch)
    }

    pub(super) fn give_back(&mut self, account: AccountName, epoch: Epoch) {
        let (context, tenant) = (Arc::clone(&self.options.context), self.options.info.tenant.clone());
        let release = async move {
            if let Err(error) = context.store.release(&tenant, &account, epoch).await {
                debug!(%account, %error, "a lease was not given back; it will run out");
            }
            Done::Nothing
        };
        self.work.push(release.boxed());
    }
}
