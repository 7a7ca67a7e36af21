//! Running the checks, and reading their pages.

use std::{net::SocketAddr, path::Path};

use serde_json::{Value, json};
use spindrift_testkit::{Cluster, Daemon, Database, HubProcess, PATIENCE, binary, free_port, scratch};

/// A page as scripts read it.
pub(crate) struct Page {
    page: Value,
    code: Option<i32>,
}

// === impl Page ===

impl Page {
    /// Output of `spindrift-agent check` for a configuration.
    pub(crate) async fn of_agent(settings: &Value) -> Self {
        Self::of("spindrift-agent", &settings.to_string()).await
    }

    /// Output of `spindrift-hub check` for a configuration.
    pub(crate) async fn of_hub(settings: &Value) -> Self {
        Self::of("spindrift-hub", &settings.to_string()).await
    }

    pub(crate) async fn of(program: &str, config: &str) -> Self {
        Self::within(program, config, &[]).await
    }

    /// Output of a check with these variables in its environment.
    pub(crate) async fn within(program: &str, config: &str, env: &[(&str, &str)]) -> Self {
        let (text, code) = run_within(program, config, &["--output", "json"], env).await;
        let page = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
        Self { page, code }
    }

    /// The lines of a section about one thing.
    pub(crate) fn lines(&self, section: &str, check: &str) -> Vec<&Value> {
        let sections = self.page["sections"].as_array().unwrap();
        let sections = sections.iter().filter(|found| found["name"] == section);
        sections
            .flat_map(|section| section["checks"].as_array().unwrap())
            .filter(|line| line["check"] == check)
            .collect()
    }

    /// A line of this state contains the words, and so does its remedy.
    #[track_caller]
    pub(crate) fn says(&self, section: &str, check: &str, state: &str, found: &str, remedy: &str) {
        let fits = |line: &&Value| {
            let part = |field: &str| line[field].as_str().unwrap_or_default().to_owned();
            part("state") == state && part("found").contains(found) && part("remedy").contains(remedy)
        };
        let lines = self.lines(section, check);
        assert!(
            lines.iter().any(fits),
            "{section}, {check}: expected {state} {found:?} → {remedy:?}: {}",
            self.page
        );
    }

    /// Asserts that a check fails, with the exit code of a failure.
    #[track_caller]
    pub(crate) fn wrong(&self, section: &str, check: &str, found: &str, remedy: &str) {
        self.says(section, check, "wrong", found, remedy);
        assert_eq!((self.page["verdict"].as_str(), self.code), (Some("wrong"), Some(1)), "{}", self.page);
    }

    #[track_caller]
    pub(crate) fn ok(&self, section: &str, check: &str, found: &str) {
        self.says(section, check, "ok", found, "");
    }

    #[track_caller]
    pub(crate) fn skipped(&self, section: &str, checks: &[&str]) {
        for check in checks {
            self.says(section, check, "skipped", "because", "");
        }
    }

    /// Nothing is wrong, nor is there a warning.
    #[track_caller]
    pub(crate) fn all_well(&self) {
        let counts = &self.page["counts"];
        assert_eq!((&counts["warn"], &counts["wrong"]), (&json!(0), &json!(0)), "{}", self.page);
        assert_eq!((self.page["verdict"].as_str(), self.code), (Some("ok"), Some(0)), "{}", self.page);
    }

    /// All states, by section and check.
    pub(crate) fn shape(&self) -> Vec<String> {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let mut shape = Vec::new();
        for section in self.page["sections"].as_array().unwrap() {
            for line in section["checks"].as_array().unwrap() {
                shape.push(format!(
                    "{}: {} {}",
                    text(&section["name"]),
                    text(&line["check"]),
                    text(&line["state"])
                ));
            }
        }
        shape
    }

    pub(crate) fn text(&self) -> String {
        self.page.to_string()
    }
}

/// Runs a check, and returns its output and exit code.
pub(crate) async fn run(program: &str, config: &str, options: &[&str]) -> (String, Option<i32>) {
    run_within(program, config, options, &[]).await
}

async fn run_within(
    program: &str,
    config: &str,
    options: &[&str],
    env: &[(&str, &str)],
) -> (String, Option<i32>) {
    let directory = scratch("check").unwrap();
    let file = directory.path().join("config.yml");
    std::fs::write(&file, config).unwrap();
    run_on(program, &file, options, env).await
}

/// Runs a check on a file that need not be there.
pub(crate) async fn run_on(
    program: &str,
    file: &Path,
    options: &[&str],
    env: &[(&str, &str)],
) -> (String, Option<i32>) {
    let mut arguments = vec!["check", "--config", file.to_str().unwrap()];
    arguments.extend(options);
    let daemon = Daemon::spawn(binary(program).unwrap(), &arguments, env).unwrap();
    let status = daemon.exit(PATIENCE).await.unwrap();
    (daemon.log(), status.code())
}

/// A hub on a database of its own.
pub(crate) async fn hub(settings: &[(&str, Value)]) -> (Database, HubProcess) {
    let database = Database::sqlite().unwrap();
    let hub = HubProcess::start("hub-a", &database, settings).await.unwrap();
    (database, hub)
}

/// Where a hub listens for REST.
pub(crate) fn rest(hub: &HubProcess) -> SocketAddr {
    hub.url().trim_start_matches("http://").parse().unwrap()
}

/// The configuration of an agent without accounts that dials this address.
pub(crate) fn dialling(address: SocketAddr, mut clouddriver: Value) -> Value {
    clouddriver["grpc"] = json!(address.to_string());
    json!({ "clouddriver": clouddriver, "server": { "host": "127.0.0.1", "port": free_port() } })
}

/// The configuration of an agent with these accounts, whose hub is nowhere.
pub(crate) fn watching(accounts: &Value) -> Value {
    json!({
        "clouddriver": { "grpc": format!("127.0.0.1:{}", free_port()) },
        "kubernetes": { "accounts": accounts },
        "server": { "host": "127.0.0.1", "port": free_port() },
    })
}

/// The administrator's kubeconfig with other words in it.
pub(crate) fn kubeconfig_with(cluster: &Cluster, replaced: &[(&str, &str)]) -> String {
    let mut text = std::fs::read_to_string(cluster.kubeconfig()).unwrap();
    for (from, to) in replaced {
        assert!(text.contains(from), "{from} is not in {text}");
        text = text.replace(from, to);
    }
    text
}

/// The configuration of a hub on a database, with ports of its own.
pub(crate) fn hub_on(url: &str) -> Value {
    json!({
        "kubesvc": {
            "grpc": { "server": { "address": "127.0.0.1", "port": free_port() } },
            "operations": { "encryption": { "key": KEY } },
        },
        "server": { "host": "127.0.0.1", "port": free_port() },
        "sql": { "url": url },
    })
}

/// Encrypts operations.
pub(crate) const KEY: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
