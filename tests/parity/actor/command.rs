//! The command line, `spindrift`, far from the user's own configuration.

use std::process::Stdio;

use spindrift_testkit::{Daemon, binary, scratch};
use tempfile::TempDir;
use tokio::{io::AsyncWriteExt, process::Command};

use crate::{output::CommandOutput, world::ACCOUNT};

pub(crate) struct SpindriftCommand {
    /// The hub's address.
    hub: String,
    home: TempDir,
}

// === impl SpindriftCommand ===

impl SpindriftCommand {
    pub(crate) fn new(hub: String) -> Self {
        Self { hub, home: scratch("home").unwrap() }
    }

    /// Runs it in the one account, with kubectl's arguments.
    pub(crate) async fn run(&self, arguments: &[&str], input: &str) -> CommandOutput {
        let mut child = Command::new(binary("spindrift").unwrap())
            .args(arguments)
            .args(["-a", ACCOUNT])
            .env_remove("SPINDRIFT_CONFIG")
            .envs(self.environment())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let feed = async move {
            // It may exit without reading all of it, and then prints the reason.
            stdin.write_all(input.as_bytes()).await.ok();
        };
        let (output, ()) = tokio::join!(child.wait_with_output(), feed);
        output.unwrap().into()
    }

    /// Starts one that goes on until it is dropped, such as `logs -f`.
    pub(crate) fn spawn(&self, arguments: &[&str]) -> Daemon {
        let arguments = [arguments, &["-a", ACCOUNT]].concat();
        Daemon::spawn(binary("spindrift").unwrap(), &arguments, &self.environment()).unwrap()
    }

    fn environment(&self) -> [(&str, &str); 3] {
        let home = self.home.path().to_str().unwrap();
        [("SPINDRIFT_HUB", &self.hub), ("HOME", home), ("XDG_CONFIG_HOME", home)]
    }
}
