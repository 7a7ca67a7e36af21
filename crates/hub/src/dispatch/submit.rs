//! Taking an operation on: all that can stand in its way, then its row, then a driver.

use std::{convert::Infallible, sync::Arc, time::Duration};

use aws_lc_rs::digest;
use bytes::Bytes;
use spindrift_model::{AccountName, Content, Ending, OperationId, Pace};
use spindrift_process::report;
use tokio::{sync::mpsc, time::Instant};
use tracing::{error, info};

use super::{
    Dispatch, DispatchConfig, LONGEST, Order, Refusal, Running, Shared,
    about::About,
    admission::Applicant,
    answer,
    driver::{Stage, Task},
    running::Entry,
    vault::Place,
};
use crate::{
    hex::hex,
    store::{Inserted, NewOperation, OperationEnd, Step, StoreError},
};

/// Keeps the reconciler from taking up what is just being taken on.
#[derive(Debug)]
struct Submitting {
    shared: Arc<Shared>,
    id: OperationId,
}

/// How often a row is looked for that may have been inserted though the store said nothing.
const WITHDRAWAL: Duration = Duration::from_secs(2);

// === impl Dispatch ===

impl Dispatch {
    /// Takes an operation on, or refuses it; then something comes of it, whatever happens.
    pub async fn submit(&self, order: Order) -> Result<Running, Refusal> {
        let body: Bytes = serde_json::to_vec(&order.verb).map(Into::into).map_err(|error| {
            Refusal::new(400, "BadRequest", format!("the verb cannot be written as JSON: {error}"))
        })?;
        let (given, mutation) = (order.id, order.verb.is_mutation());
        let digest = digest_of(&order.account, &body);
        let refusal = match self.take_on(order, body, &digest).await {
            Ok(running) => return Ok(running),
            Err(refusal) => refusal,
        };
        // Whatever stands in its way now: what was asked before under this id has its own answer.
        let Some(id) = given else { return Err(refusal) };
        match self.shared.store.operation(&self.shared.config.tenant, id).await {
            Ok(Some(row)) if row.digest == digest => {
                Ok(self.follow(id, mutation, Instant::now() + row.time_left()))
            }
            _ => Err(refusal),
        }
    }

    async fn take_on(&self, order: Order, body: Bytes, digest: &str) -> Result<Running, Refusal> {
        let Order { id: given, account, verb, deadline, keep } = order;
        let shared = &self.shared;
        let DispatchConfig { hub, tenant, .. } = &shared.config;
        let (about, pace) = (About::of(&verb), Pace::of(&verb));
        let mutation = verb.is_mutation();
        // Its row would be ended while it is carried out.
        if given.is_some_and(|id| shared.withdrawn.lock().contains(&id)) {
            return Err(Refusal::withdrawn());
        }
        let route = shared.route(&account, verb.name()).await;
        let route = route.map_err(|error| unavailable(&error, Refusal::store()))?;
        let route = route.ok_or_else(|| Refusal::no_account(&account))?;
        if let Some(freeze) = route.frozen.as_ref().filter(|_| mutation) {
            return Err(Refusal::frozen(&account, &freeze.reason));
        }
        if let Some(namespace) = about.forbidden_namespace(&route.properties).filter(|_| mutation) {
            return Err(Refusal::namespace(namespace, &account));
        }
        let applicant = Applicant {
            account: &account,
            changes: mutation.then_some(&*about.target),
            pace,
            queue: format!("{} {}", verb.name(), about.namespace.as_deref().unwrap_or_default()),
            bytes: body.len(),
        };
        let mut admitted = shared.admission.admit(applicant).map_err(|bound| Refusal::too_many(&bound))?;

        let id = given.unwrap_or_else(OperationId::fresh);
        let task = Task { id, account, verb: verb.name(), target: about.target.clone(), mutation };
        let usual = if pace == Pace::Follow { LONGEST } else { shared.config.deadline };
        let time_left = deadline.unwrap_or(usual).min(LONGEST);
        let link = if admitted.is_next() { shared.choose_here(&task, &route) } else { None };
        let sealed = shared.vault.seal(id, Place::Body, &body).map_err(|failure| {
            error!(error = %report(&failure), "an operation could not be encrypted");
            Refusal::new(500, "InternalError", "the hub could not encrypt the operation; its log says why")
        })?;
        let new = Box::new(NewOperation {
            tenant: tenant.clone(),
            id,
            account: task.account.clone(),
            verb: task.verb,
            target: about.target,
            mutation,
            digest: digest.to_owned(),
            time_left,
            hub: hub.clone(),
            seat: link.as_ref().map(|link| link.seat().clone()),
            key_id: shared.vault.key_id().to_owned(),
            body: sealed,
        });
        let submitting = Submitting::begin(shared, id);
        let writing = shared.ledger.write(Step::Insert(new));
        // What only reads, for a caller who waits, may be sent before its row is there.
        let may_go = !mutation && !keep && given.is_none() && link.is_some();
        let written = if may_go { Ok(Inserted::New) } else { writing.await.map(Inserted::from) };
        let inserted = match written {
            Ok(inserted) => inserted,
            Err(error) => {
                // A read that is done once more does no harm.
                let refusal = if mutation { Refusal::withdrawn() } else { Refusal::store() };
                let refusal = unavailable(&error, refusal);
                if let Some(submitting) = submitting {
                    shared.withdrawn.lock().insert(id);
                    let withdrawal = withdraw(submitting, refusal.clone(), Instant::now() + time_left);
                    shared.tasks.spawn(format!("withdraw {id}"), withdrawal);
                }
                return Err(refusal);
            }
        };
        match inserted {
            Inserted::New => {}
            Inserted::Known { digest: other } if other == digest => {
                return Ok(self.follow(id, mutation, Instant::now() + time_left));
            }
            Inserted::Known { .. } => {
                let message = format!("operation {id} is known, and was asked to do something else");
                return Err(Refusal::new(409, "Conflict", message));
            }
        }
        if about.reveals {
            info!(operation = %id, account = %task.account, target = task.target, "a caller asks for the values of a Secret");
        }
        let stage = match link {
            Some(link) => Stage::Sending(link),
            None => Stage::Seeking,
        };
        let keep = keep || given.is_some();
        Ok(shared.drive(task, stage, Some(body), Instant::now() + time_left, keep, Some(admitted)))
    }

    /// Follows an operation that was asked for before.
    fn follow(&self, id: OperationId, mutation: bool, deadline: Instant) -> Running {
        let (arrivals_tx, _) = mpsc::unbounded_channel();
        let (events_tx, events_rx) = mpsc::unbounded_channel();
        // Nothing arrives for it; it counts what its caller has taken.
        let entry = Entry::new(id, true, arrivals_tx);
        let follower =
            answer::Follower::new(Arc::clone(&self.shared), Arc::clone(&entry), events_tx, deadline);
        self.shared.tasks.spawn(format!("follow {id}"), follower.run());
        Running { id, mutation, entry, events_rx }
    }
}

// === impl Submitting ===

impl Submitting {
    /// None if another caller is just taking the same one on.
    fn begin(shared: &Arc<Shared>, id: OperationId) -> Option<Self> {
        shared.submitting.lock().insert(id).then(|| Self { shared: Arc::clone(shared), id })
    }
}

impl Drop for Submitting {
    fn drop(&mut self) {
        self.shared.withdrawn.lock().remove(&self.id);
        self.shared.submitting.lock().remove(&self.id);
    }
}

fn unavailable(error: &StoreError, refusal: Refusal) -> Refusal {
    error!(error = %report(error), "an operation was not taken on");
    refusal
}

/// The store did not say whether the row is there, and the caller was told that nothing was sent: so it stays. Until its
/// deadline nobody takes it up, and if it is found it is ended.
async fn withdraw(submitting: Submitting, refusal: Refusal, deadline: Instant) -> Result<(), Infallible> {
    let Submitting { shared, id } = &submitting;
    let ending = Ending { outcome: refusal.into(), took: Duration::ZERO };
    let end = OperationEnd { ending, content: Content::Json, answer_bytes: None, answered_to: None };
    let token = shared.tasks.token();
    while Instant::now() < deadline {
        if matches!(shared.store.end_operation(&shared.config.tenant, *id, &end).await, Ok(true)) {
            break;
        }
        if token.run_until_cancelled(tokio::time::sleep(WITHDRAWAL)).await.is_none() {
            break;
        }
    }
    Ok(())
}

fn digest_of(account: &AccountName, body: &[u8]) -> String {
    let mut context = digest::Context::new(&digest::SHA256);
    context.update(account.as_str().as_bytes());
    context.update(&[0]);
    context.update(body);
    hex(context.finish().as_ref())
}
