//! What concerns revisions of a workload, as `kubectl rollout` does it.

mod revise;
mod show;
mod status;

use std::fmt;

use http::Method;
use serde_json::Value;
use spindrift_kubernetes::{Call, rollout::Workload, scrub_result};
use spindrift_model::{DryRun, Resource, Rollout, RolloutAction};

use super::{Answer, AnswerSink, Failure, Hand, dry_run, failed, parsed, place::changed};

/// A workload, and what is asked of it.
struct Job<'a> {
    hand: &'a Hand,
    resource: Resource,
    /// None: a kind that does not roll out.
    workload: Option<Workload>,
    namespace: Option<&'a str>,
    name: &'a str,
    dry_run: DryRun,
}

pub(super) async fn run(hand: &Hand, rollout: Rollout, sink: &impl AnswerSink) -> Result<Answer, Failure> {
    let Rollout { target, action, dry_run } = &rollout;
    let resource = hand.resolve(target.api_version.as_deref(), &target.kind).await?;
    let job = Job {
        hand,
        workload: Workload::of(&resource),
        namespace: hand.namespace(&resource, target.namespace.as_deref()),
        name: &target.name,
        resource,
        dry_run: *dry_run,
    };
    match action {
        RolloutAction::Undo { to_revision } => revise::undo(&job, to_revision.unwrap_or(0)).await,
        RolloutAction::Pause => revise::pause(&job).await,
        RolloutAction::Resume => revise::resume(&job).await,
        RolloutAction::Restart => revise::restart(&job).await,
        RolloutAction::History { revision } => show::history(&job, *revision).await,
        RolloutAction::Status { follow } => status::status(&job, *follow, sink).await,
    }
}

// === impl Job ===

impl Job<'_> {
    /// What the workload is now.
    async fn object(&self) -> Result<Value, Failure> {
        self.read(&self.call(Method::GET)).await
    }

    async fn read(&self, call: &Call) -> Result<Value, Failure> {
        parsed(&self.hand.read(call).await.map_err(|error| Failure::of_read(&error))?.body)
    }

    /// The same, without what may not leave the cluster.
    async fn read_scrubbed(&self, call: &Call) -> Result<Value, Failure> {
        let reply = self.hand.read(call).await.map_err(|error| Failure::of_read(&error))?;
        let scrubbed = scrub_result(reply.body, self.hand.redactions());
        parsed(&scrubbed.map_err(|malformed| Failure::unreadable(call, &malformed))?)
    }

    fn call(&self, method: Method) -> Call {
        Call::about(method, &self.resource, self.namespace, Some(self.name))
    }

    /// Patches the workload, and answers with what it is then.
    async fn patch(
        &self,
        content_type: &'static str,
        patch: &Value,
        action: &str,
        mut warnings: Vec<String>,
    ) -> Result<Answer, Failure> {
        self.hand.go_on()?;
        let call = dry_run(self.call(Method::PATCH), self.dry_run)
            .query("fieldManager", FIELD_MANAGER)
            .body(content_type, patch.to_string());
        let reply = self.hand.change(&call).await.map_err(|error| failed(&error, self.dry_run))?;
        warnings.extend(reply.warnings);
        changed(self.hand, reply.code, action, reply.body, &warnings)
    }

    /// In kubectl's words: `deployments.apps "web" is already paused`.
    fn refused(&self, why: &str) -> Failure {
        Failure::ours(409, "Conflict", format!("{self} {why}"))
    }

    fn unsupported(&self, what: &str) -> Failure {
        Failure::ours(400, "BadRequest", format!("{self} {what} is not supported"))
    }

    /// Nothing was changed: why, or what would have been.
    fn unchanged(&self, action: &str, object: &Value, warnings: &[String]) -> Result<Answer, Failure> {
        changed(self.hand, 200, action, object.to_string().into(), warnings)
    }
}

/// As kubectl names objects in what it says: `deployments.apps "web"`.
impl fmt::Display for Job<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.resource.plural)?;
        if !self.resource.group.is_empty() {
            write!(f, ".{}", self.resource.group)?;
        }
        write!(f, " {:?}", self.name)
    }
}

/// As kubectl signs.
const FIELD_MANAGER: &str = "kubectl-rollout";
const STRATEGIC: &str = "application/strategic-merge-patch+json";
const JSON_PATCH: &str = "application/json-patch+json";
