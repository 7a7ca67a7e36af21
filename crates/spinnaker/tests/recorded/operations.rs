//! Operations on existing objects: history, requests and results of each. The responses of the cluster come from the
//! recording: success, or kubectl's message.

use serde_json::{Value, json};
use spindrift_spinnaker::{
    Binding, Cleanup, Coordinates, Failure, FullName, ImageMatch, Line, Lines, Manifest,
    OperationDescription, OperationResult, SpinnakerOperation, SubmittedOperation, Task, TaskState,
    operation::{
        CleanupArtifacts, DeleteManifest, DeleteOptions, EnableManifest, MergeStrategy, PatchBody,
        PatchManifest, UndoRollout, pick_revision,
    },
    traffic,
};

use crate::{assert_same, entries};

/// Operation that runs.
struct Run<'a> {
    operation: SpinnakerOperation,
    account: String,
    /// Recorded end.
    recorded: &'a Value,
    history: Vec<Line>,
}

type Outcome = Result<Option<OperationResult>, Failure>;

#[test]
fn operations_write_the_recorded_history_and_results() {
    let entries = entries(include_str!("operations.jsonl"));
    assert_eq!(entries.len(), 39);
    for entry in entries {
        let operation = SpinnakerOperation::parse(entry["operation"].as_str().unwrap()).unwrap();
        let submission = SubmittedOperation::parse(operation, entry["description"].clone()).unwrap();
        let account = submission.account.wanted().unwrap().to_owned();
        let history = vec![Line::initializing(), Line::processing(operation)];
        let mut run = Run { operation, account, recorded: &entry, history };
        let outcome = run.run(&submission.description);
        let task = run.task(outcome);
        let recorded = entry["results"].as_array().cloned().unwrap_or_else(|| vec![entry["error"].clone()]);
        let what = format!("recording {}", entry["recording"]);
        let task = serde_json::to_value(task).unwrap();
        assert_same(task["resultObjects"].clone(), Value::Array(recorded), &what);
        let lines = task["history"].as_array().unwrap().iter();
        let lines: Vec<_> = lines.map(|line| json!([line["phase"], line["status"]])).collect();
        assert_eq!(Value::Array(lines), entry["history"], "{what}");
    }
}

// === impl Run ===

impl Run<'_> {
    fn run(&mut self, description: &OperationDescription) -> Outcome {
        self.history.extend(self.lines().start(&self.account));
        let target = |location: &str| FullName::parse(description.target().unwrap()).unwrap().at(location);
        match description {
            OperationDescription::Scale(scale) => {
                let replicas = scale.replicas.unwrap_or(0);
                self.simple(&target(&scale.location), |lines, target| lines.calling_scale(target, replicas))
            }
            OperationDescription::Resize(resize) => self.simple(&target(&resize.region), Lines::calling),
            OperationDescription::Rollout(rollout) => self.simple(&target(&rollout.location), Lines::calling),
            OperationDescription::Undo(undo) => self.undo(undo, &target(&undo.location)),
            OperationDescription::Patch(patch) => self.patch(patch, &target(&patch.location)),
            OperationDescription::Traffic(switch) => self.switch(switch, &target(&switch.location)),
            OperationDescription::Delete(delete) => self.delete(delete),
            OperationDescription::Cleanup(cleanup) => Ok(Some(self.clean_up(cleanup))),
            other => panic!("{other:?} is a deployment"),
        }
    }

    fn task(mut self, outcome: Outcome) -> Task {
        let (state, result_objects) = match outcome {
            Ok(result) => {
                self.history.push(Line::completed());
                (TaskState::Completed, result.iter().map(|it| serde_json::to_value(it).unwrap()).collect())
            }
            Err(failure) => {
                self.history.push(Line::failed(self.operation, &failure));
                (TaskState::Failed, vec![failure.result_object(self.operation)])
            }
        };
        let (id, owner_id) = ("id".into(), "me@here".into());
        Task { id, state, history: self.history, result_objects, start_time_ms: 0, owner_id }
    }

    fn simple(&mut self, target: &Coordinates, calling: impl Fn(Lines, &Coordinates) -> Line) -> Outcome {
        self.say(self.lines().looking_up());
        self.operation.capability().unwrap().check(target)?;
        self.say(calling(self.lines(), target));
        self.ask(&format!("from {}: ", target.namespace))
            .map_err(|said| self.lines().failed(target, &said))?;
        self.history.extend(self.lines().done());
        Ok(None)
    }

    fn undo(&mut self, undo: &UndoRollout, target: &Coordinates) -> Outcome {
        self.say(self.lines().looking_up());
        self.operation.capability().unwrap().check(target)?;
        let revision = match undo.num_revisions_back {
            Some(back) => {
                self.say(self.lines().looking_up_history());
                let revision = pick_revision(vec![1, 2, 3], back)?;
                self.say(self.lines().picked_revision(revision));
                revision
            }
            None => undo.revision.unwrap(),
        };
        self.say(self.lines().calling_undo(target, revision));
        self.history.extend(self.lines().done());
        Ok(None)
    }

    fn patch(&mut self, patch: &PatchManifest, target: &Coordinates) -> Outcome {
        self.say(self.lines().finding_patch_handler(target));
        let strategy = patch.options.as_ref().and_then(|options| options.merge_strategy).unwrap();
        if strategy != MergeStrategy::Json {
            self.say(self.lines().swapping_artifacts(target));
        }
        let account = self.account.clone();
        let binding =
            Binding { account: &account, namespace: &target.namespace, images: ImageMatch::default() };
        let body = PatchBody::prepare(patch, &target.kind, binding)?;
        self.say(self.lines().submitting_patch(target));
        let prefix = format!("in namespace: {}: ", target.namespace);
        self.ask(&prefix).map_err(|said| self.lines().failed(target, &said))?;
        self.history.extend(self.lines().done());
        let mut result = OperationResult::new();
        result.add_stub(target);
        result.add_bound(body.bound);
        Ok(Some(result))
    }

    fn switch(&mut self, switch: &EnableManifest, target: &Coordinates) -> Outcome {
        if target.name == "nope" {
            return Err(Failure::no_such_manifest(target));
        }
        self.say(self.lines().getting_load_balancers());
        let annotated: &[&str] =
            if target.name.starts_with("traffic") { &["service traffic-svc"] } else { &[] };
        let supplied = !switch.load_balancers.is_empty();
        let list = if supplied {
            switch.load_balancers.clone()
        } else {
            annotated.iter().map(ToString::to_string).collect()
        };
        self.say(self.lines().using_load_balancers(supplied, &list));
        for name in &list {
            let service = traffic::load_balancer(name)?.at(&*target.namespace);
            if service.name == "nope" {
                return Err(Failure::no_such_load_balancer(&service));
            }
            self.say(self.lines().patching_target(name));
            if target.kind.has_pods_of_its_own() {
                self.say(self.lines().patching_pods(name));
            }
        }
        self.say(self.lines().traffic_done(target));
        Ok(None)
    }

    fn delete(&mut self, delete: &DeleteManifest) -> Outcome {
        let mut result = OperationResult::new();
        result.names_in(&delete.location);
        for target in delete.targets() {
            self.say(self.lines().deleting(&target.kind));
            self.say(self.lines().calling_delete(&target));
            DeleteOptions::parse(&delete.options).map_err(|said| delete.failed(&target, &said))?;
            delete.check(&target).map_err(|said| delete.failed(&target, said))?;
            let recorded = &self.recorded["results"][0]["manifestNamesByNamespace"][&delete.location];
            for name in recorded
                .as_array()
                .unwrap()
                .iter()
                .map(|name| FullName::parse(name.as_str().unwrap()).unwrap())
            {
                if name.kind == target.kind {
                    result.add_name(&Coordinates { name: name.name, ..target.clone() });
                }
            }
            self.say(self.lines().deleted(&target));
        }
        self.history.extend(self.lines().done());
        Ok(Some(result))
    }

    fn clean_up(&mut self, cleanup: &CleanupArtifacts) -> OperationResult {
        let mut result = OperationResult::of_cleanup();
        for manifest in &cleanup.manifests {
            let newest = Manifest::try_from(manifest.clone()).unwrap();
            let Some(cleanup) = Cleanup::of(&newest) else { continue };
            let older = |version: &str, created: &str| {
                let mut older = manifest.clone();
                older["metadata"]["annotations"]["artifact.spinnaker.io/version"] = version.into();
                older["metadata"]["creationTimestamp"] = created.into();
                Manifest::try_from(older).unwrap()
            };
            let live = [newest, older("v001", "2026-11-15T20:38:37Z"), older("v000", "2026-11-15T20:38:35Z")];
            for outdated in cleanup.outdated(&live, &self.account) {
                self.say(self.lines().cleaning(&outdated.artifact));
                result.add_name(&Coordinates::new(cleanup.kind.clone(), &*cleanup.namespace, outdated.name));
            }
        }
        result
    }

    /// Recorded response of the cluster; kubectl's message if it failed.
    fn ask(&self, prefix: &str) -> Result<(), String> {
        match self.recorded["error"]["message"].as_str() {
            Some(message) => Err(message.split_once(prefix).unwrap().1.to_owned()),
            None => Ok(()),
        }
    }

    fn lines(&self) -> Lines {
        Lines(self.operation)
    }

    fn say(&mut self, line: Line) {
        self.history.push(line);
    }
}
