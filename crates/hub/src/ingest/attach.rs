//! Attachments of an Events channel: attached, renewed while the channel runs, released.

use std::{sync::Arc, time::Duration};

use futures::FutureExt;
use spindrift_model::{AccountName, AgentId, Epoch};
use spindrift_process::report;
use spindrift_protocol::EventsDown;
use tracing::{debug, info, warn};

use super::{
    AccountFold,
    attached::AttachedAccount,
    channel::{EndReason, EventsChannel, EventsOptions, EventsWorkDone},
    coverage::PreviousScopes,
};
use crate::store::{AttachOutcome, AttachRequest, StoreError};

/// Milliseconds after which a standby tries to attach again, and so the delay of a takeover. Random within the range, so
/// that the accounts of an agent do not retry in step.
const STANDBY_RETRY: std::ops::Range<u64> = 1500..2500;

impl EventsChannel {
    pub(super) async fn attach(&mut self, account: AccountName) -> Result<(), EndReason> {
        if let Some(answer) = self.coverage.stand_by(&account) {
            return self.send(answer).await;
        }
        if !self.attaching.insert(account.clone()) {
            debug!(%account, "an attach is in progress already");
            return Ok(());
        }
        let EventsOptions { ingest, session, info, .. } = &self.options;
        let request = AttachRequest {
            tenant: info.tenant.clone(),
            account: account.clone(),
            agent: info.agent.clone(),
            session: session.clone(),
            hub: ingest.config.hub.clone(),
            lease: ingest.config.lease,
        };
        let ingest = Arc::clone(ingest);
        let attach = async move {
            let outcome = ingest.store.attach(&request).await;
            if let Ok(AttachOutcome::Attached { .. }) = &outcome {
                ingest.rules.attached(&account).await;
            }
            EventsWorkDone::Attached(account, outcome)
        };
        self.work.push(attach.boxed());
        Ok(())
    }

    pub(super) async fn finish_attach(
        &mut self,
        account: AccountName,
        outcome: Result<AttachOutcome, StoreError>,
    ) -> Result<(), EndReason> {
        let wanted = self.attaching.remove(&account);
        let EventsOptions { ingest, info, .. } = &self.options;
        let not_attached = |reason| EventsDown::NotAttached {
            account: account.clone(),
            reason,
            retry_after: Duration::from_millis(fastrand::u64(STANDBY_RETRY)),
        };
        let answer = match outcome {
            Ok(AttachOutcome::Attached { attachment, previous }) => {
                info!(%account, agent = %info.agent, epoch = %attachment.cursor.epoch, seq = %attachment.cursor.seq,
                    resumable = attachment.resume_points.len(), "account attached");
                if !wanted {
                    self.release_lease(account, attachment.cursor.epoch);
                    return Ok(());
                }
                let fold =
                    AccountFold::new(info.tenant.clone(), account.clone(), &attachment, ingest.config.lease);
                let attached = AttachedAccount::new(fold, &ingest.config.budget, &ingest.metrics);
                let credit_bytes = attached.credit();
                self.attached.insert(account.clone(), attached);
                let previous = previous.map(|previous| PreviousScopes::new(previous, &ingest.config.kinds));
                self.coverage.attached(&account, previous);
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
                warn!(%account, error = report(&error), "attach failed");
                not_attached("the hub's store did not answer".into())
            }
        };
        self.send(answer).await
    }

    /// Extends the leases; while the store is slow, one renewal at a time.
    pub(super) fn renew(&mut self) {
        let leases: Vec<_> =
            self.attached.iter().map(|(account, attached)| (account.clone(), attached.epoch())).collect();
        if leases.is_empty() || self.renewing {
            return;
        }
        self.renewing = true;
        let (ingest, tenant) = (Arc::clone(&self.options.ingest), self.options.info.tenant.clone());
        let renewal = async move {
            EventsWorkDone::Renewed(ingest.store.renew(&tenant, &leases, ingest.config.lease).await)
        };
        self.work.push(renewal.boxed());
    }

    pub(super) async fn finish_renewal(
        &mut self,
        outcome: Result<Vec<(AccountName, Epoch)>, StoreError>,
    ) -> Result<(), EndReason> {
        self.renewing = false;
        match outcome {
            Ok(lost) => {
                for (account, epoch) in lost {
                    // It may have been attached again since the renewal began.
                    if self.attached.get(&account).is_some_and(|attached| attached.epoch() == epoch) {
                        self.detach(account, "another attachment has taken over the account".into()).await?;
                    }
                }
            }
            Err(error) => warn!(error = report(&error), "leases were not renewed"),
        }
        Ok(())
    }

    /// Ends an attachment and notifies the agent, which attaches again.
    pub(super) async fn detach(&mut self, account: AccountName, reason: String) -> Result<(), EndReason> {
        let Some(epoch) = self.remove(&account) else { return Ok(()) };
        self.send(EventsDown::Detached { account, epoch, reason }).await
    }

    /// Ends an attachment of an agent that reads less than the previous one, and hands the lease back to the latter.
    pub(super) async fn refuse_coverage(
        &mut self,
        account: AccountName,
        reason: String,
        previous: AgentId,
    ) -> Result<(), EndReason> {
        self.report_problem(&account, reason.clone());
        let Some(attached) = self.attached.remove(&account) else { return Ok(()) };
        let epoch = attached.epoch();
        let (ingest, tenant) = (Arc::clone(&self.options.ingest), self.options.info.tenant.clone());
        let name = account.clone();
        let returned = async move {
            if let Err(error) = ingest.store.give_back(&tenant, &name, epoch, &previous).await {
                debug!(account = %name, error = report(&error), "a lease was not released; it will expire");
            }
            EventsWorkDone::Nothing
        };
        self.work.push(returned.boxed());
        self.send(EventsDown::Detached { account, epoch, reason }).await
    }

    /// Logs and stores a problem of an account, for operators.
    pub(super) fn report_problem(&mut self, account: &AccountName, problem: String) {
        let EventsOptions { ingest, info, .. } = &self.options;
        warn!(%account, agent = %info.agent, problem, "an agent shows less of an account");
        let (ingest, account) = (Arc::clone(ingest), account.clone());
        let (tenant, agent) = (info.tenant.clone(), info.agent.clone());
        let report = async move {
            if let Err(error) = ingest.store.report_problem(&tenant, &account, &agent, &problem).await {
                debug!(%account, error = report(&error), "a problem was not stored");
            }
            EventsWorkDone::Nothing
        };
        self.work.push(report.boxed());
    }

    /// Removes an attachment and releases its lease, if this agent still has it.
    pub(super) fn remove(&mut self, account: &AccountName) -> Option<Epoch> {
        let epoch = self.attached.remove(account)?.epoch();
        self.release_lease(account.clone(), epoch);
        Some(epoch)
    }

    pub(super) fn release_lease(&mut self, account: AccountName, epoch: Epoch) {
        let (ingest, tenant) = (Arc::clone(&self.options.ingest), self.options.info.tenant.clone());
        let release = async move {
            if let Err(error) = ingest.store.release(&tenant, &account, epoch).await {
                debug!(%account, error = report(&error), "a lease was not released; it will expire");
            }
            EventsWorkDone::Nothing
        };
        self.work.push(release.boxed());
    }
}
