//! Every recorded execution, against the answers that the recorded Orca got.

use std::collections::HashMap;

use serde_json::{Value, json};
use spindrift_tests::spinnaker::{
    Orca, Pace, RecordedCall, RecordedClouddriver, RecordedExecution, StageSpec, differences_of_calls,
    differences_of_outcome, recorded,
};

#[tokio::test]
async fn every_recorded_execution_ends_as_it_did_after_the_same_calls() {
    let all_calls = recorded::calls_of_orca();
    for execution in recorded::executions() {
        let calls: Vec<_> = all_calls
            .iter()
            .filter(|call| call.execution.as_ref() == Some(&execution.name))
            .cloned()
            .collect();
        let clouddriver = RecordedClouddriver::knowing(&[]).await.unwrap();
        teach(&clouddriver, &execution, &calls);
        let stages = execution.stages.iter().filter(|stage| stage.synthetic_stage_owner.is_none());
        let stages =
            stages.map(|stage| StageSpec { kind: stage.r#type.clone(), context: stage.given.clone() });

        let ours = Orca::new(clouddriver.url(), &execution.application, Pace::QUICK).run(stages).await;

        let mut differences = differences_of_outcome(&execution, &ours);
        differences.extend(differences_of_calls(&calls, &ours.calls));
        let differences: Vec<_> = differences.iter().map(ToString::to_string).collect();
        assert_eq!(differences.join("\n"), "", "{}", execution.name);
    }
}

#[tokio::test]
async fn an_execution_that_went_another_way_is_noticed() {
    let execution = recorded::executions().into_iter().find(|it| it.name == "scale").unwrap();
    let calls = recorded::calls_of_orca();
    let calls: Vec<_> = calls.into_iter().filter(|call| call.execution.as_deref() == Some("scale")).collect();
    let clouddriver = RecordedClouddriver::knowing(&[]).await.unwrap();
    teach(&clouddriver, &execution, &calls);
    let stage = StageSpec { kind: "pauseRolloutManifest".into(), context: execution.stages[0].given.clone() };

    let ours = Orca::new(clouddriver.url(), &execution.application, Pace::QUICK).run([stage]).await;

    let paths = |differences: Vec<_>| -> Vec<String> {
        let path = |it: spindrift_tests::spinnaker::Difference| it.path;
        differences.into_iter().map(path).collect()
    };
    assert!(paths(differences_of_outcome(&execution, &ours)).contains(&"/stages/0/type".to_owned()));
    let called = paths(differences_of_calls(&calls, &ours.calls));
    assert!(called.contains(&"/calls/0/body/0/scaleManifest".to_owned()), "{called:?}");
}

/// Answers were not recorded with the calls: they are put together from the context of the execution.
fn teach(clouddriver: &RecordedClouddriver, execution: &RecordedExecution, calls: &[RecordedCall]) {
    let memory = Memory::of(execution);
    for (index, call) in calls.iter().enumerate() {
        let path = call.path.split('?').next().unwrap();
        let polled_again = calls[index + 1..].iter().any(|later| later.path == call.path);
        let body = match path.split('/').collect::<Vec<_>>()[1..] {
            ["kubernetes", "ops"] if call.status == 400 => memory.refusal.clone(),
            ["kubernetes", "ops"] => {
                let monitored = calls[index + 1..].iter().find_map(|later| later.path.strip_prefix("/task/"));
                json!({ "id": monitored.unwrap(), "resourceUri": "/task/…" })
            }
            ["task", id] if polled_again => {
                let status = json!({ "completed": false, "failed": false, "retryable": false });
                json!({ "id": id, "status": status, "history": [], "resultObjects": [], "outputs": [] })
            }
            ["task", id] => memory.tasks[id].clone(),
            ["manifests", .., "replicaSet", "cluster", _, _] => memory.cluster(calls, index),
            ["manifests", .., "dynamic", _] => memory.target(),
            ["manifests", _, _, name] => memory.manifest(&name.replace("%20", " ")),
            [.., "jobs", _, _, _] => memory.outputs["jobStatus"].clone(),
            [.., "jobs", _, _, _, _] => memory.outputs["propertyFileContents"].clone(),
            _ => panic!("{}: nobody knows what {path} answered", execution.name),
        };
        match path {
            // Operations differ in nothing but their order.
            "/kubernetes/ops" => clouddriver.answer("POST", "/kubernetes/ops", call.status, body),
            path => clouddriver.answer("GET", path, call.status, body),
        }
    }
}

/// Clouddriver's answers, as far as an execution's context has them.
struct Memory {
    tasks: HashMap<String, Value>,
    outputs: Value,
    refusal: Value,
}

// === impl Memory ===

impl Memory {
    fn of(execution: &RecordedExecution) -> Self {
        let mut tasks = HashMap::new();
        let mut outputs = json!({});
        let mut refusal = Value::Null;
        for stage in &execution.stages {
            for task in stage.context.get("kato.tasks").and_then(Value::as_array).into_iter().flatten() {
                tasks.insert(task["id"].as_str().unwrap().to_owned(), task.clone());
            }
            if let Some(exception) = stage.context.get("exception") {
                let details = &exception["details"];
                refusal = json!({
                    "status": 400, "error": details["error"], "errors": details["errors"],
                    "exception": details["rootException"], "message": "Validation Failed",
                });
            }
            outputs.as_object_mut().unwrap().extend(stage.outputs.clone());
        }
        Self { tasks, outputs, refusal }
    }

    /// Those that Orca then went on to treat, and the new one.
    fn cluster(&self, calls: &[RecordedCall], index: usize) -> Value {
        let treated = calls[index..].iter().filter_map(|call| call.body.as_ref()?[0].as_object()).filter_map(
            |operation| operation.get("disableManifest").or_else(|| operation.get("deleteManifest")),
        );
        let treated = treated.map(|description| description["manifestName"].as_str().unwrap());
        let new = self.outputs["outputs.manifestNamesByNamespace"]["default"][0].as_str();
        let deployed = self.tasks.values().find_map(|task| {
            task["resultObjects"][0]["createdArtifacts"].as_array()?.first()?["reference"].as_str()
        });
        let deployed = format!("replicaSet {}", deployed.unwrap_or_else(|| new.unwrap()));
        let mut names: Vec<_> = treated.map(str::to_owned).chain([deployed]).collect();
        names.sort();
        names.dedup();
        let coordinates = names.iter().map(|name| {
            let (kind, name) = name.split_once(' ').unwrap();
            json!({ "kind": kind, "name": name, "namespace": "default" })
        });
        coordinates.collect()
    }

    fn target(&self) -> Value {
        let (kind, name) = self.outputs["manifestName"].as_str().unwrap().split_once(' ').unwrap();
        json!({ "kind": kind, "name": name, "namespace": "default" })
    }

    /// All of them had become stable by the time that Orca asked.
    fn manifest(&self, name: &str) -> Value {
        let found = self.outputs.get("manifest").cloned();
        let manifest = found.unwrap_or_else(
            || json!({ "kind": name, "status": { "readyReplicas": 1.0, "availableReplicas": 1.0 } }),
        );
        json!({
            "name": name, "manifest": manifest, "events": [], "warnings": [],
            "artifacts": self.outputs.get("artifacts").cloned().unwrap_or(json!([])),
            "status": { "stable": { "state": true }, "failed": { "state": false } },
        })
    }
}
