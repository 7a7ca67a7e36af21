//! Properties that must hold in every state, and those that must be possible in some.

use stateright::{Expectation, Property};

use crate::agent::Agent;
use crate::api::{Key, Scope};
use crate::attachment::Attachment;
use crate::model::CursorModel;
use crate::world::World;

/// Only the newest attachment writes.
pub(crate) const STALE: &str = "no event of a stale epoch is ever written";

/// Of one (epoch, seq), however many copies there are, one is written.
pub(crate) const COPY: &str = "no batch is ever written twice";

/// The strongest one: a scope with a resume point has exactly the rows that the API server had at that version. So
/// nothing is missing, nothing is left over, and nothing is newer or older than it may be.
pub(crate) const MIRROR: &str = "rows are the API server's state at the resume point";

/// Every write is of a state of the API server that is at least as new as all earlier writes.
pub(crate) const BACK: &str = "no scope goes back to an older state";

/// When quiet, every row has a living object.
pub(crate) const DELETED: &str = "nothing deleted stays";

/// When quiet, every living object has its row, in its newest version.
pub(crate) const LIVING: &str = "nothing living is lost";

/// When quiet, scopes that are not served have no rows.
pub(crate) const UNDECLARED: &str = "nothing undeclared stays";

/// From every state, an attachment that is left alone brings the truth: no state is a dead end.
pub(crate) const HEALS: &str = "one undisturbed attachment heals every state";

/// The model is not vacuous: it becomes quiet after faults, too.
pub(crate) const CONVERGES: &str = "converges after a fault";

/// Likewise after a list that a fault made necessary, or a first one that a fault disturbed.
pub(crate) const RELISTS: &str = "converges after a fault and a list";

pub(crate) fn all() -> Vec<Property<CursorModel>> {
    vec![
        Property::always(STALE, |_, world: &World| !world.past.stale_written),
        Property::always(COPY, |_, world: &World| !world.past.copy_written),
        Property::always(MIRROR, |_, world: &World| world.rows_match_resume_points()),
        Property::always(BACK, |_, world: &World| !world.past.went_back),
        Property::always(DELETED, |_, world: &World| {
            world.quiet().is_none() || world.nothing_deleted_stays()
        }),
        Property::always(LIVING, |_, world: &World| {
            world.quiet().is_none() || world.nothing_living_is_lost()
        }),
        Property::always(UNDECLARED, |_, world: &World| {
            world.quiet().is_none() || world.nothing_undeclared_stays()
        }),
        Property::always(HEALS, |model: &CursorModel, world: &World| world.heals(model)),
        Property::sometimes(CONVERGES, |_, world: &World| world.past.faults > 0 && world.quiet().is_some()),
        Property::sometimes(RELISTS, |_, world: &World| {
            world.past.faults > 0 && world.quiet().is_some_and(|attachment| attachment.generations > 0)
        }),
    ]
}

/// Number of the properties that are invariants.
pub(crate) fn invariants() -> usize {
    all().iter().filter(|property| property.expectation == Expectation::Always).count()
}

// === impl World ===

impl World {
    fn rows_match_resume_points(&self) -> bool {
        Scope::ALL.into_iter().all(|scope| {
            let Some(rv) = self.store.resume[scope] else {
                return true;
            };
            self.store.rows.agree(&self.api.objects_at(rv), scope)
        })
    }

    /// Newest attachment, if no message is on the way and it has sent everything.
    fn quiet(&self) -> Option<&Attachment> {
        if !self.in_flight.is_empty() {
            return None;
        }
        self.agents.iter().find_map(|agent| match agent {
            Agent::Attached(attachment) => {
                Some(attachment).filter(|it| it.channel == self.past.attaches && it.is_idle(&self.api))
            }
            Agent::Detached | Agent::Attaching { .. } => None,
        })
    }

    fn nothing_deleted_stays(&self) -> bool {
        let living = self.api.objects_at(self.api.newest());
        Key::ALL.into_iter().all(|key| {
            let Some(row) = self.store.rows[key] else {
                return true;
            };
            living[key].is_some_and(|object| object.uid == row.uid)
        })
    }

    fn nothing_living_is_lost(&self) -> bool {
        let truth = self.api.truth();
        Key::ALL.into_iter().all(|key| truth[key].is_none() || truth[key] == self.store.rows[key])
    }

    fn nothing_undeclared_stays(&self) -> bool {
        Key::ALL.into_iter().all(|key| self.api.served[key.scope()] || self.store.rows[key].is_none())
    }

    /// An attach makes batches in flight stale, so it is enough to try the states without any.
    fn heals(&self, model: &CursorModel) -> bool {
        if !self.in_flight.is_empty() {
            return true;
        }
        let mut world = self.clone();
        world.attach(0, 0, None, model.mutation);
        world.agents[0].answered();
        while let Some(read) = world.agents[0].first_read(&world.api, model.mutation) {
            world.read(0, read, model.mutation);
            let Some(batch) = world.in_flight.first().cloned() else {
                return false;
            };
            world.deliver(&batch, model.mutation);
        }
        world.quiet().is_some() && world.store.rows == world.api.truth()
    }
}
