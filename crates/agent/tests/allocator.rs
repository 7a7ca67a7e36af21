//! The agent starts with a thrifty allocator, or with what its environment says.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::{
    fs,
    process::{Child, Command, Stdio},
    time::Duration,
};

use tokio::time::{Instant, sleep};

const SETTING: &str = "MALLOC_ARENA_MAX=";

/// Long for a loaded machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// An agent without accounts; killed when dropped.
struct Agent(Child);

impl Agent {
    fn start(directory: &std::path::Path, env: &[(&str, &str)]) -> Self {
        let config = directory.join("armory-agent.yml");
        fs::write(&config, "server: { host: 127.0.0.1, port: 0 }\n").unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_spindrift-agent"));
        command.arg("--config").arg(config).stdout(Stdio::null()).stderr(Stdio::null());
        // Whatever the machine's own settings are.
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
