//! Workload kinds: those that run pods.

use serde_json::{Value, json};

use super::pod;
use crate::dice::Dice;

/// Workloads select their pods by this label.
const APP: &str = "web";

pub(super) fn deployment(dice: &Dice) -> Value {
    json!({ "spec": {
        "replicas": dice.maybe("replicas", 70, |dice| dice.number("count", 0..6).into()),
        "selector": selector(dice),
        "template": pod::template(&dice.within("template"), APP),
        "strategy": dice.maybe("strategy", 60, |dice| match dice.one("type", &["Recreate", "RollingUpdate", "some"]) {
            "some" => json!({ "rollingUpdate": { "maxSurge": "50%" } }),
            "Recreate" => json!({ "type": "Recreate" }),
            _ => json!({ "type": "RollingUpdate", "rollingUpdate": dice.maybe("rolling", 60, |dice| json!({
                "maxSurge": dice.one("surge", &[json!(1), json!("25%"), json!("100%")]),
                "maxUnavailable": dice.maybe("unavailable", 50, |dice| dice.number("pods", 0..3).into()),
            })) }),
        }),
        "minReadySeconds": dice.maybe("ready", 30, |dice| dice.number("seconds", 0..10).into()),
        "revisionHistoryLimit": dice.maybe("history", 30, |dice| dice.number("limit", 0..10).into()),
        "progressDeadlineSeconds": dice.maybe("progress", 20, |dice| dice.number("seconds", 100..900).into()),
        "paused": dice.maybe("paused", 15, |dice| dice.chance("yes", 50).into()),
    } })
}

pub(super) fn stateful_set(dice: &Dice) -> Value {
    let firm = dice.firm();
    json!({ "spec": {
        "replicas": dice.maybe("replicas", 70, |dice| dice.number("count", 0..6).into()),
        "selector": selector(dice),
        "template": pod::template(&dice.within("template"), APP),
        "serviceName": firm.one("service", &["web", "other"]),
        "podManagementPolicy": firm.maybe("management", 40, |dice| dice.one("policy", &["Parallel", "OrderedReady"]).into()),
        "updateStrategy": dice.maybe("strategy", 50, |dice| match dice.one("type", &["OnDelete", "RollingUpdate"]) {
            "OnDelete" => json!({ "type": "OnDelete" }),
            _ => json!({ "type": "RollingUpdate", "rollingUpdate": { "partition": dice.number("partition", 0..3) } }),
        }),
        "volumeClaimTemplates": firm.maybe("claims", 40, |dice| dice.items("names", 1, &["data", "wal"], |name, _| json!({
            "metadata": { "name": name },
            "spec": { "accessModes": ["ReadWriteOnce"], "resources": { "requests": { "storage": "1Gi" } } },
        }))),
        "persistentVolumeClaimRetentionPolicy": dice.maybe("retention", 20, |dice| json!({
            "whenDeleted": dice.one("deleted", &["Retain", "Delete"]),
            "whenScaled": "Retain",
        })),
        "minReadySeconds": dice.maybe("ready", 30, |dice| dice.number("seconds", 0..10).into()),
        "revisionHistoryLimit": dice.maybe("history", 30, |dice| dice.number("limit", 0..10).into()),
    } })
}

pub(super) fn daemon_set(dice: &Dice) -> Value {
    json!({ "spec": {
        "selector": selector(dice),
        "template": pod::template(&dice.within("template"), APP),
        "updateStrategy": dice.maybe("strategy", 60, |dice| match dice.one("type", &["OnDelete", "RollingUpdate"]) {
            "OnDelete" => json!({ "type": "OnDelete" }),
            _ => json!({ "type": "RollingUpdate", "rollingUpdate": { "maxUnavailable": dice.number("pods", 1..4) } }),
        }),
        "minReadySeconds": dice.maybe("ready", 30, |dice| dice.number("seconds", 0..10).into()),
        "revisionHistoryLimit": dice.maybe("history", 30, |dice| dice.number("limit", 0..10).into()),
    } })
}

pub(super) fn job(dice: &Dice) -> Value {
    let firm = dice.firm();
    let mut job = job_spec(&firm);
    job["parallelism"] = dice.maybe("parallelism", 50, |dice| dice.number("pods", 0..5).into());
    job["activeDeadlineSeconds"] = dice.maybe("deadline", 40, |dice| dice.number("seconds", 10..900).into());
    job["ttlSecondsAfterFinished"] = dice.maybe("ttl", 30, |dice| dice.number("seconds", 0..900).into());
    job["suspend"] = dice.maybe("suspend", 30, |dice| dice.chance("yes", 50).into());
    json!({ "spec": job })
}

pub(super) fn cron_job(dice: &Dice) -> Value {
    json!({ "spec": {
        "schedule": dice.one("schedule", &["* * * * *", "0 3 * * 1-5", "@daily"]),
        "timeZone": dice.maybe("zone", 20, |dice| dice.one("name", &["Etc/UTC", "UTC"]).into()),
        "concurrencyPolicy": dice.maybe("concurrency", 50, |dice| dice.one("policy", &["Allow", "Forbid", "Replace"]).into()),
        "suspend": dice.maybe("suspend", 40, |dice| dice.chance("yes", 50).into()),
        "startingDeadlineSeconds": dice.maybe("deadline", 30, |dice| dice.number("seconds", 10..900).into()),
        "successfulJobsHistoryLimit": dice.maybe("history", 30, |dice| dice.number("limit", 0..9).into()),
        "jobTemplate": {
            "metadata": { "labels": dice.map("labels", 0, &["tier", "track"], &["front", "back"]) },
            "spec": job_spec(&dice.within("job")),
        },
    } })
}

fn job_spec(dice: &Dice) -> Value {
    let mut template = pod::template(&dice.within("template"), APP);
    template["spec"]["restartPolicy"] = dice.one("restart", &["Never", "OnFailure"]).into();
    json!({
        "completions": dice.maybe("completions", 40, |dice| dice.number("pods", 1..5).into()),
        "backoffLimit": dice.maybe("backoff", 40, |dice| dice.number("limit", 0..9).into()),
        "template": template,
    })
}

fn selector(dice: &Dice) -> Value {
    let more = dice.firm().maybe("selector", 20, |_| json!([{ "key": "app", "operator": "Exists" }]));
    json!({ "matchLabels": { "app": APP }, "matchExpressions": more })
}
