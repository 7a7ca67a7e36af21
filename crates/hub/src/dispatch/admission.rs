//! Admission of operations: limits, and their order.
//!
//! Changes of one object leave this hub in the order of arrival; the agent keeps that order. Different objects do not wait
//! for each other.
//!
//! Each class of operations has a limit of its own: a read waits for reads only. Within a class, the queues of verbs and
//! namespaces take turns: one scale operation waits for one of a thousand deploys, not for all of them.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use parking_lot::Mutex;
use spindrift_model::{AccountName, OperationClass};
use spindrift_process::fair_semaphore::{FairPermit, FairSemaphore};
use tokio_util::sync::CancellationToken;

/// Limits of open operations.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// Operations of one account that have not ended.
    pub per_account: usize,
    /// Operations of this hub that have not ended.
    pub per_hub: usize,
    /// Bytes of all their requests.
    pub bytes: usize,
}

/// Operations of one account that are sent to an agent and not ended, by class; others wait here, where they can still be
/// cancelled. Each may have a mebibyte of its answer in this hub's memory. They are two to four times the agent's own limits
/// (`operate/executor.rs`), so that its next operation is there when one ends. Streams are not counted.
const READS: usize = 64;
const BULK_READS: usize = 32;
const CHANGES: usize = 96;
const WAITING_CHANGES: usize = 64;

#[derive(Debug)]
pub(super) struct Admission {
    bounds: Bounds,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    open: usize,
    bytes: usize,
    accounts: HashMap<AccountName, AccountQueue>,
}

#[derive(Debug)]
struct AccountQueue {
    open: usize,
    limits: ClassLimits,
    /// Changes of each object that have not been sent, in order; the first of them may go.
    turns: HashMap<String, VecDeque<Turn>>,
}

/// Position of a change among those of its object, until it is sent or ends unsent.
#[derive(Debug, Clone)]
struct Turn {
    object: String,
    /// Cancelled when it may go; its address identifies the turn.
    go: Arc<CancellationToken>,
}

/// Limits of one account, by class.
#[derive(Debug)]
struct ClassLimits {
    reads: FairSemaphore,
    bulk_reads: FairSemaphore,
    changes: FairSemaphore,
    waiting_changes: FairSemaphore,
}

/// Operation to admit.
#[derive(Debug, Clone)]
pub(super) struct AdmissionRequest<'a> {
    pub(super) account: &'a AccountName,
    /// Object that it changes.
    pub(super) changes: Option<&'a str>,
    pub(super) class: OperationClass,
    /// Name of its queue within the class.
    pub(super) queue: String,
    pub(super) bytes: usize,
}

/// Admitted operation; it counts until this is dropped.
#[derive(Debug)]
pub(super) struct Admitted {
    admission: Arc<Admission>,
    account: AccountName,
    bytes: usize,
    turn: Option<Turn>,
    /// None for a stream.
    limit: Option<FairSemaphore>,
    queue: String,
    permit: Option<FairPermit>,
}

// === impl Admission ===

impl Admission {
    pub(super) fn new(bounds: Bounds) -> Arc<Self> {
        Arc::new(Self { bounds, state: Mutex::default() })
    }

    /// Admits an operation, or returns the limit that is reached.
    pub(super) fn admit(self: &Arc<Self>, request: AdmissionRequest<'_>) -> Result<Admitted, String> {
        let AdmissionRequest { account, changes, class, queue: line, bytes } = request;
        let Bounds { per_account, per_hub, bytes: most_bytes } = self.bounds;
        let mut state = self.state.lock();
        if state.open >= per_hub {
            return Err(format!("{per_hub} operations are open at this hub"));
        }
        // A request that is larger than the limit is admitted alone.
        if state.bytes > 0 && state.bytes + bytes > most_bytes {
            return Err(format!("requests of {most_bytes} bytes are open at this hub"));
        }
        let queue = state.accounts.entry(account.clone()).or_insert_with(AccountQueue::new);
        if queue.open >= per_account {
            return Err(format!("{per_account} operations are open in account {account}"));
        }
        queue.open += 1;
        let limit = queue.limits.of(class);
        let turn = changes.map(|object| queue.enter(object));
        state.open += 1;
        state.bytes += bytes;
        drop(state);
        let admission = Arc::clone(self);
        let account = account.clone();
        Ok(Admitted { admission, account, bytes, turn, limit, queue: line, permit: None })
    }
}

// === impl AccountQueue ===

impl AccountQueue {
    fn new() -> Self {
        Self { open: 0, limits: ClassLimits::new(), turns: HashMap::new() }
    }

    /// Takes the position behind all other changes of the object.
    fn enter(&mut self, object: &str) -> Turn {
        let turn = Turn { object: object.to_owned(), go: Arc::default() };
        let turns = self.turns.entry(object.to_owned()).or_default();
        turns.push_back(turn.clone());
        turns[0].go.cancel();
        turn
    }

    /// Lets the next one go; one that leaves before its turn changes nothing for those behind it.
    fn leave(&mut self, turn: &Turn) {
        let Some(turns) = self.turns.get_mut(&turn.object) else { return };
        turns.retain(|other| !Arc::ptr_eq(&other.go, &turn.go));
        match turns.front() {
            Some(next) => next.go.cancel(),
            None => _ = self.turns.remove(&turn.object),
        }
    }
}

// === impl ClassLimits ===

impl ClassLimits {
    fn new() -> Self {
        Self {
            reads: FairSemaphore::new(READS),
            bulk_reads: FairSemaphore::new(BULK_READS),
            changes: FairSemaphore::new(CHANGES),
            waiting_changes: FairSemaphore::new(WAITING_CHANGES),
        }
    }

    /// None for a stream, which has no limit.
    fn of(&self, class: OperationClass) -> Option<FairSemaphore> {
        match class {
            OperationClass::Read => Some(self.reads.clone()),
            OperationClass::BulkRead => Some(self.bulk_reads.clone()),
            OperationClass::Change => Some(self.changes.clone()),
            OperationClass::WaitingChange => Some(self.waiting_changes.clone()),
            OperationClass::Stream => None,
        }
    }
}

// === impl Admitted ===

impl Admitted {
    /// Whether it can be sent now, without waiting.
    pub(super) fn is_next(&mut self) -> bool {
        let its_turn = self.turn.as_ref().is_none_or(|turn| turn.go.is_cancelled());
        if its_turn
            && self.permit.is_none()
            && let Some(limit) = &self.limit
        {
            self.permit = limit.try_acquire();
        }
        its_turn && (self.limit.is_none() || self.permit.is_some())
    }

    /// Waits for its turn and its permit.
    pub(super) async fn its_turn(&mut self) {
        if let Some(turn) = &self.turn {
            turn.go.cancelled().await;
        }
        if let (None, Some(limit)) = (&self.permit, &self.limit) {
            self.permit = Some(limit.acquire(&self.queue).await);
        }
    }

    /// Marks it as sent: the next change of the object may go.
    pub(super) fn sent(&mut self) {
        let Some(turn) = self.turn.take() else { return };
        if let Some(queue) = self.admission.state.lock().accounts.get_mut(&self.account) {
            queue.leave(&turn);
        }
    }
}

impl Drop for Admitted {
    fn drop(&mut self) {
        self.sent();
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

    fn request<'a>(account: &'a AccountName, changes: Option<&'a str>) -> AdmissionRequest<'a> {
        let class = if changes.is_some() { OperationClass::Change } else { OperationClass::Read };
        AdmissionRequest { account, changes, class, queue: "apply shop".into(), bytes: 10 }
    }

    #[test]
    fn each_limit_is_named_and_freed_again() {
        let (one, two) = (AccountName::parse("one").unwrap(), AccountName::parse("two").unwrap());
        let admission = admission(2, 3, 25);
        let first = admission.admit(request(&one, None)).unwrap();
        let second = admission.admit(request(&one, None)).unwrap();
        let small = |account| AdmissionRequest { bytes: 0, ..request(account, None) };
        assert!(admission.admit(request(&two, None)).unwrap_err().contains("25 bytes"));
        assert!(admission.admit(small(&one)).unwrap_err().contains("in account one"));
        let third = admission.admit(small(&two)).unwrap();
        assert!(admission.admit(small(&two)).unwrap_err().contains("3 operations are open at this hub"));
        drop((first, second, third));
        assert!(admission.state.lock().accounts.is_empty());
        let huge = AdmissionRequest { bytes: 1000, ..request(&one, None) };
        drop(admission.admit(huge).expect("alone, it is admitted"));
    }

    #[test]
    fn changes_of_one_object_take_turns_and_others_do_not_wait() {
        let account = AccountName::parse("one").unwrap();
        let admission = admission(100, 100, 1000);
        let mut first = admission.admit(request(&account, Some("web"))).unwrap();
        let mut second = admission.admit(request(&account, Some("web"))).unwrap();
        let mut third = admission.admit(request(&account, Some("web"))).unwrap();
        let mut other = admission.admit(request(&account, Some("db"))).unwrap();
        assert!(first.is_next() && other.is_next());
        assert!(!second.is_next() && second.its_turn().now_or_never().is_none());
        first.sent();
        assert!(second.is_next() && !third.is_next());
        drop(second);
        assert!(third.its_turn().now_or_never().is_some(), "one that ended unsent delays no other");
        assert!(third.is_next());
        third.sent();
        assert!(
            !admission.state.lock().accounts[&account].turns.contains_key("web"),
            "nothing is kept of it"
        );
    }

    #[test]
    fn one_that_leaves_before_its_turn_changes_no_order() {
        let account = AccountName::parse("one").unwrap();
        let admission = admission(100, 100, 1000);
        let enter = || admission.admit(request(&account, Some("web"))).unwrap();
        let (mut first, second, mut third) = (enter(), enter(), enter());
        drop(second);
        let mut fourth = enter();
        assert!(!third.is_next() && !fourth.is_next(), "the first has not been sent");
        first.sent();
        assert!(third.is_next() && !fourth.is_next());
    }

    #[test]
    fn a_thousand_deploys_delay_neither_a_read_nor_another_verb_for_long() {
        let account = AccountName::parse("one").unwrap();
        let admission = admission(1000, 1000, 100_000);
        let deploy =
            |number: usize| admission.admit(request(&account, Some(&format!("web-{number}")))).unwrap();
        let mut at_work: Vec<_> = (0..CHANGES).map(deploy).collect();
        assert!(at_work.iter_mut().all(Admitted::is_next));
        let mut waiting: Vec<_> = (CHANGES..2 * CHANGES).map(deploy).collect();
        let mut waits: Vec<_> = waiting.iter_mut().map(|deploy| deploy.its_turn().boxed()).collect();
        assert!(waits.iter_mut().all(|wait| wait.now_or_never().is_none()));

        assert!(admission.admit(request(&account, None)).unwrap().is_next(), "a read goes at once");
        let scale = AdmissionRequest { queue: "scale shop".into(), ..request(&account, Some("db")) };
        let mut scale = admission.admit(scale).unwrap();
        let mut its_turn = scale.its_turn().boxed();
        assert!((&mut its_turn).now_or_never().is_none());
        at_work.truncate(CHANGES - 2);
        assert!((&mut its_turn).now_or_never().is_some(), "after one of the others");
        let gone = waits.iter_mut().filter_map(FutureExt::now_or_never).count();
        assert_eq!(gone, 1);
    }
}
