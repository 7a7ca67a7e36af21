//! The agent starts with its own settings of the allocator, or with those of its environment.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::{
    fs,
    path::Path,
    process::{Child, Command, Stdio},
    time::Duration,
};

use tokio::time::{Instant, sleep};

const SETTING: &str = "MALLOC_ARENA_MAX=";

/// Long for a loaded machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// An agent that has no hub; killed when dropped.
struct Agent(Child);

impl Agent {
    fn start(directory: &Path, env: &[(&str, &str)]) -> Self {
        Self::with_accounts(directory, "[]", env)
    }

    fn with_accounts(directory: &Path, accounts: &str, env: &[(&str, &str)]) -> Self {
        let config = directory.join("armory-agent.yml");
        let text =
            format!("server: {{ host: 127.0.0.1, port: 0 }}\nkubernetes: {{ accounts: {accounts} }}\n");
        fs::write(&config, text).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_spindrift-agent"));
        command.arg("--config").arg(config).stdout(Stdio::null()).stderr(Stdio::null());
        // Independent of the machine's own settings.
        for name in ["GLIBC_TUNABLES", "MALLOC_ARENA_MAX", "MALLOC_TRIM_THRESHOLD_", "MALLOC_TOP_PAD_"] {
            command.env_remove(name);
        }
        Self(command.envs(env.iter().copied()).spawn().unwrap())
    }

    /// The setting of the allocator that the process has, once it has one.
    async fn setting(&self) -> String {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let environment = fs::read(format!("/proc/{}/environ", self.0.id())).unwrap();
            let environment = String::from_utf8_lossy(&environment).into_owned();
            if let Some(value) = environment.split('\0').find_map(|entry| entry.strip_prefix(SETTING)) {
                return value.to_owned();
            }
            assert!(Instant::now() < deadline, "there is no {SETTING}");
            sleep(Duration::from_millis(25)).await;
        }
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

#[tokio::test]
async fn the_allocator_is_thrifty_unless_the_environment_says_otherwise() {
    let directory = tempfile::tempdir().unwrap();
    let thrifty = Agent::start(directory.path(), &[]);
    assert_eq!(thrifty.setting().await, "1");
    let generous = Agent::start(directory.path(), &[("MALLOC_ARENA_MAX", "8")]);
    assert_eq!(generous.setting().await, "8");
}

/// Environment of a credential plugin.
async fn seen_by_a_plugin(env: &[(&str, &str)]) -> String {
    let directory = tempfile::tempdir().unwrap();
    let (kubeconfig, seen) = (directory.path().join("kubeconfig"), directory.path().join("seen"));
    let script = format!("env > {0}.part && mv {0}.part {0}", seen.display());
    let text = format!(
        "{{apiVersion: v1, kind: Config, current-context: c, contexts: [{{name: c, context: {{cluster: c, user: u}}}}],
          clusters: [{{name: c, cluster: {{server: 'http://127.0.0.1:1'}}}}],
          users: [{{name: u, user: {{exec: {{command: sh, args: [-c, '{script}'], interactiveMode: Never,
            apiVersion: client.authentication.k8s.io/v1}}}}}}]}}"
    );
    fs::write(&kubeconfig, text).unwrap();
    let accounts = format!("[{{ name: a, kubeconfigFile: {} }}]", kubeconfig.display());
    let agent = Agent::with_accounts(directory.path(), &accounts, env);
    assert!(!agent.setting().await.is_empty());
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Ok(seen) = fs::read_to_string(&seen) {
            return seen;
        }
        assert!(Instant::now() < deadline, "the plugin was not run");
        sleep(Duration::from_millis(25)).await;
    }
}

#[tokio::test]
async fn programs_that_the_agent_runs_get_only_what_others_have_set() {
    let seen = seen_by_a_plugin(&[("COLOUR", "green")]).await;
    assert!(seen.contains("COLOUR=green") && seen.contains("KUBERNETES_EXEC_INFO="), "{seen}");
    assert!(!seen.contains("MALLOC_") && !seen.contains("SPINDRIFT_ADDED"), "{seen}");
    let seen = seen_by_a_plugin(&[("MALLOC_ARENA_MAX", "8")]).await;
    assert!(seen.contains("MALLOC_ARENA_MAX=8"), "{seen}");
}
