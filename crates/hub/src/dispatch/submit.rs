//! Acceptance of an operation: all checks, then its row, then its delivery.

use std::{convert::Infallible, sync::Arc, time::Duration};

use aws_lc_rs::digest;
use bytes::Bytes;
use spindrift_model::{
    AccountName, Content, Ending, ErrorKind, Operation, OperationClass, OperationError, OperationId, Verb,
};
use spindrift_process::report;
use tokio::{sync::mpsc, time::Instant};
use tracing::{error, info};

use super::{
    Dispatch, LONGEST, OperationRequest, Running, Shared,
    admission::{AdmissionRequest, Admitted},
    answer,
    delivery::{OperationSummary, Stage},
    errors,
    links::Link,
    running::OpenOperation,
    vault::SealedItem,
};
use crate::{
    account_limits::NamespaceLimits,
    hex::hex,
    store::{Inserted, NewOperation, OperationEnd, Route, Step, StoreError},
};

/// Keeps the reconciler from adopting an operation that is just being submitted.
#[derive(Debug)]
struct Submitting {
    shared: Arc<Shared>,
    id: OperationId,
}

/// Interval at which a row is looked for that the store may have inserted without an answer.
const WITHDRAWAL: Duration = Duration::from_secs(2);

/// Width of the column; names are shorter, but a manifest may contain anything.
const LONGEST_TARGET: usize = 512;

// === impl Dispatch ===

impl Dispatch {
    /// Accepts an operation, or refuses it. An accepted one always has an outcome.
    pub async fn submit(&self, request: OperationRequest) -> Result<Running, OperationError> {
        let Operation { id, account, verb, .. } = &request.operation;
        let body: Bytes = serde_json::to_vec(verb).map(Into::into).map_err(|error| {
            OperationError::hub(ErrorKind::BadRequest, format!("the verb cannot be written as JSON: {error}"))
        })?;
        let digest = digest_of(account, &body);
        let (id, mutation, has_given_id) = (*id, verb.is_mutation(), request.has_given_id);
        let error = match self.accept(request, body, &digest).await {
            Ok(running) => return Ok(running),
            Err(error) => error,
        };
        // A request that was submitted before under this id has its own answer, even if it would be refused now.
        if !has_given_id {
            return Err(error);
        }
        match self.shared.store.operation(&self.shared.config.tenant, id).await {
            Ok(Some(row)) if row.digest == digest => {
                Ok(self.follow(id, mutation, Instant::now() + row.time_left()))
            }
            _ => Err(error),
        }
    }

    async fn accept(
        &self,
        request: OperationRequest,
        body: Bytes,
        digest: &str,
    ) -> Result<Running, OperationError> {
        let OperationRequest { operation, has_given_id, keep } = request;
        let shared = &self.shared;
        let summary = OperationSummary::of(&operation);
        let route = self.check(&operation, has_given_id).await?;
        let mut admitted = self.admit(&operation, &summary, body.len())?;
        let time_left = self.time_left(&operation);
        let deadline = Instant::now() + time_left;
        let link = if admitted.is_next() { shared.choose_here(&summary, &route) } else { None };
        let row = self.row(&summary, digest, time_left, link.as_deref(), &body)?;
        let submitting = Submitting::begin(shared, summary.id);
        let writing = shared.ledger.write(Step::Insert(Box::new(row)));
        // A read whose caller waits may be sent before its row is there.
        let is_sent_first = !summary.mutation && !keep && !has_given_id && link.is_some();
        let inserted = if is_sent_first {
            Inserted::New
        } else {
            match writing.await {
                Ok(stepped) => stepped.into(),
                Err(error) => return Err(self.not_inserted(&error, submitting, &summary, deadline)),
            }
        };
        match inserted {
            Inserted::New => {}
            Inserted::Known { digest: other } if other == digest => {
                return Ok(self.follow(summary.id, summary.mutation, deadline));
            }
            Inserted::Known { .. } => {
                let message = format!("operation id {} was used for another request", summary.id);
                return Err(OperationError::hub(ErrorKind::Conflict, message));
            }
        }
        if operation.verb.reveals_secrets() {
            let OperationSummary { id, account, target, .. } = &summary;
            info!(operation = %id, %account, target, "a caller reads the values of a Secret");
        }
        let stage = match link {
            Some(link) => Stage::Sending(link),
            None => Stage::Seeking,
        };
        let keep = keep || has_given_id;
        Ok(shared.deliver(summary, stage, Some(body), deadline, keep, Some(admitted)))
    }

    /// Refuses an operation that names no object, of an unknown or frozen account, or in a namespace that the account does
    /// not allow.
    async fn check(&self, operation: &Operation, has_given_id: bool) -> Result<Route, OperationError> {
        let Operation { id, account, verb, .. } = operation;
        verb.check_paths()
            .map_err(|invalid| OperationError::hub(ErrorKind::BadRequest, invalid.to_string()))?;
        // Its row would be ended while it is carried out.
        if has_given_id && self.shared.withdrawn.lock().contains(id) {
            return Err(errors::may_have_been_queued());
        }
        let route = self.shared.route(account, verb.name()).await;
        let route = route.map_err(|error| unavailable(&error, errors::store_unavailable()))?;
        let route = route.ok_or_else(|| errors::no_account(account))?;
        if verb.is_mutation() {
            if let Some(freeze) = &route.frozen {
                return Err(errors::frozen(account, &freeze.reason));
            }
            check_namespace(verb, account, &route.properties)?;
        }
        Ok(route)
    }

    fn admit(
        &self,
        operation: &Operation,
        summary: &OperationSummary,
        bytes: usize,
    ) -> Result<Admitted, OperationError> {
        let Operation { account, verb, .. } = operation;
        let request = AdmissionRequest {
            account,
            changes: summary.mutation.then_some(&*summary.target),
            class: verb.class(),
            queue: format!("{} {}", verb.name(), verb.target().namespace.unwrap_or_default()),
            bytes,
        };
        self.shared.admission.admit(request).map_err(|bound| errors::overloaded(&bound))
    }

    fn time_left(&self, operation: &Operation) -> Duration {
        let is_stream = operation.verb.class() == OperationClass::Stream;
        let default = if is_stream { LONGEST } else { self.shared.config.deadline };
        operation.time_left.unwrap_or(default).min(LONGEST)
    }

    fn row(
        &self,
        summary: &OperationSummary,
        digest: &str,
        time_left: Duration,
        link: Option<&Link>,
        body: &[u8],
    ) -> Result<NewOperation, OperationError> {
        let shared = &self.shared;
        let sealed = shared.vault.seal(summary.id, SealedItem::Body, body).map_err(|failure| {
            error!(error = %report(&failure), "an operation could not be encrypted");
            OperationError::hub(ErrorKind::Internal, "the hub could not encrypt the operation; see its log")
        })?;
        Ok(NewOperation {
            tenant: shared.config.tenant.clone(),
            id: summary.id,
            account: summary.account.clone(),
            verb: summary.verb,
            target: summary.target.clone(),
            mutation: summary.mutation,
            digest: digest.to_owned(),
            time_left,
            hub: shared.config.hub.clone(),
            seat: link.map(|link| link.seat().clone()),
            key_id: shared.vault.key_id().to_owned(),
            body: sealed,
        })
    }

    /// The store did not confirm the insertion: the row is looked for, and ended if it is there.
    fn not_inserted(
        &self,
        error: &StoreError,
        submitting: Option<Submitting>,
        summary: &OperationSummary,
        deadline: Instant,
    ) -> OperationError {
        // A read that is done once more does no harm.
        let shown =
            if summary.mutation { errors::may_have_been_queued() } else { errors::store_unavailable() };
        let shown = unavailable(error, shown);
        if let Some(submitting) = submitting {
            self.shared.withdrawn.lock().insert(summary.id);
            let withdrawal = withdraw(submitting, shown.clone(), deadline);
            self.shared.tasks.spawn(format!("withdraw {}", summary.id), withdrawal);
        }
        shown
    }

    /// Follows an operation that was submitted before.
    fn follow(&self, id: OperationId, mutation: bool, deadline: Instant) -> Running {
        let (arrivals_tx, _) = mpsc::unbounded_channel();
        let (events_tx, events_rx) = mpsc::unbounded_channel();
        // Nothing arrives for it; it counts the bytes that its caller has taken.
        let entry = OpenOperation::new(id, true, arrivals_tx);
        let follower =
            answer::Follower::new(Arc::clone(&self.shared), Arc::clone(&entry), events_tx, deadline);
        self.shared.tasks.spawn(format!("follow {id}"), follower.run());
        Running { id, mutation, entry, events_rx }
    }
}

// === impl OperationSummary ===

impl OperationSummary {
    fn of(Operation { id, account, verb, .. }: &Operation) -> Self {
        let target = verb.target().to_string();
        Self {
            id: *id,
            account: account.clone(),
            verb: verb.name(),
            target: target.chars().filter(|c| !c.is_control()).take(LONGEST_TARGET).collect(),
            mutation: verb.is_mutation(),
            is_stream: verb.class() == OperationClass::Stream,
        }
    }
}

// === impl Submitting ===

impl Submitting {
    /// None if another caller is just submitting the same one.
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

/// Refuses a change in a namespace that the announced properties do not allow; all changes if they cannot be parsed. A
/// namespace that the request does not name is checked by the agent.
fn check_namespace(verb: &Verb, account: &AccountName, properties: &str) -> Result<(), OperationError> {
    let limits =
        NamespaceLimits::parse(properties).map_err(|problem| errors::unreadable_limits(account, &problem))?;
    match verb.target().namespace.filter(|namespace| !namespace.is_empty()) {
        Some(namespace) if !limits.allow(namespace) => Err(errors::forbidden_namespace(namespace, account)),
        _ => Ok(()),
    }
}

fn unavailable(error: &StoreError, shown: OperationError) -> OperationError {
    error!(error = %report(error), "operation not accepted: the store did not answer");
    shown
}

/// The store did not confirm the row, and the caller got the answer that nothing was sent: so it stays. Until the deadline
/// no hub adopts the row, and if it is found it is ended.
async fn withdraw(
    submitting: Submitting,
    error: OperationError,
    deadline: Instant,
) -> Result<(), Infallible> {
    let Submitting { shared, id } = &submitting;
    let ending = Ending::without_agent(error.into());
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_forbidden_where_the_account_does_not_allow_it_or_its_limits_cannot_be_parsed() {
        let account = AccountName::parse("prod").unwrap();
        let verb = |json: &str| serde_json::from_str::<Verb>(json).unwrap();
        let web = verb(r#"{"verb":"delete","kind":"po","namespace":"shop","name":"x"}"#);
        let node = verb(r#"{"verb":"delete","kind":"no","name":"x"}"#);
        for (properties, [in_shop, of_node]) in [
            ("{}", [true, true]),
            ("", [true, true]),
            (r#"{"namespaces":["shop","other"],"permissions":{}}"#, [true, true]),
            (r#"{"namespaces":["other"]}"#, [false, true]),
            (r#"{"namespaces":[],"omitNamespaces":["shop"]}"#, [false, true]),
            ("nonsense", [false, false]),
            (r#"{"namespaces":"other"}"#, [false, false]),
            (r#"{"omitNamespaces":{"shop":true}}"#, [false, false]),
        ] {
            for (verb, allowed) in [(&web, in_shop), (&node, of_node)] {
                let checked = check_namespace(verb, &account, properties);
                assert_eq!(checked.is_ok(), allowed, "{properties}");
                assert!(checked.is_ok() || checked.unwrap_err().kind == ErrorKind::Forbidden);
            }
        }
    }
}
