//! Execution of operations, in the order of Clouddriver's steps, which a task's history shows.

mod delete;
mod deploy;
mod kubectl_messages;
mod look_up;
mod patch;
mod rollout;
mod traffic;

use serde_json::Value;
use spindrift_model::{Get, List, OperationError, Verb};
use spindrift_spinnaker::{
    Coordinates, Failure, FullName, Kind, Line, Lines, Manifest, OperationDescription, OperationResult,
    SpinnakerOperation,
};
use tracing::warn;

use super::{step_error::StepError, steps::Steps};
use crate::clouddriver::{
    Account,
    object_ref::{DEFAULT_NAMESPACE, api_version_and_kind, object_ref},
};

/// Executor of one operation in one account.
pub(super) struct OperationExecutor<'a> {
    steps: &'a mut Steps,
    account: &'a Account,
    operation: SpinnakerOperation,
}

/// List of objects to read.
struct Listing<'a> {
    kind: &'a Kind,
    namespace: &'a str,
    selector: Option<String>,
    forbidden: Forbidden,
}

/// Treatment of objects that the account may not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Forbidden {
    /// They may exist, so that the operation fails.
    IsFailure,
    /// They count as missing.
    IsNothing,
}

/// Result of an operation; some have none.
pub(super) type Outcome = Result<Option<OperationResult>, StepError>;

// === impl OperationExecutor ===

impl<'a> OperationExecutor<'a> {
    pub(super) fn new(steps: &'a mut Steps, account: &'a Account, operation: SpinnakerOperation) -> Self {
        Self { steps, account, operation }
    }

    /// Runs the operation. `manifests` are those of a deployment, with their namespaces.
    pub(super) async fn run(
        &mut self,
        description: &OperationDescription,
        manifests: Vec<Manifest>,
    ) -> Outcome {
        if let OperationDescription::Deploy(request) = description {
            return self.deploy(request, manifests).await.map(Some);
        }
        self.say_all(self.lines().start(self.account.name.as_str()));
        let target = |location: &str| {
            let name = FullName::parse(description.target().unwrap_or_default());
            name.map(|name| name.at(location)).map_err(|error| Failure::illegal_argument(error.to_string()))
        };
        match description {
            OperationDescription::Deploy(_) => Ok(None),
            OperationDescription::RunJob(job) => {
                let (request, manifest) = job.deployment()?;
                let result = self.deploy(&request, vec![manifest]).await?;
                Ok(Some(result.of_job()))
            }
            OperationDescription::Scale(scale) => {
                let target = target(&scale.location)?;
                let replicas = scale.replicas.unwrap_or_default();
                self.scale(&target, replicas, self.lines().calling_scale(&target, replicas)).await
            }
            OperationDescription::Resize(resize) => {
                let target = target(&resize.region)?;
                let desired = resize.capacity.as_ref().and_then(|capacity| capacity.desired);
                self.scale(&target, desired.unwrap_or_default(), self.lines().calling(&target)).await
            }
            OperationDescription::Rollout(rollout) => self.roll_out(&target(&rollout.location)?).await,
            OperationDescription::Undo(undo) => self.undo(undo, &target(&undo.location)?).await,
            OperationDescription::Patch(patch) => self.patch(patch, &target(&patch.location)?).await,
            OperationDescription::Traffic(switch) => self.switch(switch, &target(&switch.location)?).await,
            OperationDescription::Delete(delete) => self.delete(delete).await.map(Some),
            OperationDescription::Cleanup(cleanup) => self.clean_up(cleanup).await.map(Some),
        }
    }

    fn lines(&self) -> Lines {
        Lines(self.operation)
    }

    fn say(&mut self, line: Line) {
        self.steps.say(line);
    }

    fn say_all(&mut self, lines: impl IntoIterator<Item = Line>) {
        lines.into_iter().for_each(|line| self.steps.say(line));
    }

    /// Reads one object, if it exists.
    async fn get(&mut self, target: &Coordinates) -> Result<Option<Manifest>, StepError> {
        let (live, account) = (self.steps.live(), self.account.name.clone());
        let get = Get { target: object_ref(target), reveal: false, anywhere: false };
        let found = self.steps.read(live.get(&account, get)).await;
        let found: Option<Value> = found.map_err(|error| error.or_failure(|said| unread(target, said)))?;
        Ok(found.and_then(|object| Manifest::try_from(object).ok()))
    }

    /// Reads one object for an error message; none if it cannot be read.
    async fn peek(&mut self, target: &Coordinates) -> Result<Option<Manifest>, StepError> {
        match self.get(target).await {
            Err(StepError::Lost) => Err(StepError::Lost),
            found => Ok(found.ok().flatten()),
        }
    }

    /// Reads the objects of a kind for which `is_wanted` is true.
    async fn list(
        &mut self,
        listing: Listing<'_>,
        is_wanted: impl Fn(&Manifest) -> bool,
    ) -> Result<Vec<Manifest>, StepError> {
        let (live, account) = (self.steps.live(), self.account.name.clone());
        let Listing { kind, namespace, selector, forbidden } = listing;
        let (api_version, kind_ref) = api_version_and_kind(kind);
        let list = List {
            api_version,
            kind: kind_ref,
            namespace: Some(or_default(namespace)),
            label_selector: selector,
            field_selector: None,
            anywhere: false,
        };
        let reading = async {
            let objects = match live.list(&account, list).await {
                Err(error) if forbidden == Forbidden::IsNothing && error.is_forbidden() => {
                    warn!(%account, %kind, namespace, %error, "objects could not be listed and count as missing");
                    Vec::new()
                }
                objects => objects?,
            };
            let objects = objects.into_iter().filter_map(|object| Manifest::try_from(object).ok());
            Ok(objects.filter(is_wanted).collect::<Vec<_>>())
        };
        let unread =
            |said: &str| Failure::kubectl(format!("Failed to read [{kind}] from {namespace}: {said}"));
        self.steps.read(reading).await.map_err(|error| error.or_failure(unread))
    }

    /// Sends a verb that only reads, and converts its response.
    async fn read<T>(&mut self, verb: Verb, make: impl FnOnce(&Value) -> T) -> Result<T, StepError>
    where
        T: serde::Serialize + serde::de::DeserializeOwned,
    {
        let (live, account) = (self.steps.live(), self.account.name.clone());
        let reading = async {
            let answer = live.call(&account, verb, None, None).await?.json()?;
            Ok::<_, OperationError>(make(&answer))
        };
        self.steps.read(reading).await
    }

    async fn change(&mut self, verb: Verb) -> Result<Value, StepError> {
        let account = &self.account.name;
        self.steps.change(account, verb).await
    }
}

// === impl Listing ===

impl<'a> Listing<'a> {
    /// All objects of a kind in a namespace.
    fn of(kind: &'a Kind, namespace: &'a str) -> Self {
        Self { kind, namespace, selector: None, forbidden: Forbidden::IsFailure }
    }
}

/// Kubectl's default namespace, for verbs to which an empty one means all namespaces.
fn or_default(namespace: &str) -> String {
    if namespace.is_empty() { DEFAULT_NAMESPACE.to_owned() } else { namespace.to_owned() }
}

fn unread(target: &Coordinates, said: &str) -> Failure {
    let Coordinates { kind, namespace, name } = target;
    Failure::kubectl(format!("Failed to read {kind}/{name} from {namespace}: {said}"))
}
