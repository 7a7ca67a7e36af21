//! `Register`: an agent names itself and its accounts.

use aws_lc_rs::rand;
use spindrift_model::{AccountDescription, AgentId, SessionId};
use spindrift_protocol::{
    ChannelToken, ChannelTokens, Pacing, Registration, SUPPORTED, Verdict, Welcome, negotiate,
};
use tonic::Status;
use tracing::{info, warn};

use super::{Context, gate::unavailable};
use crate::account_limits::Properties;
use crate::store::{AnnounceOutcome, NewSession, StoreError, TokenHash};

impl Context {
    /// Accepts an agent, or returns the reason of its refusal.
    pub(super) async fn register(&self, registration: Registration) -> Result<Welcome, Status> {
        let Registration { agent, incarnation, version, protocol, zone, accounts, verbs } = registration;
        let protocol = negotiate((&version, protocol), (crate::VERSION, SUPPORTED)).map_err(|mismatch| {
            warn!(%agent, %mismatch, "registration refused");
            Status::failed_precondition(mismatch.to_string())
        })?;
        let verdicts = self.announce(&agent, accounts).await.map_err(|error| unavailable(&error))?;

        let tokens =
            ChannelTokens { control: fresh_token()?, events: fresh_token()?, results: fresh_token()? };
        let session = SessionId::fresh();
        let accepted = verdicts.iter().filter(|verdict| verdict.refused.is_none());
        let hash = |token: &ChannelToken| TokenHash::of(token.as_bytes());
        self.store
            .open_session(&NewSession {
                tenant: self.config.tenant.clone(),
                id: session.clone(),
                agent: agent.clone(),
                incarnation,
                hub: self.config.hub.clone(),
                version: version.clone(),
                zone,
                verbs,
                token_hashes: [hash(&tokens.control), hash(&tokens.events), hash(&tokens.results)],
                token_ttl: self.config.token_ttl,
                accounts: accepted.map(|verdict| verdict.account.clone()).collect(),
            })
            .await
            .map_err(|error| unavailable(&error))?;
        self.sessions.supersede(&agent);
        self.metrics.registrations.inc();
        let refused = verdicts.iter().filter(|verdict| verdict.refused.is_some()).count();
        info!(%agent, %session, version, accounts = verdicts.len(), refused, "agent registered");

        Ok(Welcome {
            session,
            protocol,
            hub: self.config.hub.clone(),
            hub_version: crate::VERSION.into(),
            tokens,
            kinds: self.config.kinds.clone(),
            pacing: Pacing { heartbeat: self.config.heartbeat, batch_bytes: self.config.batch_bytes },
            accounts: verdicts,
            takes_unavailable: true,
        })
    }

    /// Records accounts; a name that belongs to another cluster is refused, visibly on both sides.
    pub(super) async fn announce(
        &self,
        agent: &AgentId,
        accounts: Vec<AccountDescription>,
    ) -> Result<Vec<Verdict>, StoreError> {
        let mut verdicts = Vec::with_capacity(accounts.len());
        for description in accounts {
            let refused = match self.store.announce(&self.config.tenant, agent, &description).await? {
                AnnounceOutcome::Accepted => None,
                AnnounceOutcome::Refused { bound_to } => {
                    let reason = format!(
                        "account {} belongs to cluster {bound_to}, not to {}; rename one of them, or remove the old account",
                        description.name, description.cluster
                    );
                    warn!(%agent, account = %description.name, reason, "account refused");
                    Some(reason)
                }
            };
            let announced: Option<bool> =
                Properties::parse(&description.properties).take("onlySpinnakerManaged");
            let only_managed = self.config.runtime.only_managed(description.name.as_str(), announced);
            verdicts.push(Verdict { account: description.name, refused, only_managed });
        }
        self.rules.announced().await;
        Ok(verdicts)
    }
}

fn fresh_token() -> Result<ChannelToken, Status> {
    let mut bits = [0; 32];
    rand::fill(&mut bits).map_err(|_| Status::internal("the hub has no random numbers"))?;
    Ok(ChannelToken::new(bits))
}
