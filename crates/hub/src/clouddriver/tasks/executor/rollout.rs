//! Scale, resize, pause, resume, restart and undo: one verb each.

use serde_json::Value;
use spindrift_model::{DryRun, Rollout, RolloutAction, Scale, Verb};
use spindrift_spinnaker::{
    Coordinates, Failure, Line, SpinnakerOperation,
    operation::{UndoRollout, pick_revision},
};

use super::{OperationExecutor, Outcome, kubectl_messages};
use crate::clouddriver::{object_ref::object_ref, tasks::step_error::StepError};

// === impl OperationExecutor ===

impl OperationExecutor<'_> {
    /// Sets the number of replicas.
    pub(super) async fn scale(&mut self, target: &Coordinates, replicas: i64, calling: Line) -> Outcome {
        self.check_kind(target)?;
        self.say(calling);
        let count = u32::try_from(replicas).map_err(|_| {
            let said = "error: The --replicas=COUNT flag is required, and COUNT must be greater than or equal to 0\n";
            self.lines().failed(target, said)
        })?;
        let scale = Scale {
            target: object_ref(target),
            replicas: count,
            current_replicas: None,
            resource_version: None,
            dry_run: DryRun::None,
        };
        self.call(target, Verb::Scale(scale)).await
    }

    /// Pauses, resumes or restarts.
    pub(super) async fn roll_out(&mut self, target: &Coordinates) -> Outcome {
        self.check_kind(target)?;
        self.say(self.lines().calling(target));
        let action = match self.operation {
            SpinnakerOperation::PauseRolloutManifest => RolloutAction::Pause,
            SpinnakerOperation::ResumeRolloutManifest => RolloutAction::Resume,
            _ => RolloutAction::Restart,
        };
        self.call(target, rollout(target, action)).await
    }

    /// Rolls back, to a revision or by a number of revisions.
    pub(super) async fn undo(&mut self, undo: &UndoRollout, target: &Coordinates) -> Outcome {
        self.check_kind(target)?;
        let lines = self.lines();
        let revision = match undo.num_revisions_back {
            Some(back) => {
                self.say(lines.looking_up_history());
                let history = rollout(target, RolloutAction::History { revision: None });
                let revisions = self.read(history, revisions).await;
                let revisions =
                    revisions.map_err(|error| error.or_failure(|said| lines.failed(target, said)))?;
                let revision = pick_revision(revisions, back)?;
                self.say(lines.picked_revision(revision));
                revision
            }
            None => undo.revision.unwrap_or_default(),
        };
        self.say(lines.calling_undo(target, revision));
        let to_revision = u64::try_from(revision).map_err(|_| {
            lines.failed(target, &format!("error: revision must be a positive integer: {revision}\n"))
        })?;
        let undo = rollout(target, RolloutAction::Undo { to_revision: Some(to_revision) });
        if let Err(error) = self.change(undo).await {
            return Err(self.not_undone(error, target).await);
        }
        self.say_all(lines.done());
        Ok(None)
    }

    /// Failure of an undo: kubectl prints its warning about applied objects before the error.
    async fn not_undone(&mut self, error: StepError, target: &Coordinates) -> StepError {
        let lines = self.lines();
        let StepError::Operation(_) = &error else { return error };
        let warning = match self.peek(target).await {
            Ok(object) => {
                object.and_then(|object| kubectl_messages::rollback_warning(&object)).unwrap_or_default()
            }
            Err(lost) => return lost,
        };
        error.or_failure(|said| lines.failed(target, &format!("{warning}{said}")))
    }

    /// Checks that the kind of the target supports the operation.
    fn check_kind(&mut self, target: &Coordinates) -> Result<(), Failure> {
        self.say(self.lines().looking_up());
        self.operation.capability().map_or(Ok(()), |capability| capability.check(target))?;
        Ok(())
    }

    async fn call(&mut self, target: &Coordinates, verb: Verb) -> Outcome {
        let lines = self.lines();
        self.change(verb).await.map_err(|error| error.or_failure(|said| lines.failed(target, said)))?;
        self.say_all(lines.done());
        Ok(None)
    }
}

fn rollout(target: &Coordinates, action: RolloutAction) -> Verb {
    Verb::Rollout(Rollout { target: object_ref(target), action, dry_run: DryRun::None })
}

fn revisions(history: &Value) -> Vec<i64> {
    let revisions = history["revisions"].as_array().into_iter().flatten();
    revisions.filter_map(|revision| revision["revision"].as_i64()).collect()
}
