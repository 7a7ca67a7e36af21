//! `Register`: an agent names itself and its accounts.

use std::collections::HashSet;

use aws_lc_rs::rand;
use spindrift_model::{AccountDescription, AgentId, SessionId};
use spindrift_protocol::{
    ChannelToken, ChannelTokens, Pacing, Registration, SUPPORTED, Verdict, Welcome, negotiate,
};
use tonic::Status;
use tracing::{debug, info, warn};

use super::{AccountLimits, Context, SessionConfig, gate::unavailable};
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
        let verdicts = self.announce(&agent, None, accounts).await.map_err(|error| unavailable(&error))?;

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
        self.sessions.supersede(&agent, incarnation);
        self.metrics.registrations.inc();
        self.warn_if_contested(&agent).await;
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

    /// Logs that two processes take turns with the name of an agent.
    async fn warn_if_contested(&self, agent: &AgentId) {
        match self.store.contested_agents(&self.config.tenant).await {
            Ok(contested) if contested.contains(agent) => {
                warn!(%agent, "two processes register under this name in turns; agents need different names, which HOSTNAME sets");
            }
            Ok(_) => {}
            Err(error) => debug!(%agent, %error, "earlier sessions were not read"),
        }
    }

    /// Records accounts of a session, or of one that is about to begin. A name that belongs to another cluster is refused,
    /// visibly on both sides, and so are accounts beyond the limits.
    pub(super) async fn announce(
        &self,
        agent: &AgentId,
        session: Option<&SessionId>,
        accounts: Vec<AccountDescription>,
    ) -> Result<Vec<Verdict>, StoreError> {
        let SessionConfig { tenant, account_limits: AccountLimits { per_agent, per_hub }, .. } = &self.config;
        let mut accepted = match session {
            Some(session) => self.store.accepted_accounts(tenant, session).await?,
            None => HashSet::new(),
        };
        let mut known = self.store.account_names(tenant).await?;
        let mut verdicts = Vec::with_capacity(accounts.len());
        for description in accounts {
            let name = description.name.clone();
            let refused = if accepted.len() >= *per_agent && !accepted.contains(&name) {
                Some(format!(
                    "agent {agent} serves {per_agent} accounts already (kubesvc.accounts.limits.perAgent)"
                ))
            } else if known.len() >= *per_hub && !known.contains(&name) {
                Some(format!("the hub has {per_hub} accounts already (kubesvc.accounts.limits.perHub)"))
            } else {
                match self.store.announce(tenant, agent, &description).await? {
                    AnnounceOutcome::Accepted => {
                        known.insert(name.clone());
                        accepted.insert(name.clone());
                        None
                    }
                    AnnounceOutcome::Refused { bound_to } => Some(format!(
                        "account {name} belongs to cluster {bound_to}, not to {}; rename one of them, or remove the old account",
                        description.cluster
                    )),
                }
            };
            if let Some(reason) = &refused {
                warn!(%agent, account = %name, reason, "account refused");
            }
            let announced: Option<bool> =
                Properties::parse(&description.properties).take("onlySpinnakerManaged");
            let only_managed = self.config.runtime.only_managed(name.as_str(), announced);
            verdicts.push(Verdict { account: name, refused, only_managed });
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
