//! `rollout`: manages the rollout of a workload, as kubectl does it.

mod revise;
mod show;
mod status;

use std::fmt;

use http::Method;
use serde_json::Value;
use spindrift_kubernetes::{Call, rollout::Workload, scrub_result};
use spindrift_model::{DryRun, ErrorKind, OperationError, Resource, Rollout, RolloutAction};

use super::{Answer, AnswerSink, OperationContext, dry_run, failed, manifest_target::changed, parsed};
use crate::operate::errors;

/// Workload, with the request.
struct Job<'a> {
    context: &'a OperationContext,
    resource: Resource,
    /// None for a kind without rollouts.
    workload: Option<Workload>,
    namespace: Option<&'a str>,
    name: &'a str,
    dry_run: DryRun,
}

pub(super) async fn run(
    context: &OperationContext,
    rollout: Rollout,
    sink: &impl AnswerSink,
) -> Result<Answer, OperationError> {
    let Rollout { target, action, dry_run } = &rollout;
    let resource = context.resolve(target.api_version.as_deref(), &target.kind).await?;
    let job = Job {
        context,
        workload: Workload::of(&resource),
        namespace: context.namespace(&resource, target.namespace.as_deref()),
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
    /// Reads the workload.
    async fn object(&self) -> Result<Value, OperationError> {
        self.read(&self.call(Method::GET)).await
    }

    async fn read(&self, call: &Call) -> Result<Value, OperationError> {
        parsed(&self.context.read(call).await.map_err(|error| errors::of_read(&error))?.body)
    }

    /// The same, redacted.
    async fn read_scrubbed(&self, call: &Call) -> Result<Value, OperationError> {
        let reply = self.context.read(call).await.map_err(|error| errors::of_read(&error))?;
        let scrubbed = scrub_result(reply.body, self.context.redactions());
        parsed(&scrubbed.map_err(|malformed| errors::unreadable(call, &malformed))?)
    }

    fn call(&self, method: Method) -> Call {
        Call::about(method, &self.resource, self.namespace, Some(self.name))
    }

    /// Patches the workload, and answers with the result.
    async fn patch(
        &self,
        content_type: &'static str,
        patch: &Value,
        action: &str,
        mut warnings: Vec<String>,
    ) -> Result<Answer, OperationError> {
        self.context.go_on()?;
        let call = dry_run(self.call(Method::PATCH), self.dry_run)
            .query("fieldManager", FIELD_MANAGER)
            .body(content_type, patch.to_string());
        let reply = self.context.change(&call).await.map_err(|error| failed(&error, self.dry_run))?;
        warnings.extend(reply.warnings);
        changed(self.context, reply.code, action, reply.body, &warnings)
    }

    /// In kubectl's words: `deployments.apps "web" is already paused`.
    fn refused(&self, why: &str) -> OperationError {
        OperationError::agent(ErrorKind::Conflict, format!("{self} {why}"))
    }

    fn unsupported(&self, what: &str) -> OperationError {
        OperationError::agent(ErrorKind::BadRequest, format!("{self} {what} is not supported"))
    }

    /// Answer without a change: the reason, or the object of a dry run.
    fn unchanged(&self, action: &str, object: &Value, warnings: &[String]) -> Result<Answer, OperationError> {
        changed(self.context, 200, action, object.to_string().into(), warnings)
    }
}

/// As in messages of kubectl: `deployments.apps "web"`.
impl fmt::Display for Job<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.resource.plural)?;
        if !self.resource.group.is_empty() {
            write!(f, ".{}", self.resource.group)?;
        }
        write!(f, " {:?}", self.name)
    }
}

/// Field manager, as kubectl's.
const FIELD_MANAGER: &str = "kubectl-rollout";
const STRATEGIC: &str = "application/strategic-merge-patch+json";
const JSON_PATCH: &str = "application/json-patch+json";
