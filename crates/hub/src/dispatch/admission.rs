//! How much may be under way at once, and in which order.
//!
//! Mutations of one object leave this hub in the order in which they came; the agent keeps that order. Different objects
//! do not wait for each other.
//!
//! Of what an agent can do at once, each pace has a share: a glance waits for glances only. Within it, the queues of verbs
//! and namespaces take turns: whoever scales one thing waits for one of a thousand deploys, not for all of them.

use std::{collections::HashMap, sync::Arc};

use parking_lot::Mutex;
use spindrift_model::{AccountName, Pace};
use spindrift_process::turnstile::{Pass, Turnstile};
use tokio_util::sync::CancellationToken;

/// How much may be under way at once.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// Operations of one account that have not ended.
    pub per_account: usize,
    /// Operations of this hub that have not ended.
    pub per_hub: usize,
    /// Bytes of all their requests.
    pub bytes: usize,
}

/// Operations that an agent works on for one account at once, by their pace; others wait here, where they can still be
/// called off. Each may have a mebibyte of its answer in this hub's memory, and an agent always has its hands full with
/// them. Those that follow something are not counted.
const GLANCES: usize = 64;
const HAULS: usize = 32;
const CHANGES: usize = 96;
const WAITS: usize = 64;

/// Turns that are kept though they have passed.
const PASSED_TURNS: usize = 1024;

#[derive(Debug)]
pub(super) struct Admission {
    bounds: Bounds,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    open: usize,
    bytes: usize,
    accounts: HashMap<AccountName, Queue>,
}

#[derive(Debug)]
struct Queue {
    open: usize,
    rooms: Rooms,
    /// The last mutation of each object; cancelled when it has been sent.
    turns: HashMap<String, CancellationToken>,
}

/// What an agent works on for one account.
#[derive(Debug)]
struct Rooms {
    glances: Turnstile,
    hauls: Turnstile,
    changes: Turnstile,
    waits: Turnstile,
}

/// Who asks to be admitted.
#[derive(Debug, Clone)]
pub(super) struct Applicant<'a> {
    pub(super) account: &'a AccountName,
    /// The object that it changes.
    pub(super) changes: Option<&'a str>,
    pub(super) pace: Pace,
    /// With whom it waits in line.
    pub(super) queue: String,
    pub(super) bytes: usize,
}

/// An operation that was admitted; it counts until this is dropped.
#[derive(Debug)]
pub(super) struct Admitted {
    admission: Arc<Admission>,
    account: AccountName,
    bytes: usize,
    /// The mutation of the same object that came before.
    before: Option<CancellationToken>,
    turn: CancellationToken,
    /// None: it needs no place.
    room: Option<Turnstile>,
    queue: String,
    place: Option<Pass>,
}

// === impl Admission ===

impl Admission {
    pub(super) fn new(bounds: Bounds) -> Arc<Self> {
        Arc::new(Self { bounds, state: Mutex::default() })
    }

    /// Admits an operation, or says which bound is reached.
    pub(super) fn admit(self: &Arc<Self>, applicant: Applicant<'_>) -> Result<Admitted, String> {
        let Applicant { account, changes, pace, queue: line, bytes } = applicant;
        let Bounds { per_account, per_hub, bytes: most_bytes } = self.bounds;
        let mut state = self.state.lock();
        if state.open >= per_hub {
            return Err(format!("{per_hub} operations are under way at this hub"));
        }
        // One request that is larger than all of the room is let in alone.
        if state.bytes > 0 && state.bytes + bytes > most_bytes {
            return Err(format!("requests of {most_bytes} bytes are under way at this hub"));
        }
        let queue = state.accounts.entry(account.clone()).or_insert_with(Queue::new);
        if queue.open >= per_account {
            return Err(format!("{per_account} operations are under way in account {account}"));
        }
        queue.open += 1;
        let room = queue.rooms.of(pace);
        let turn = CancellationToken::new();
        let before = changes.and_then(|object| queue.turn(object, turn.clone()));
        state.open += 1;
        state.bytes += bytes;
        drop(state);
        let admission = Arc::clone(self);
        let account = account.clone();
        Ok(Admitted { admission, account, bytes, before, turn, room, queue: line, place: None })
    }
}

// === impl Queue ===

impl Queue {
    fn new() -> Self {
        Self { open: 0, rooms: Rooms::new(), turns: HashMap::new() }
    }

    fn turn(&mut self, object: &str, turn: CancellationToken) -> Option<CancellationToken> {
        if self.turns.len() > PASSED_TURNS {
            self.turns.retain(|_, turn| !turn.is_cancelled());
        }
        self.turns.insert(object.to_owned(), turn).filter(|before| !before.is_cancelled())
    }
}

// === impl Rooms ===

impl Rooms {
    fn new() -> Self {
        Self {
            glances: Turnstile::new(GLANCES),
            hauls: Turnstile::new(HAULS),
            changes: Turnstile::new(CHANGES),
            waits: Turnstile::new(WAITS),
        }
    }

    /// None: it needs no place.
    fn of(&self, pace: Pace) -> Option<Turnstile> {
        match pace {
            Pace::Glance => Some(self.glances.clone()),
            Pace::Haul => Some(self.hauls.clone()),
            Pace::Change => Some(self.changes.clone()),
            Pace::Wait => Some(self.waits.clone()),
            Pace::Follow => None,
        }
    }
}

// === impl Admitted ===

impl Admitted {
    /// Whether it can be sent now, without waiting for others.
    pub(super) fn is_next(&mut self) -> bool {
        let its_turn = self.before.as_ref().is_none_or(CancellationToken::is_cancelled);
        if its_turn
            && self.place.is_none()
            && let Some(room) = &self.room
        {
            self.place = room.try_pass();
        }
        its_turn && (self.room.is_none() || self.place.is_some())
    }

    /// Waits for those that go first.
    pub(super) async fn its_turn(&mut self) {
        if let Some(before) = &self.before {
            before.cancelled().await;
        }
        if let (None, Some(room)) = (&self.place, &self.room) {
            self.place = Some(room.pass(&self.queue).await);
        }
    }

    /// It has been sent: the next one may go.
    pub(super) fn sent(&self) {
        self.turn.cancel();
    }
}

impl Drop for Admitted {
    fn drop(&mut self) {
        self.turn.cancel();
        let mut state = self.admission.state.lock();
        state.open = state.open.saturating_sub(1);
        state.bytes = state.bytes.saturating_sub(self.bytes);
        if let Some(queue) = state.accounts.get_mut(&self.account) {
            queue.open = queue.open.saturating_sub(1);
            if queue.open == 0 {
                state.accounts.remove(&self.account);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    fn admission(per_account: usize, per_hub: usize, bytes: usize) -> Arc<Admission> {
        Admission::new(Bounds { per_account, per_hub, bytes })
    }

    fn applicant<'a>(account: &'a AccountName, changes: Option<&'a str>) -> Applicant<'a> {
        let pace = if changes.is_some() { Pace::Change } else { Pace::Glance };
        Applicant { account, changes, pace, queue: "apply shop".into(), bytes: 10 }
    }

    #[test]
    fn each_bound_is_named_and_room_comes_back() {
        let (one, two) = (AccountName::parse("one").unwrap(), AccountName::parse("two").unwrap());
        let admission = admission(2, 3, 25);
        let first = admission.admit(applicant(&one, None)).unwrap();
        let second = admission.admit(applicant(&one, None)).unwrap();
        let small = |account| Applicant { bytes: 0, ..applicant(account, None) };
        assert!(admission.admit(applicant(&two, None)).unwrap_err().contains("25 bytes"));
        assert!(admission.admit(small(&one)).unwrap_err().contains("in account one"));
        let third = admission.admit(small(&two)).unwrap();
        assert!(admission.admit(small(&two)).unwrap_err().contains("3 operations are under way at this hub"));
        drop((first, second, third));
        assert!(admission.state.lock().accounts.is_empty());
        let huge = Applicant { bytes: 1000, ..applicant(&one, None) };
        drop(admission.admit(huge).expect("alone, it is let in"));
    }

    #[test]
    fn mutations_of_one_object_take_turns_and_others_do_not_wait() {
        let account = AccountName::parse("one").unwrap();
        let admission = admission(100, 100, 1000);
        let mut first = admission.admit(applicant(&account, Some("web"))).unwrap();
        let mut second = admission.admit(applicant(&account, Some("web"))).unwrap();
        let mut third = admission.admit(applicant(&account, Some("web"))).unwrap();
        let mut other = admission.admit(applicant(&account, Some("db"))).unwrap();
        assert!(first.is_next() && other.is_next());
        assert!(!second.is_next() && second.its_turn().now_or_never().is_none());
        first.sent();
        assert!(second.is_next() && !third.is_next());
        drop(second);
        assert!(third.its_turn().now_or_never().is_some(), "one that came to nothing holds nobody up");
    }

    #[test]
    fn a_flood_of_deploys_holds_up_neither_a_glance_nor_another_verb_for_long() {
        let account = AccountName::parse("one").unwrap();
        let admission = admission(1000, 1000, 100_000);
        let deploy =
            |number: usize| admission.admit(applicant(&account, Some(&format!("web-{number}")))).unwrap();
        let mut at_work: Vec<_> = (0..CHANGES).map(deploy).collect();
        assert!(at_work.iter_mut().all(Admitted::is_next));
        let mut waiting: Vec<_> = (CHANGES..2 * CHANGES).map(deploy).collect();
        let mut waits: Vec<_> = waiting.iter_mut().map(|deploy| deploy.its_turn().boxed()).collect();
        assert!(waits.iter_mut().all(|wait| wait.now_or_never().is_none()));

        assert!(admission.admit(applicant(&account, None)).unwrap().is_next(), "a glance goes at once");
        let scale = Applicant { queue: "scale shop".into(), ..applicant(&account, Some("db")) };
        let mut scale = admission.admit(scale).unwrap();
        let mut its_turn = scale.its_turn().boxed();
        assert!((&mut its_turn).now_or_never().is_none());
        at_work.truncate(CHANGES - 2);
        assert!((&mut its_turn).now_or_never().is_some(), "after one of the others");
        let gone = waits.iter_mut().filter_map(FutureExt::now_or_never).count();
        assert_eq!(gone, 1);
    }
}
