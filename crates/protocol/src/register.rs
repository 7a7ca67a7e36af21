//! `Register`: the agent's identity, and the hub's answer.

use std::{ops::RangeInclusive, time::Duration};

use spindrift_model::{
    AccountDescription, AccountName, AgentId, CacheKinds, ClusterIdentity, HubId, Incarnation, KindPattern,
    SessionId,
};

use crate::{
    ChannelToken, ChannelTokens, InvalidMessage,
    invalid::{name, text},
    v1,
};

/// An agent that names itself and its accounts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registration {
    /// The agent's name.
    pub agent: AgentId,
    /// This life of its process.
    pub incarnation: Incarnation,
    /// Its release, for people to read.
    pub version: String,
    /// Protocol versions that it supports.
    pub protocol: RangeInclusive<u32>,
    /// Where it runs, for choosing among agents.
    pub zone: String,
    /// The accounts it can serve now.
    pub accounts: Vec<AccountDescription>,
    /// Verbs that it implements.
    pub verbs: Vec<String>,
}

/// The hub's answer: a session, and how to behave in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Welcome {
    /// The session that the channels are opened in.
    pub session: SessionId,
    /// Protocol version of the session.
    pub protocol: u32,
    /// The hub that answered; another replica may serve the channels.
    pub hub: HubId,
    /// The hub's release, for people to read.
    pub hub_version: String,
    /// One token per channel.
    pub tokens: ChannelTokens,
    /// Kinds to cache.
    pub kinds: CacheKinds,
    /// Pacing.
    pub pacing: Pacing,
    /// One verdict per account.
    pub accounts: Vec<Verdict>,
    /// Set if the hub takes the list of accounts that the agent cannot serve.
    pub takes_unavailable: bool,
}

/// Pacing of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pacing {
    /// Interval of pings; three missed ones end the session on either side.
    pub heartbeat: Duration,
    /// Size at which a batch is sent.
    pub batch_bytes: u32,
}

/// Acceptance or refusal of an account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// The account.
    pub account: AccountName,
    /// Why it is not accepted, if so.
    pub refused: Option<String>,
    /// Set if only objects that Spinnaker deployed are wanted.
    pub only_managed: bool,
}

/// A duration as the wire's milliseconds; longer than any of ours saturates.
pub(crate) fn millis<N: TryFrom<u128> + num::Max>(duration: Duration) -> N {
    duration.as_millis().try_into().unwrap_or(N::MAX)
}

mod num {
    /// The largest value, for saturation.
    pub(crate) trait Max {
        const MAX: Self;
    }
    impl Max for u32 {
        const MAX: Self = u32::MAX;
    }
    impl Max for u64 {
        const MAX: Self = u64::MAX;
    }
}

// === Registration ⇄ wire ===

impl TryFrom<v1::RegisterRequest> for Registration {
    type Error = InvalidMessage;
    fn try_from(wire: v1::RegisterRequest) -> Result<Self, InvalidMessage> {
        let v1::RegisterRequest {
            agent_id,
            incarnation,
            version,
            protocol_min,
            protocol_max,
            zone,
            accounts,
            verbs,
        } = wire;
        if protocol_min == 0 || protocol_min > protocol_max {
            return Err(InvalidMessage::new("protocol_min", "expected 1 or more, and at most protocol_max"));
        }
        Ok(Self {
            agent: name("agent_id", &agent_id)?,
            incarnation: name("incarnation", &incarnation)?,
            version,
            protocol: protocol_min..=protocol_max,
            zone,
            accounts: accounts
                .into_iter()
                .enumerate()
                .map(|(i, account)| description(account).map_err(|e| e.within(format_args!("accounts[{i}]"))))
                .collect::<Result<_, _>>()?,
            verbs,
        })
    }
}

impl From<Registration> for v1::RegisterRequest {
    fn from(registration: Registration) -> Self {
        let Registration { agent, incarnation, version, protocol, zone, accounts, verbs } = registration;
        Self {
            agent_id: agent.to_string(),
            incarnation: incarnation.to_string(),
            version,
            protocol_min: *protocol.start(),
            protocol_max: *protocol.end(),
            zone,
            accounts: accounts.into_iter().map(account).collect(),
            verbs,
        }
    }
}

pub(crate) fn description(wire: v1::Account) -> Result<AccountDescription, InvalidMessage> {
    let v1::Account {
        name: account,
        host,
        cluster_uid,
        ca_fingerprint,
        kubernetes_version,
        namespaces,
        properties,
        max_resumable_age_ms,
    } = wire;
    Ok(AccountDescription {
        name: name("name", &account)?,
        cluster: ClusterIdentity {
            uid: Some(cluster_uid).filter(|uid| !uid.is_empty()),
            ca_fingerprint: Some(ca_fingerprint).filter(|ca| !ca.is_empty()),
            host: text("host", host)?,
        },
        kubernetes_version,
        namespaces,
        properties,
        max_resumable_age: Duration::from_millis(max_resumable_age_ms),
    })
}

pub(crate) fn account(description: AccountDescription) -> v1::Account {
    let AccountDescription { name, cluster, kubernetes_version, namespaces, properties, max_resumable_age } =
        description;
    let ClusterIdentity { uid, ca_fingerprint, host } = cluster;
    v1::Account {
        name: name.to_string(),
        host,
        cluster_uid: uid.unwrap_or_default(),
        ca_fingerprint: ca_fingerprint.unwrap_or_default(),
        kubernetes_version,
        namespaces,
        properties,
        max_resumable_age_ms: millis(max_resumable_age),
    }
}

// === Welcome ⇄ wire ===

impl TryFrom<v1::RegisterResponse> for Welcome {
    type Error = InvalidMessage;
    fn try_from(wire: v1::RegisterResponse) -> Result<Self, InvalidMessage> {
        let v1::RegisterResponse {
            session,
            protocol,
            hub_id,
            hub_version,
            tokens,
            kinds,
            pacing,
            accounts,
            takes_unavailable,
        } = wire;
        let v1::ChannelTokens { control, events, results } =
            tokens.ok_or(InvalidMessage::missing("tokens"))?;
        let v1::CacheKinds { all, kinds, omit } = kinds.ok_or(InvalidMessage::missing("kinds"))?;
        let v1::Pacing { heartbeat_ms, batch_bytes } = pacing.ok_or(InvalidMessage::missing("pacing"))?;
        if heartbeat_ms == 0 {
            return Err(InvalidMessage::new("pacing.heartbeat_ms", "expected more than 0"));
        }
        let token = |field, bytes: &[u8]| {
            ChannelToken::try_from(bytes).map_err(|_| InvalidMessage::new(field, "expected 32 bytes"))
        };
        let patterns = |texts: Vec<String>| texts.iter().map(|text| KindPattern::parse(text)).collect();
        Ok(Self {
            session: name("session", &session)?,
            protocol,
            hub: name("hub_id", &hub_id)?,
            hub_version,
            tokens: ChannelTokens {
                control: token("tokens.control", &control)?,
                events: token("tokens.events", &events)?,
                results: token("tokens.results", &results)?,
            },
            kinds: CacheKinds { all, kinds: patterns(kinds), omit: patterns(omit) },
            pacing: Pacing { heartbeat: Duration::from_millis(heartbeat_ms.into()), batch_bytes },
            accounts: accounts.into_iter().map(Verdict::try_from).collect::<Result<_, _>>()?,
            takes_unavailable,
        })
    }
}

impl From<Welcome> for v1::RegisterResponse {
    fn from(welcome: Welcome) -> Self {
        let Welcome {
            session,
            protocol,
            hub,
            hub_version,
            tokens,
            kinds,
            pacing,
            accounts,
            takes_unavailable,
        } = welcome;
        let token = |token: &ChannelToken| token.as_bytes().to_vec().into();
        let texts = |patterns: Vec<KindPattern>| patterns.iter().map(ToString::to_string).collect();
        Self {
            session: session.to_string(),
            protocol,
            hub_id: hub.to_string(),
            hub_version,
            tokens: Some(v1::ChannelTokens {
                control: token(&tokens.control),
                events: token(&tokens.events),
                results: token(&tokens.results),
            }),
            kinds: Some(v1::CacheKinds {
                all: kinds.all,
                kinds: texts(kinds.kinds),
                omit: texts(kinds.omit),
            }),
            pacing: Some(v1::Pacing {
                heartbeat_ms: millis(pacing.heartbeat),
                batch_bytes: pacing.batch_bytes,
            }),
            accounts: accounts.into_iter().map(Into::into).collect(),
            takes_unavailable,
        }
    }
}

// === Verdict ⇄ wire ===

impl TryFrom<v1::AccountVerdict> for Verdict {
    type Error = InvalidMessage;
    fn try_from(wire: v1::AccountVerdict) -> Result<Self, InvalidMessage> {
        let v1::AccountVerdict { account, refused, only_spinnaker_managed } = wire;
        Ok(Self {
            account: name("verdict.account", &account)?,
            refused: Some(refused).filter(|reason| !reason.is_empty()),
            only_managed: only_spinnaker_managed,
        })
    }
}

impl From<Verdict> for v1::AccountVerdict {
    fn from(Verdict { account, refused, only_managed }: Verdict) -> Self {
        Self {
            account: account.to_string(),
            refused: refused.unwrap_or_default(),
            only_spinnaker_managed: only_managed,
        }
    }
}
