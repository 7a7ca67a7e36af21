//! Workload kinds: those that run pods.

use serde_json::{Value, json};

use super::pod;
use crate::decisions::Decisions;

/// Workloads select their pods by this label.
const APP: &str = "web";

pub(super) fn deployment(decisions: &Decisions) -> Value {
    json!({ "spec": {
        "replicas": decisions.maybe("replicas", 70, |decisions| decisions.number("count", 0..6).into()),
        "selector": selector(decisions),
        "template": pod::template(&decisions.within("template"), APP),
        "strategy": decisions.maybe("strategy", 60, |decisions| match decisions.one("type", &["Recreate", "RollingUpdate", "some"]) {
            "some" => json!({ "rollingUpdate": { "maxSurge": "50%" } }),
            "Recreate" => json!({ "type": "Recreate" }),
            _ => json!({ "type": "RollingUpdate", "rollingUpdate": decisions.maybe("rolling", 60, |decisions| json!({
                "maxSurge": decisions.one("surge", &[json!(1), json!("25%"), json!("100%")]),
                "maxUnavailable": decisions.maybe("unavailable", 50, |decisions| decisions.number("pods", 0..3).into()),
            })) }),
        }),
        "minReadySeconds": decisions.maybe("ready", 30, |decisions| decisions.number("seconds", 0..10).into()),
        "revisionHistoryLimit": decisions.maybe("history", 30, |decisions| decisions.number("limit", 0..10).into()),
        "progressDeadlineSeconds": decisions.maybe("progress", 20, |decisions| decisions.number("seconds", 100..900).into()),
        "paused": decisions.maybe("paused", 15, |decisions| decisions.chance("yes", 50).into()),
    } })
}

pub(super) fn stateful_set(decisions: &Decisions) -> Value {
    let firm = decisions.firm();
    json!({ "spec": {
        "replicas": decisions.maybe("replicas", 70, |decisions| decisions.number("count", 0..6).into()),
        "selector": selector(decisions),
        "template": pod::template(&decisions.within("template"), APP),
        "serviceName": firm.one("service", &["web", "other"]),
        "podManagementPolicy": firm.maybe("management", 40, |decisions| decisions.one("policy", &["Parallel", "OrderedReady"]).into()),
        "updateStrategy": decisions.maybe("strategy", 50, |decisions| match decisions.one("type", &["OnDelete", "RollingUpdate"]) {
            "OnDelete" => json!({ "type": "OnDelete" }),
            _ => json!({ "type": "RollingUpdate", "rollingUpdate": { "partition": decisions.number("partition", 0..3) } }),
        }),
        "volumeClaimTemplates": firm.maybe("claims", 40, |decisions| decisions.items("names", 1, &["data", "wal"], |name, _| json!({
            "metadata": { "name": name },
            "spec": { "accessModes": ["ReadWriteOnce"], "resources": { "requests": { "storage": "1Gi" } } },
        }))),
        "persistentVolumeClaimRetentionPolicy": decisions.maybe("retention", 20, |decisions| json!({
            "whenDeleted": decisions.one("deleted", &["Retain", "Delete"]),
            "whenScaled": "Retain",
        })),
        "minReadySeconds": decisions.maybe("ready", 30, |decisions| decisions.number("seconds", 0..10).into()),
        "revisionHistoryLimit": decisions.maybe("history", 30, |decisions| decisions.number("limit", 0..10).into()),
    } })
}

pub(super) fn daemon_set(decisions: &Decisions) -> Value {
    json!({ "spec": {
        "selector": selector(decisions),
        "template": pod::template(&decisions.within("template"), APP),
        "updateStrategy": decisions.maybe("strategy", 60, |decisions| match decisions.one("type", &["OnDelete", "RollingUpdate"]) {
            "OnDelete" => json!({ "type": "OnDelete" }),
            _ => json!({ "type": "RollingUpdate", "rollingUpdate": { "maxUnavailable": decisions.number("pods", 1..4) } }),
        }),
        "minReadySeconds": decisions.maybe("ready", 30, |decisions| decisions.number("seconds", 0..10).into()),
        "revisionHistoryLimit": decisions.maybe("history", 30, |decisions| decisions.number("limit", 0..10).into()),
    } })
}

pub(super) fn job(decisions: &Decisions) -> Value {
    let firm = decisions.firm();
    let mut job = job_spec(&firm);
    job["parallelism"] =
        decisions.maybe("parallelism", 50, |decisions| decisions.number("pods", 0..5).into());
    job["activeDeadlineSeconds"] =
        decisions.maybe("deadline", 40, |decisions| decisions.number("seconds", 10..900).into());
    job["ttlSecondsAfterFinished"] =
        decisions.maybe("ttl", 30, |decisions| decisions.number("seconds", 0..900).into());
    job["suspend"] = decisions.maybe("suspend", 30, |decisions| decisions.chance("yes", 50).into());
    json!({ "spec": job })
}

pub(super) fn cron_job(decisions: &Decisions) -> Value {
    json!({ "spec": {
        "schedule": decisions.one("schedule", &["* * * * *", "0 3 * * 1-5", "@daily"]),
        "timeZone": decisions.maybe("zone", 20, |decisions| decisions.one("name", &["Etc/UTC", "UTC"]).into()),
        "concurrencyPolicy": decisions.maybe("concurrency", 50, |decisions| decisions.one("policy", &["Allow", "Forbid", "Replace"]).into()),
        "suspend": decisions.maybe("suspend", 40, |decisions| decisions.chance("yes", 50).into()),
        "startingDeadlineSeconds": decisions.maybe("deadline", 30, |decisions| decisions.number("seconds", 10..900).into()),
        "successfulJobsHistoryLimit": decisions.maybe("history", 30, |decisions| decisions.number("limit", 0..9).into()),
        "jobTemplate": {
            "metadata": { "labels": decisions.map("labels", 0, &["tier", "track"], &["front", "back"]) },
            "spec": job_spec(&decisions.within("job")),
        },
    } })
}

fn job_spec(decisions: &Decisions) -> Value {
    let mut template = pod::template(&decisions.within("template"), APP);
    template["spec"]["restartPolicy"] = decisions.one("restart", &["Never", "OnFailure"]).into();
    json!({
        "completions": decisions.maybe("completions", 40, |decisions| decisions.number("pods", 1..5).into()),
        "backoffLimit": decisions.maybe("backoff", 40, |decisions| decisions.number("limit", 0..9).into()),
        "template": template,
    })
}

fn selector(decisions: &Decisions) -> Value {
    let more = decisions.firm().maybe("selector", 20, |_| json!([{ "key": "app", "operator": "Exists" }]));
    json!({ "matchLabels": { "app": APP }, "matchExpressions": more })
}
