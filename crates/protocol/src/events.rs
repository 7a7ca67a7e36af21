//! The Events channel: attach, batches up; resume points, fingerprints, acknowledgements and credit down.

use std::time::Duration;

use spindrift_model::{
    AccountName, Attachment, Batch, Cursor, Epoch, Fingerprint, Generation, ResumePoint, Salt, Scope,
    ScopeId, ScrubRevision, Seq,
};

use crate::{
    InvalidMessage,
    invalid::{name, text},
    items,
    register::millis,
    v1,
};

/// Message of an agent on Events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EventsUp {
    /// I want to cache this account.
    Attach(AccountName),
    /// The next items of an attached account.
    Batch(Batch),
    /// I stop caching this account.
    Detach(AccountName),
}

/// Message of a hub on Events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EventsDown {
    /// The account is yours from here.
    Attached {
        /// The account.
        account: AccountName,
        /// Where to go on.
        attachment: Attachment,
        /// Bytes of batches that may be unacknowledged; one larger batch may overdraw it.
        credit_bytes: u32,
    },
    /// The account is not yours now.
    NotAttached {
        /// The account.
        account: AccountName,
        /// Why, for people to read.
        reason: String,
        /// Ask again, but not sooner.
        retry_after: Duration,
    },
    /// The batch at this cursor is committed.
    Ack {
        /// The account.
        account: AccountName,
        /// The batch's cursor.
        cursor: Cursor,
        /// Objects of it that the store would not take.
        rejected: Vec<Rejected>,
        /// Bytes that may be unacknowledged from here on, if that changes.
        credit_bytes: Option<u32>,
    },
    /// The attachment is over; attach again to go on.
    Detached {
        /// The account.
        account: AccountName,
        /// The attachment.
        epoch: Epoch,
        /// Why, for people to read.
        reason: String,
    },
    /// Fingerprints of the objects that the hub has of a scope that is being listed.
    Fingerprints {
        /// The account.
        account: AccountName,
        /// The attachment.
        epoch: Epoch,
        /// Scope.
        known: Known,
    },
    /// The answer to a heartbeat.
    Heartbeat,
}

/// Fingerprints of the objects of a scope that need not be sent: all of them, or one part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known {
    /// The scope that is being listed.
    pub scope: ScopeId,
    /// The listing.
    pub generation: Generation,
    /// Salt of the fingerprints.
    pub salt: Salt,
    /// In no order.
    pub fingerprints: Vec<Fingerprint>,
    /// Set if no more follow.
    pub last: bool,
}

/// An object that the store would not take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejected {
    /// The object, for people to read.
    pub object: String,
    /// The store's words.
    pub reason: String,
}

// === impl EventsDown ===

impl EventsDown {
    /// The account that it is about, if it is about one.
    pub fn account(&self) -> Option<&AccountName> {
        match self {
            Self::Heartbeat => None,
            Self::Attached { account, .. }
            | Self::NotAttached { account, .. }
            | Self::Ack { account, .. }
            | Self::Detached { account, .. }
            | Self::Fingerprints { account, .. } => Some(account),
        }
    }
}

// === EventsUp ⇄ wire ===

impl TryFrom<v1::EventsMessage> for EventsUp {
    type Error = InvalidMessage;
    fn try_from(v1::EventsMessage { message }: v1::EventsMessage) -> Result<Self, InvalidMessage> {
        use v1::events_message::Message;
        match message.ok_or(InvalidMessage::missing("events.message"))? {
            Message::Attach(v1::Attach { account }) => Ok(Self::Attach(name("attach.account", &account)?)),
            Message::Detach(v1::Detach { account }) => Ok(Self::Detach(name("detach.account", &account)?)),
            Message::Batch(v1::Batch { account, epoch, seq, items }) => {
                let account: AccountName = name("batch.account", &account)?;
                // An empty batch would cost no credit.
                if items.is_empty() {
                    return Err(InvalidMessage::missing("batch.items").about(account));
                }
                let item = |(i, item)| {
                    let blame = |e: InvalidMessage| e.within(format_args!("batch.items[{i}]"));
                    items::item(item).map_err(|invalid| blame(invalid).about(account.clone()))
                };
                let items = items.into_iter().enumerate().map(item).collect::<Result<_, _>>()?;
                Ok(Self::Batch(Batch {
                    account,
                    cursor: Cursor { epoch: Epoch(epoch), seq: Seq(seq) },
                    items,
                }))
            }
        }
    }
}

impl From<EventsUp> for v1::EventsMessage {
    fn from(up: EventsUp) -> Self {
        use v1::events_message::Message;
        let message = match up {
            EventsUp::Attach(account) => Message::Attach(v1::Attach { account: account.to_string() }),
            EventsUp::Detach(account) => Message::Detach(v1::Detach { account: account.to_string() }),
            EventsUp::Batch(Batch { account, cursor: Cursor { epoch, seq }, items }) => {
                Message::Batch(v1::Batch {
                    account: account.to_string(),
                    epoch: epoch.0,
                    seq: seq.0,
                    items: items.into_iter().map(items::wire).collect(),
                })
            }
        };
        Self { message: Some(message) }
    }
}

// === EventsDown ⇄ wire ===

impl TryFrom<v1::EventsDown> for EventsDown {
    type Error = InvalidMessage;
    fn try_from(v1::EventsDown { message }: v1::EventsDown) -> Result<Self, InvalidMessage> {
        use v1::events_down::Message;
        match message.ok_or(InvalidMessage::missing("events.message"))? {
            Message::Attached(v1::Attached { account, epoch, seq, resume_points, credit_bytes }) => {
                Ok(Self::Attached {
                    account: name("attached.account", &account)?,
                    attachment: Attachment {
                        cursor: Cursor { epoch: Epoch(epoch), seq: Seq(seq) },
                        resume_points: resume_points
                            .into_iter()
                            .map(resume_point)
                            .collect::<Result<_, _>>()?,
                    },
                    credit_bytes,
                })
            }
            Message::NotAttached(v1::NotAttached { account, reason, retry_after_ms }) => {
                Ok(Self::NotAttached {
                    account: name("not_attached.account", &account)?,
                    reason,
                    retry_after: Duration::from_millis(retry_after_ms.into()),
                })
            }
            Message::Ack(v1::Ack { account, epoch, seq, rejected, credit_bytes }) => Ok(Self::Ack {
                account: name("ack.account", &account)?,
                cursor: Cursor { epoch: Epoch(epoch), seq: Seq(seq) },
                rejected: rejected
                    .into_iter()
                    .map(|v1::RejectedObject { object, reason }| Rejected { object, reason })
                    .collect(),
                credit_bytes: Some(credit_bytes).filter(|bytes| *bytes > 0),
            }),
            Message::Detached(v1::Detached { account, epoch, reason }) => Ok(Self::Detached {
                account: name("detached.account", &account)?,
                epoch: Epoch(epoch),
                reason,
            }),
            Message::Fingerprints(wire) => fingerprints(wire),
            Message::Heartbeat(v1::Nothing {}) => Ok(Self::Heartbeat),
        }
    }
}

impl From<EventsDown> for v1::EventsDown {
    fn from(down: EventsDown) -> Self {
        use v1::events_down::Message;
        let message = match down {
            EventsDown::Attached { account, attachment, credit_bytes } => Message::Attached(v1::Attached {
                account: account.to_string(),
                epoch: attachment.cursor.epoch.0,
                seq: attachment.cursor.seq.0,
                resume_points: attachment.resume_points.into_iter().map(wire_resume_point).collect(),
                credit_bytes,
            }),
            EventsDown::NotAttached { account, reason, retry_after } => {
                Message::NotAttached(v1::NotAttached {
                    account: account.to_string(),
                    reason,
                    retry_after_ms: millis(retry_after),
                })
            }
            EventsDown::Ack { account, cursor, rejected, credit_bytes } => Message::Ack(v1::Ack {
                account: account.to_string(),
                epoch: cursor.epoch.0,
                seq: cursor.seq.0,
                rejected: rejected
                    .into_iter()
                    .map(|Rejected { object, reason }| v1::RejectedObject { object, reason })
                    .collect(),
                credit_bytes: credit_bytes.unwrap_or_default(),
            }),
            EventsDown::Detached { account, epoch, reason } => {
                Message::Detached(v1::Detached { account: account.to_string(), epoch: epoch.0, reason })
            }
            EventsDown::Fingerprints { account, epoch, known } => {
                let Known { scope, generation, salt, fingerprints, last } = known;
                Message::Fingerprints(v1::Fingerprints {
                    account: account.to_string(),
                    epoch: epoch.0,
                    scope: scope.0,
                    generation: generation.0,
                    salt: salt.0,
                    fingerprints: fingerprints.into_iter().map(|Fingerprint(bits)| bits).collect(),
                    last,
                })
            }
            EventsDown::Heartbeat => Message::Heartbeat(v1::Nothing {}),
        };
        Self { message: Some(message) }
    }
}

fn fingerprints(wire: v1::Fingerprints) -> Result<EventsDown, InvalidMessage> {
    let v1::Fingerprints { account, epoch, scope, generation, salt, fingerprints, last } = wire;
    let known = Known {
        scope: ScopeId(scope),
        generation: Generation(generation),
        salt: Salt(salt),
        fingerprints: fingerprints.into_iter().map(Fingerprint).collect(),
        last,
    };
    Ok(EventsDown::Fingerprints {
        account: name("fingerprints.account", &account)?,
        epoch: Epoch(epoch),
        known,
    })
}

fn resume_point(wire: v1::ResumePoint) -> Result<ResumePoint, InvalidMessage> {
    let v1::ResumePoint { group, kind, namespace, api_version, scrub_revision, resource_version, age_ms } =
        wire;
    Ok(ResumePoint {
        scope: Scope {
            group: group.into(),
            kind: text("resume_point.kind", kind)?.into(),
            namespace: items::namespace(namespace),
        },
        api_version: api_version.into(),
        scrub_revision: ScrubRevision(scrub_revision),
        resource_version: text("resume_point.resource_version", resource_version)?.into(),
        age: Duration::from_millis(age_ms),
    })
}

fn wire_resume_point(point: ResumePoint) -> v1::ResumePoint {
    let ResumePoint { scope, api_version, scrub_revision, resource_version, age } = point;
    v1::ResumePoint {
        group: scope.group.to_string(),
        kind: scope.kind.to_string(),
        namespace: scope.namespace.as_deref().unwrap_or_default().to_owned(),
        api_version: api_version.to_string(),
        scrub_revision: scrub_revision.0,
        resource_version: resource_version.to_string(),
        age_ms: millis(age),
    }
}
