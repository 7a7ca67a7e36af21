//! Jobs, which Orca polls, and the properties that they print.

use serde::Serialize;
use serde_json::{Map, Value};

use super::KUBERNETES;
use crate::{Manifest, gson::without_nulls, row::milliseconds};

/// Job and its pods, read live.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct JobView<'a> {
    account: &'a str,
    name: &'a str,
    location: &'a str,
    provider: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    created_time: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    failure_details: Option<String>,
    pods: Vec<PodOfJob<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    most_recent_pod_name: Option<&'a str>,
    job_state: JobState,
    completion_details: CompletionDetails<'a>,
}

/// State of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum JobState {
    Running,
    Succeeded,
    Failed,
}

/// Pod of a job. Its numbers are integers: here Clouddriver parses objects with another library.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PodOfJob<'a> {
    name: &'a str,
    status: Value,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct CompletionDetails<'a> {
    reason: &'a str,
    exit_code: &'a str,
    message: &'a str,
    signal: &'a str,
}

/// Error for an object that is not a job.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0} is not a job")]
pub struct NotAJob(String);

// === impl JobView ===

impl<'a> JobView<'a> {
    /// Builds the view; `pods` are those that the job's selector matches.
    pub fn new(account: &'a str, job: &'a Manifest, pods: &'a [Manifest]) -> Result<Self, NotAJob> {
        if !job.kind().is("job") {
            return Err(NotAJob(job.full_name().to_string()));
        }
        let mut pods: Vec<_> = pods.iter().collect();
        pods.sort_by_key(|pod| pod.pointer("/status/startTime").and_then(Value::as_str));
        let failure = failure(job);
        let job_state = JobState::of(job, failure.is_some());
        let failure = failure.filter(|_| job_state == JobState::Failed);
        let said = |key: &str| failure.and_then(|condition| condition.get(key)?.as_str());
        let (message, reason) = (said("message"), said("reason"));
        Ok(Self {
            account,
            name: job.shown_name(),
            location: job.namespace(),
            provider: KUBERNETES,
            created_time: milliseconds(job.created()),
            message,
            reason,
            failure_details: failure.and_then(|_| pods.iter().find_map(|pod| pod_failure(pod))),
            most_recent_pod_name: pods.last().map(|pod| pod.shown_name()),
            pods: pods.into_iter().map(PodOfJob::new).collect(),
            job_state,
            completion_details: CompletionDetails {
                reason: reason.unwrap_or_default(),
                message: message.unwrap_or_default(),
                ..CompletionDetails::default()
            },
        })
    }

    /// `kubernetes.jobs.detailed-pod-status: false`: leaves out the states of pods, but not failures.
    #[must_use]
    pub fn without_pods(self) -> Self {
        Self { pods: Vec::new(), ..self }
    }
}

fn failure(job: &Manifest) -> Option<&Value> {
    let conditions = job.pointer("/status/conditions")?.as_array()?.iter();
    let is =
        |condition: &Value, key: &str, wanted: &str| condition.get(key).is_some_and(|text| text == wanted);
    conditions
        .into_iter()
        .find(|condition| is(condition, "type", "Failed") && is(condition, "status", "True"))
}

/// Failure of a pod: the first container that ended with an error, else the first that waits.
fn pod_failure(pod: &Manifest) -> Option<String> {
    let containers = ["/status/initContainerStatuses", "/status/containerStatuses"].into_iter();
    let containers: Vec<_> =
        containers.filter_map(|statuses| pod.pointer(statuses)?.as_array()).flatten().collect();
    let name =
        |container: &Value| container.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
    let text =
        |state: &Value, key: &str| state.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let ended = containers.iter().find_map(|container| {
        let state = container.pointer("/state/terminated")?;
        let code = state.get("exitCode").and_then(Value::as_i64).filter(|code| *code != 0)?;
        Some(format!(
            "Container: '{}' exited with code: {code}.\n Status: {}.\n Logs: {}",
            name(container),
            text(state, "reason"),
            text(state, "message")
        ))
    });
    let waiting = || {
        containers.iter().find_map(|container| {
            let state = container.pointer("/state/waiting")?;
            let (reason, message) = (text(state, "reason"), text(state, "message"));
            Some(format!(
                "Container: '{}' is waiting.\n Status: {reason}.\n Logs: {message}",
                name(container)
            ))
        })
    };
    ended.or_else(waiting).map(|what| format!("Pod: '{}' had errors.\n {what}", pod.shown_name()))
}

// === impl JobState ===

impl JobState {
    fn of(job: &Manifest, failed: bool) -> Self {
        let count = |pointer: &str| job.pointer(pointer).and_then(Value::as_i64);
        if job.pointer("/status").is_none_or(Value::is_null) {
            Self::Running
        } else if count("/status/succeeded").unwrap_or(0) >= count("/spec/completions").unwrap_or(1) {
            Self::Succeeded
        } else if failed {
            Self::Failed
        } else {
            Self::Running
        }
    }
}

// === impl PodOfJob ===

impl<'a> PodOfJob<'a> {
    fn new(pod: &'a Manifest) -> Self {
        let status = pod.pointer("/status").cloned().unwrap_or_default();
        Self { name: pod.shown_name(), status: without_nulls(status) }
    }
}

/// Properties that a container printed: `SPINNAKER_PROPERTY_<key>=<value>`, and all of `SPINNAKER_CONFIG_JSON={…}`. If the
/// latter is invalid, there are none.
pub fn properties(log: &str) -> Map<String, Value> {
    const PROPERTY: &str = "SPINNAKER_PROPERTY_";
    let mut properties = Map::new();
    for line in log.lines().map(str::trim) {
        if let Some(config) = line.strip_prefix("SPINNAKER_CONFIG_JSON=") {
            match serde_json::from_str(config) {
                Ok(Value::Object(config)) => properties.extend(config),
                _ => return Map::new(),
            }
        } else if line.contains(PROPERTY)
            && let Some((key, value)) = line.split_once('=')
            && !value.is_empty()
        {
            // A prefix that a logger wrote is a part of the key.
            let key = key.replacen(PROPERTY, "", 1).trim().to_lowercase();
            properties.insert(key, value.trim().into());
        }
    }
    properties
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn view(job: &Value, pods: &Value) -> Value {
        let job = Manifest::try_from(job.clone()).unwrap();
        let pods: Vec<Manifest> = serde_json::from_value(pods.clone()).unwrap();
        serde_json::to_value(JobView::new("wide", &job, &pods).unwrap()).unwrap()
    }

    fn job(status: Value) -> Value {
        json!({"apiVersion": "batch/v1", "kind": "Job", "status": status, "metadata": {"name": "shop-job",
            "namespace": "wide-ns00", "creationTimestamp": "2026-11-15T20:38:24Z"}})
    }

    #[test]
    fn a_job_is_shown_as_recorded() {
        // recordings 106, 256 and 260
        let blank = json!({"reason": "", "exitCode": "", "message": "", "signal": ""});
        let running = json!({"account": "wide", "name": "shop-job", "location": "wide-ns00", "provider": "kubernetes",
            "createdTime": 1_794_775_104_000_i64, "pods": [], "jobState": "Running", "completionDetails": blank});
        assert_eq!(view(&job(json!(null)), &json!([])), running);
        assert_eq!(view(&job(json!({"failed": 1})), &json!([])), running);
        let late = json!({"conditions": [{"type": "Failed", "status": "True", "reason": "DeadlineExceeded",
            "message": "Job was active longer than specified deadline"}]});
        let mut failed = running.clone();
        failed["jobState"] = "Failed".into();
        for (key, value) in
            [("reason", "DeadlineExceeded"), ("message", "Job was active longer than specified deadline")]
        {
            failed[key] = value.into();
            failed["completionDetails"][key] = value.into();
        }
        assert_eq!(view(&job(late), &json!([])), failed);
        let pod = |name: &str, start: &str| {
            let status = json!({"startTime": start, "n": 0, "conditions": [{"lastProbeTime": null}]});
            json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "status": status})
        };
        let succeeded = view(&job(json!({"succeeded": 1})), &json!([pod("late", "2"), pod("early", "1")]));
        assert_eq!(succeeded["jobState"], "Succeeded");
        assert_eq!(succeeded["mostRecentPodName"], "late");
        let status = json!({"startTime": "1", "n": 0, "conditions": [{}]});
        assert_eq!(succeeded["pods"][0], json!({"name": "early", "status": status}));
    }

    #[test]
    fn a_failed_job_shows_the_failures_of_its_pods() {
        let failed = job(
            json!({"conditions": [{"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded"}]}),
        );
        let pod = |state: Value| {
            json!([{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"},
                "status": {"containerStatuses": [{"name": "ok", "state": {"terminated": {"exitCode": 0}}},
                    {"name": "main", "state": state}]}}])
        };
        let ended =
            view(&failed, &pod(json!({"terminated": {"exitCode": 2, "reason": "Error", "message": "boom"}})));
        assert_eq!(
            ended["failureDetails"],
            "Pod: 'p' had errors.\n Container: 'main' exited with code: 2.\n Status: Error.\n Logs: boom"
        );
        let (job, pods) = (Manifest::try_from(failed.clone()).unwrap(), pod(json!({"waiting": {}})));
        let pods: Vec<Manifest> = serde_json::from_value(pods).unwrap();
        let bare = JobView::new("wide", &job, &pods).unwrap().without_pods();
        let bare = serde_json::to_value(bare).unwrap();
        assert_eq!((&bare["pods"], &bare["mostRecentPodName"]), (&json!([]), &json!("p")));
        assert!(bare["failureDetails"].is_string(), "what went wrong is told all the same");
        let waiting = view(&failed, &pod(json!({"waiting": {"reason": "ImagePullBackOff"}})));
        assert!(waiting["failureDetails"].as_str().unwrap().contains("'main' is waiting"));
        let init = json!([{"name": "prepare", "state": {"terminated": {"exitCode": 1}}}]);
        let mut pods = pod(json!({"waiting": {"reason": "PodInitializing"}}));
        pods[0]["status"]["initContainerStatuses"] = init.clone();
        let only = json!([{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"},
            "status": {"initContainerStatuses": init}}]);
        for pods in [pods, only] {
            let told = view(&failed, &pods)["failureDetails"].to_string();
            assert!(told.contains("'prepare' exited with code: 1"), "{told}");
        }
    }

    #[test]
    fn properties_are_read_out_of_a_log() {
        // Log of every container in the recordings, and its properties in 264.
        let log = "hello from the container\nSPINNAKER_PROPERTY_BUILD_ID=42\nSPINNAKER_PROPERTY_Empty=\n\
                   SPINNAKER_CONFIG_JSON={\"nested\":{\"n\":1},\"s\":\"x\"}\nlast line\n";
        assert_eq!(Value::from(properties(log)), json!({"s": "x", "build_id": "42", "nested": {"n": 1}}));
        assert_eq!(Value::from(properties("  SPINNAKER_PROPERTY_A=b=c \n")), json!({"a": "b=c"}));
        assert!(properties("SPINNAKER_PROPERTY_A=b\nSPINNAKER_CONFIG_JSON={oops").is_empty());
        assert!(properties("SPINNAKER_PROPERTY_A\nSPINNAKER_PROPERTY_B= \n").is_empty());
        assert_eq!(Value::from(properties("SPINNAKER_PROPERTY_A = b c\r\n")), json!({"a": "b c"}));
        assert_eq!(Value::from(properties("INFO SPINNAKER_PROPERTY_A=b\n")), json!({"info a": "b"}));
    }
}
