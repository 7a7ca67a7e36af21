//! Format, level and destination of the agent's log.

use std::fs;

use reqwest::StatusCode;
use serde_json::{Value, json};
use spindrift_testkit::{AgentProcess, eventually, scratch};

use crate::{
    engine::Stage,
    support::{LONG, Stack},
};

/// The lines of a log of JSON; a line that is none fails the test. The last may still be being written.
fn lines(text: &str) -> Vec<Value> {
    let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
    whole.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"))).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn lines_of_json_have_the_originals_names_and_the_level_changes_while_the_agent_runs() {
    let logging =
        json!({ "format": "json", "level": "info", "fields": { "team": "edge", "agentCluster": null } });
    let accounts = json!([{ "name": "nowhere" }]);
    let settings = json!({ "logging": logging, "kubernetes": { "accounts": accounts }, "hub": { "auth": { "token": "x" } } });
    let mut agent = AgentProcess::with_settings("agent-a", settings).unwrap();
    eventually!("the agent answers", LONG, agent.get("/health").await);
    agent.daemon().wait_for_log("Notifying account discovery error").await.unwrap();
    let log = lines(&agent.daemon().log());
    for line in &log {
        let line = line.as_object().unwrap();
        assert!(["time", "level", "msg"].iter().all(|name| line.contains_key(*name)), "{line:?}");
        assert_eq!((&line["agentId"], &line["team"]), (&json!("agent-a"), &json!("edge")));
    }
    let failed = log.iter().find(|line| line["account"] == "nowhere").unwrap();
    assert_eq!(failed["level"], "warning");
    assert!(failed["error"].as_str().unwrap().starts_with("expected kubeconfigFile"), "{failed}");
    let told =
        log.iter().filter_map(|line| line["msg"].as_str()).any(|msg| msg.starts_with("`hub` has no effect:"));
    assert!(told, "{log:?}");

    // By the endpoint, which names the mistake; then by the file.
    let url = format!("http://127.0.0.1:{}/logging/level", agent.port());
    let put = async |level: &str| {
        let answer = reqwest::Client::new().put(&url).body(level.to_owned()).send().await.unwrap();
        (answer.status(), answer.text().await.unwrap())
    };
    assert_eq!(put("{\"level\":\"error\"}").await, (StatusCode::OK, "{\"level\":\"error\"}".into()));
    let (status, says) = put("loud").await;
    assert!(status == StatusCode::BAD_REQUEST && says.contains("unknown log level `loud`"), "{says}");
    assert_eq!(agent.get("/logging/level").await.unwrap(), json!({ "level": "error" }));
    agent.reconfigure(|settings| settings["logging"]["level"] = json!("debug")).unwrap();
    eventually!("the file's level holds", LONG, {
        agent.get("/logging/level").await.unwrap()["level"] == "debug"
    });
    agent.reconfigure(|settings| settings["kubernetes"]["accounts"] = json!([])).unwrap();
    eventually!("the next change is logged again", LONG, {
        lines(&agent.daemon().log()).iter().any(|line| {
            line["msg"] == "configuration taken over"
                && line["removed"].as_str().is_some_and(|names| names.contains("nowhere"))
        })
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_file_is_set_aside_when_it_is_full_and_standard_output_has_all_of_it() {
    let directory = scratch("logs").unwrap();
    let file = directory.path().join("agent.log");
    // Each account without a kubeconfig is a line, again and again.
    let accounts: Vec<_> = (0..1500).map(|number| json!({ "name": format!("nowhere-{number}") })).collect();
    let logging =
        json!({ "file": file, "multiWrite": true, "maxSizeMb": 1, "maxBackups": 2, "compress": true });
    let settings = json!({ "logging": logging, "kubernetes": { "accounts": accounts } });
    let agent = AgentProcess::with_settings("agent-a", settings).unwrap();
    eventually!("a file is set aside and compressed", LONG, {
        let entries = fs::read_dir(directory.path()).unwrap();
        let mut names = entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
        names.any(|name| name.starts_with("agent-2") && name.ends_with(".log.gz"))
    });
    assert!(fs::metadata(&file).unwrap().len() <= 1024 * 1024);
    assert!(agent.daemon().log().len() > 1024 * 1024, "standard output has it too");
}

#[tokio::test(flavor = "multi_thread")]
async fn lines_of_watches_and_operations_have_the_originals_fields() {
    let stage = Stage::set(1).await;
    let accounts = json!(stage.accounts());
    let settings = [("/logging", json!({ "format": "json", "level": "info" }))];
    let stack = Stack::with_settings(&["ConfigMap", "Deployment.apps"], accounts, &settings).await;
    let account = stage.fleet.clusters[0].name();
    stack.synced(account).await;
    let get = json!({ "verb": "get", "target": { "apiVersion": "apps/v1", "kind": "Deployment", "namespace": "default", "name": "web" } });
    assert_eq!(stack.hub.operations(account).ask(&get).await.unwrap().code, 404);
    stack.agent.daemon().wait_for_log("Operation get processed").await.unwrap();
    let log = lines(&stack.agent.daemon().log());
    let line = |words: &str, kind: &str| {
        let mut found = log.iter().filter(|line| line["msg"].as_str().is_some_and(|msg| msg.contains(words)));
        found
            .find(|line| line["kind"] == kind)
            .unwrap_or_else(|| panic!("{words} of {kind}: {log:?}"))
            .clone()
    };
    let recached = line("full kind recache", "Deployment");
    assert_eq!((&recached["group"], &recached["account"]), (&json!("apps"), &json!(account)));
    assert_eq!(recached["watchedNamespace"], "(all namespaces)");
    assert_eq!(line("full kind recache", "ConfigMap")["group"], "");
    let operated = line("Operation get processed", "Deployment");
    assert_eq!((&operated["group"], &operated["operationType"]), (&json!("apps"), &json!("get")));
    assert_eq!((&operated["operationNamespace"], &operated["account"]), (&json!("default"), &json!(account)));
    assert!(operated["operationId"].as_str().is_some_and(|id| id.len() == 26), "{operated}");
}

#[tokio::test(flavor = "multi_thread")]
async fn options_with_limits_are_named_at_start() {
    let settings = json!({
        "clouddriver": { "keepAliveHeartbeatSeconds": 60 }, "tasks": { "totalBudget": 500, "queueCheckFrequencyMs": 100 },
        "zoneId": "eu", "timeoutSeconds": 0, "logging": { "format": "json" },
    });
    let agent = AgentProcess::with_settings("agent-a", settings).unwrap();
    eventually!("the agent answers", LONG, agent.get("/health").await);
    let log = lines(&agent.daemon().log());
    for (option, limit) in [
        ("`clouddriver.keepAliveHeartbeatSeconds: 60`", "every 5 s"),
        ("`tasks.totalBudget: 500`", "at most 32"),
        ("`tasks.queueCheckFrequencyMs: 100`", "no effect"),
        ("`zoneId: eu`", "no hub chooses"),
        ("`timeoutSeconds: 0`", "30 s"),
    ] {
        let is_named = |line: &Value| {
            let msg = line["msg"].as_str().unwrap_or_default();
            line["level"] == "warning" && msg.starts_with(option) && msg.contains(limit)
        };
        assert!(log.iter().any(is_named), "{option}: {log:?}");
    }
}
