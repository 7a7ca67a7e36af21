//! A hub with an agent, and the command line in a home of its own.

use std::{
    fs::{self, File},
    io::Write,
    path::PathBuf,
    process::{Child, Command},
    time::Duration,
};

use serde_json::{Value, json};
use spindrift_testkit::{AgentProcess, Cluster, Database, HubProcess, binary, eventually, scratch};
use tempfile::TempDir;

/// Long enough for a first listing on a loaded machine.
pub(crate) const LONG: Duration = Duration::from_mins(1);

/// A hub and an agent with one account, `main`.
pub(crate) struct Stack {
    pub(crate) agent: AgentProcess,
    pub(crate) hub: HubProcess,
    /// Kept for as long as the hub runs.
    _database: Database,
}

/// `spindrift`, far from the user's own configuration.
pub(crate) struct Shell {
    pub(crate) home: TempDir,
    env: Vec<(String, String)>,
}

/// A command that runs beside the test.
pub(crate) struct Started {
    child: Child,
    out: PathBuf,
    err: PathBuf,
}

/// Output and exit code of a command.
#[derive(Debug)]
pub(crate) struct CommandOutput {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

// === impl Stack ===

impl Stack {
    /// Starts them, and waits until these kinds are listed.
    pub(crate) async fn start(cluster: &Cluster, database: Database, kinds: &[&str]) -> Self {
        let settings = [("/kubesvc/cache/cacheKinds", json!(kinds))];
        let hub = HubProcess::start("hub-a", &database, &settings).await.unwrap();
        let accounts = json!([{ "name": "main", "kubeconfigFile": cluster.kubeconfig() }]);
        let agent = AgentProcess::start("agent-a", hub.grpc(), &accounts).unwrap();
        let stack = Self { agent, hub, _database: database };
        eventually!("everything is listed", LONG, {
            let accounts = stack.hub.get("/v1/accounts").await?;
            let number = |field: &str| accounts[0][field].as_u64().unwrap_or_default();
            anyhow::ensure!(number("watches") >= kinds.len() as u64 && number("listing") == 0, "{accounts}");
            Ok(())
        });
        stack
    }

    /// The names of the objects that a query finds, in order.
    pub(crate) async fn names(&self, query: &[(&str, &str)]) -> Vec<String> {
        let objects = self.hub.objects(query).await.unwrap();
        objects.into_iter().map(|object| object.name).collect()
    }
}

// === impl Shell ===

impl Shell {
    /// A shell that asks this hub, if any.
    pub(crate) fn new(hub: Option<&HubProcess>) -> Self {
        let env = hub.map(|hub| ("SPINDRIFT_HUB".to_owned(), hub.url())).into_iter().collect();
        Self { home: scratch("home").unwrap(), env }
    }

    pub(crate) fn with(mut self, variable: &str, value: &str) -> Self {
        self.env.push((variable.to_owned(), value.to_owned()));
        self
    }

    /// Runs `spindrift` to its end.
    pub(crate) fn spindrift(&self, args: &[&str]) -> CommandOutput {
        let mut command = self.command(binary("spindrift").unwrap());
        command.args(args);
        said(command)
    }

    /// Runs `spindrift` with an input.
    pub(crate) fn spindrift_stdin(&self, args: &[&str], input: &str) -> CommandOutput {
        let mut command = self.command(binary("spindrift").unwrap());
        let (stdin, mut writer) = std::io::pipe().unwrap();
        let input = input.to_owned();
        // It may exit without reading all of it, and then prints the reason.
        let feed = std::thread::spawn(move || writer.write_all(input.as_bytes()).ok());
        command.args(args).stdin(stdin);
        let said = said(command);
        feed.join().unwrap();
        said
    }

    /// Starts `spindrift`; both its streams go to files, `out` and `err` of its home.
    pub(crate) fn start(&self, args: &[&str]) -> Started {
        let [out, err] = ["out", "err"].map(|name| self.home.path().join(name));
        let mut command = self.command(binary("spindrift").unwrap());
        command.stdout(File::create(&out).unwrap()).stderr(File::create(&err).unwrap());
        Started { child: command.args(args).spawn().unwrap(), out, err }
    }

    /// Runs a script; `$SPINDRIFT` is the program.
    pub(crate) fn bash(&self, script: &str) -> CommandOutput {
        let mut command = self.command("bash".into());
        command.args(["--norc", "-c", script]).env("SPINDRIFT", binary("spindrift").unwrap());
        said(command)
    }

    /// The same environment as pairs, for processes beside the test.
    pub(crate) fn env(&self) -> Vec<(&str, &str)> {
        let home = ("HOME", self.home.path().to_str().unwrap());
        self.env.iter().map(|(variable, value)| (variable.as_str(), value.as_str())).chain([home]).collect()
    }

    fn command(&self, program: PathBuf) -> Command {
        let mut command = Command::new(program);
        for variable in ["SPINDRIFT_HUB", "SPINDRIFT_CONFIG", "XDG_CONFIG_HOME", "NO_COLOR"] {
            command.env_remove(variable);
        }
        command.envs(self.env()).current_dir(self.home.path());
        command
    }
}

fn said(mut command: Command) -> CommandOutput {
    let output = command.output().unwrap();
    CommandOutput {
        code: output.status.code(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

// === impl Started ===

impl Started {
    /// Its output so far.
    pub(crate) fn out(&self) -> String {
        fs::read_to_string(&self.out).unwrap()
    }

    /// Whether it has ended by itself.
    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// Presses Ctrl-C, and waits for its end.
    pub(crate) fn interrupt(mut self) -> CommandOutput {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
        let code = self.child.wait().unwrap().code();
        CommandOutput { code, out: self.out(), err: fs::read_to_string(&self.err).unwrap() }
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        // It has ended already, unless the test has failed.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

// === impl CommandOutput ===

impl CommandOutput {
    /// The output; nothing else may have been printed.
    #[track_caller]
    pub(crate) fn ok(self) -> String {
        assert_eq!((self.code, self.err.as_str()), (Some(0), ""), "{self:?}");
        self.out
    }

    #[track_caller]
    pub(crate) fn json(self) -> Value {
        serde_json::from_str(&self.ok()).unwrap()
    }

    /// The words of each line.
    #[track_caller]
    pub(crate) fn table(self) -> Vec<Vec<String>> {
        let words = |line: &str| {
            line.split("   ").map(str::trim).filter(|word| !word.is_empty()).map(str::to_owned).collect()
        };
        self.ok().lines().map(words).collect()
    }

    /// The one line that names the failure.
    #[track_caller]
    pub(crate) fn error(self) -> String {
        assert_eq!((self.code, self.out.as_str(), self.err.lines().count()), (Some(1), "", 1), "{self:?}");
        self.err.trim_end().strip_prefix("error: ").unwrap().to_owned()
    }
}
