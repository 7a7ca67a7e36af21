//! The store and all that surrounds it: agents, hubs and the network between them.

use crate::agent::Agent;
use crate::api::{ApiServer, PerScope, Rv};
use crate::attachment::Read;
use crate::bounds::{Bounds, Start};
use crate::mutation::Mutation;
use crate::store::{Batch, Memory, Refused, Store};

/// One state of the model.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct World {
    pub(crate) api: ApiServer,
    pub(crate) store: Store,
    pub(crate) agents: [Agent; 2],
    /// State of the two hubs, oldest attachment first.
    sessions: Vec<Session>,
    /// Sent and not yet decided upon, in the network or in a hub that is slow, or frozen.
    pub(crate) in_flight: Vec<Batch>,
    pub(crate) past: Past,
}

/// One attachment in the memory of a hub.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Session {
    channel: u8,
    hub: u8,
    memory: Memory,
}

/// Counters for the bounds and the invariants; the protocol does not see them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Past {
    /// Each attach opens a channel, so this is also the newest channel.
    pub(crate) attaches: u8,
    pub(crate) faults: u8,
    /// Something was written by another attachment than the newest.
    pub(crate) stale_written: bool,
    /// A batch was written that had been written before.
    pub(crate) copy_written: bool,
    /// A scope got an older state of the API server than it had before.
    pub(crate) went_back: bool,
    told: PerScope<Rv>,
}

// === impl World ===

impl World {
    pub(crate) fn new(bounds: &Bounds) -> Self {
        let api = ApiServer::new(bounds.scopes);
        let mut store = Store::default();
        let mut past = Past::default();
        if bounds.start == Start::Synced {
            store.rows = api.truth();
            store.resume = PerScope(api.served.0.map(|served| served.then_some(api.newest())));
            past.told = PerScope([api.newest(); 2]);
        }
        let agents = [Agent::Detached, Agent::Detached];
        Self { api, store, agents, sessions: Vec::new(), in_flight: Vec::new(), past }
    }

    pub(crate) fn attach(&mut self, agent: usize, hub: u8, late: Option<Batch>, mutation: Mutation) {
        self.past.attaches += 1;
        let channel = self.past.attaches;
        let mut answer = self.store.attach(mutation);
        if let (Mutation::ResumeFromSent, Agent::Attached(attachment)) = (mutation, &self.agents[agent]) {
            answer.resume = attachment.sent();
        }
        self.agents[agent] = Agent::Attaching { channel, answer };
        self.sessions.push(Session { channel, hub, memory: Memory::default() });
        self.in_flight = late.into_iter().collect();
    }

    /// Of all stale batches, one at a time is in flight.
    pub(crate) fn has_room_for(&self, channel: u8) -> bool {
        let newest = self.past.attaches;
        channel == newest || self.in_flight.iter().all(|batch| batch.channel == newest)
    }

    pub(crate) fn read(&mut self, agent: usize, read: Read, mutation: Mutation) {
        let Agent::Attached(attachment) = &mut self.agents[agent] else {
            return;
        };
        self.in_flight.extend(attachment.read(read, &self.api, mutation));
    }

    /// Whether the batch is the oldest in its stream.
    pub(crate) fn is_first(&self, batch: &Batch) -> bool {
        let mut stream = self.in_flight.iter().filter(|other| other.channel == batch.channel);
        stream.all(|other| other.cursor.seq >= batch.cursor.seq)
    }

    pub(crate) fn lose(&mut self, batch: &Batch) {
        if let Some(index) = self.in_flight.iter().position(|other| other == batch) {
            self.in_flight.swap_remove(index);
        }
    }

    pub(crate) fn deliver(&mut self, batch: &Batch, mutation: Mutation) {
        self.lose(batch);
        match self.commit(batch, mutation) {
            Ok(()) => self.acknowledge(batch.channel),
            Err(Refused) => self.detach(batch.channel),
        }
    }

    pub(crate) fn duplicate(&mut self, batch: &Batch, mutation: Mutation) {
        let before = self.store.cursor;
        self.deliver(batch, mutation);
        let written = batch.written || self.store.cursor != before;
        self.in_flight.push(Batch { written, ..batch.clone() });
    }

    fn commit(&mut self, batch: &Batch, mutation: Mutation) -> Result<(), Refused> {
        let session =
            self.sessions.iter_mut().find(|session| session.channel == batch.channel).ok_or(Refused)?;
        self.store.commit(batch, &mut session.memory, mutation)?;
        self.past.witness(batch);
        Ok(())
    }

    fn acknowledge(&mut self, channel: u8) {
        for agent in &mut self.agents {
            if let Agent::Attached(attachment) = agent
                && attachment.channel == channel
            {
                attachment.unacknowledged = attachment.unacknowledged.saturating_sub(1);
            }
        }
    }

    /// The agent of this channel must attach again. Its batches in flight may still arrive.
    fn detach(&mut self, channel: u8) {
        for agent in &mut self.agents {
            if agent.channel() == Some(channel) {
                *agent = Agent::Detached;
            }
        }
    }

    /// Its memory and its streams are gone, and with them what was in flight. A transaction that the database
    /// finishes for a dead hub is a delivery right before the death.
    pub(crate) fn hub_dies(&mut self, hub: u8, mutation: Mutation) {
        if mutation == Mutation::AttachmentOutlivesHub {
            for session in self.sessions.iter_mut().filter(|session| session.hub == hub) {
                session.memory.forget_mentioned();
            }
            return;
        }
        let dead: Vec<Session> = self.sessions.extract_if(.., |session| session.hub == hub).collect();
        for Session { channel, .. } in dead {
            self.in_flight.retain(|batch| batch.channel != channel);
            self.detach(channel);
        }
    }

    /// Gives worlds that differ in names only one shape: agents and hubs are alike, the network has no order, of a
    /// seq only the distance to others counts, and an attachment that nobody can use is none.
    pub(crate) fn canonicalise(&mut self) {
        let Self { agents, sessions, in_flight, store, past, .. } = self;
        for agent in agents.iter_mut() {
            if agent.is_stuck(past.attaches) {
                *agent = Agent::Detached;
            }
        }
        agents.sort();
        in_flight.sort();
        sessions.retain(|session| {
            agents.iter().any(|agent| agent.channel() == Some(session.channel))
                || in_flight.iter().any(|batch| batch.channel == session.channel)
        });
        if let Some(&Session { hub: first, .. }) = sessions.first() {
            for session in sessions.iter_mut() {
                session.hub ^= first;
            }
        }
        let mut seqs = vec![&mut store.cursor.seq];
        seqs.extend(in_flight.iter_mut().map(|batch| &mut batch.cursor.seq));
        seqs.extend(agents.iter_mut().filter_map(Agent::seq_mut));
        let lowest = seqs.iter().map(|seq| **seq).min().unwrap_or_default();
        for seq in seqs {
            *seq -= lowest;
        }
    }
}

// === impl Past ===

impl Past {
    /// Takes note of a batch that was written.
    fn witness(&mut self, batch: &Batch) {
        self.stale_written |= batch.channel != self.attaches;
        self.copy_written |= batch.written;
        if let Some(scope) = batch.item.tells_of() {
            self.went_back |= batch.as_of < self.told[scope];
            self.told[scope] = self.told[scope].max(batch.as_of);
        }
    }
}
