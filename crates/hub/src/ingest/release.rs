//! What follows when an agent shows less of an account than the one before it.

use std::sync::Arc;

use futures::FutureExt;
use spindrift_model::{AccountName, AgentId};
use spindrift_protocol::EventsDown;
use tracing::{debug, warn};

use super::channel::{Done, Ended, EventsChannel, EventsOptions};

impl EventsChannel {
    /// Ends an attachment that would show less than the one before, and lets others go first.
    pub(super) async fn refuse(
        &mut self,
        account: AccountName,
        reason: String,
        predecessor: AgentId,
    ) -> Result<(), Ended> {
        self.report(&account, reason.clone());
        let Some(hold) = self.holds.remove(&account) else { return Ok(()) };
        let epoch = hold.epoch();
        let (context, tenant) = (Arc::clone(&self.options.context), self.options.info.tenant.clone());
        let name = account.clone();
        let returned = async move {
            let back = context.store.give_back(&tenant, &name, epoch, &predecessor).await;
            if let Err(error) = back {
                debug!(account = %name, %error, "a lease was not given back; it will run out");
            }
            Done::Nothing
        };
        self.work.push(returned.boxed());
        self.send(EventsDown::Detached { account, epoch, reason }).await
    }

    /// Says it where operators look.
    pub(super) fn report(&mut self, account: &AccountName, problem: String) {
        let EventsOptions { context, info, .. } = &self.options;
        warn!(%account, agent = %info.agent, problem, "an agent shows less of an account");
        let (context, account) = (Arc::clone(context), account.clone());
        let (tenant, agent) = (info.tenant.clone(), info.agent.clone());
        let report = async move {
            if let Err(error) = context.store.report_problem(&tenant, &account, &agent, &problem).await {
                debug!(%account, %error, "a problem was not stored");
            }
            Done::Nothing
        };
        self.work.push(report.boxed());
    }
}
