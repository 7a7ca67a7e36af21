//! Everything that can happen next, anywhere.

use stateright::{Model, Property};

use crate::agent::Agent;
use crate::api::{Key, Scope};
use crate::attachment::Read;
use crate::bounds::{Bounds, Fault};
use crate::mutation::Mutation;
use crate::properties;
use crate::store::Batch;
use crate::world::World;

/// The protocol, the rule that it lacks, and how far it is explored.
#[derive(Clone, Debug)]
pub(crate) struct CursorModel {
    pub(crate) mutation: Mutation,
    pub(crate) bounds: Bounds,
}

/// One step of anyone. Agents and hubs are alike and carry no names: `agent` and `hub` are places in the world, which
/// a step may change.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Action {
    /// A hub commits an attach, and of all older batches only `late` is not lost. An attach whose answer never
    /// comes is also a late copy of a request, and a clean-up.
    Attach {
        agent: usize,
        hub: u8,
        late: Option<Batch>,
    },
    Answer {
        agent: usize,
    },
    Read {
        agent: usize,
        read: Read,
    },
    Deliver(Batch),
    ApiWrite(Key),
    ApiRemove(Key),
    /// The vanished scope is there again.
    Return,
    HubDies {
        hub: u8,
    },
    AgentDies {
        agent: usize,
    },
    Lose(Batch),
    /// Delivers the batch, while another copy of it lives on.
    Duplicate(Batch),
    /// Delivers the batch before one that was sent earlier.
    Reorder(Batch),
    Compact,
    Vanish,
}

// === impl CursorModel ===

impl CursorModel {
    fn agent_actions(&self, world: &World, actions: &mut Vec<Action>) {
        for (agent, state) in world.agents.iter().enumerate() {
            if world.past.attaches < self.bounds.attaches {
                let late = world.in_flight.iter().cloned().map(Some).chain([None]);
                actions.extend(late.clone().map(|late| Action::Attach { agent, hub: 0, late }));
                actions.extend(late.map(|late| Action::Attach { agent, hub: 1, late }));
            }
            match state {
                Agent::Attaching { .. } => actions.push(Action::Answer { agent }),
                Agent::Attached(attachment) if world.has_room_for(attachment.channel) => {
                    let reads = attachment.reads(&world.api, self.mutation);
                    actions.extend(reads.into_iter().map(|read| Action::Read { agent, read }));
                }
                Agent::Attached(_) | Agent::Detached => {}
            }
        }
    }

    fn api_actions(&self, world: &World, actions: &mut Vec<Action>) {
        if world.api.changes() < self.bounds.api_changes {
            // The second pod comes, and the first one also goes.
            actions.extend([Key::PodA, Key::PodB].map(Action::ApiWrite));
            actions.push(Action::ApiRemove(Key::PodA));
        }
        if self.bounds.scopes[Scope::Widgets] && !world.api.served[Scope::Widgets] {
            actions.push(Action::Return);
        }
    }

    fn faults(&self, world: &World, actions: &mut Vec<Action>) {
        let batches = || world.in_flight.iter().cloned();
        for fault in Fault::ALL.iter().filter(|&&fault| self.bounds.allow(fault)) {
            match fault {
                Fault::HubDeath => actions.extend([0, 1].map(|hub| Action::HubDies { hub })),
                Fault::AgentDeath => actions.extend([0, 1].map(|agent| Action::AgentDies { agent })),
                Fault::Loss => actions.extend(batches().map(Action::Lose)),
                Fault::Duplication => actions.extend(batches().map(Action::Duplicate)),
                Fault::Reordering => {
                    actions.extend(batches().filter(|batch| !world.is_first(batch)).map(Action::Reorder));
                }
                Fault::Compaction => actions.push(Action::Compact),
                Fault::Vanishing => actions.push(Action::Vanish),
            }
        }
    }
}

impl Model for CursorModel {
    type State = World;
    type Action = Action;

    fn init_states(&self) -> Vec<World> {
        vec![World::new(&self.bounds)]
    }

    fn actions(&self, world: &World, actions: &mut Vec<Action>) {
        self.agent_actions(world, actions);
        actions.extend(
            world.in_flight.iter().filter(|batch| world.is_first(batch)).cloned().map(Action::Deliver),
        );
        self.api_actions(world, actions);
        if world.past.faults < self.bounds.faults {
            self.faults(world, actions);
        }
    }

    fn next_state(&self, before: &World, action: Action) -> Option<World> {
        let mut world = before.clone();
        let fault = action.is_fault();
        match action {
            Action::Attach { agent, hub, late } => world.attach(agent, hub, late, self.mutation),
            Action::Answer { agent } => world.agents[agent].answered(),
            Action::Read { agent, read } => world.read(agent, read, self.mutation),
            Action::Deliver(batch) | Action::Reorder(batch) => world.deliver(&batch, self.mutation),
            Action::ApiWrite(key) => world.api.write(key),
            Action::ApiRemove(key) => world.api.remove(key),
            Action::Return => world.api.served[Scope::Widgets] = true,
            Action::HubDies { hub } => world.hub_dies(hub, self.mutation),
            Action::AgentDies { agent } => world.agents[agent] = Agent::Detached,
            Action::Lose(batch) => world.lose(&batch),
            Action::Duplicate(batch) => world.duplicate(&batch, self.mutation),
            Action::Compact => world.api.compact(),
            Action::Vanish => world.api.served[Scope::Widgets] = false,
        }
        world.canonicalise();
        if world == *before {
            return None;
        }
        world.past.faults += u8::from(fault);
        Some(world)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        properties::all()
    }
}

// === impl Action ===

impl Action {
    fn is_fault(&self) -> bool {
        use Action::{AgentDies, Compact, Duplicate, HubDies, Lose, Reorder, Vanish};
        matches!(
            self,
            HubDies { .. } | AgentDies { .. } | Lose(_) | Duplicate(_) | Reorder(_) | Compact | Vanish
        )
    }
}
