//! A guarded process with a captured log: our own programs, and every server that a test needs.

mod proc;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;
use parking_lot::Mutex;
use tempfile::TempDir;
use tokio::time::Instant;

use crate::eventually::{PATIENCE, poll};
use crate::guardian;

/// Time in which a server must start: a test binary starts several at once, on few cores.
pub(crate) const STARTUP: Duration = Duration::from_mins(2);

/// Enough of the log to see why a daemon failed.
const TAIL_LINES: usize = 40;

/// A running process that is killed when the value is dropped, or when the test process ends.
pub struct Daemon {
    name: String,
    pid: u32,
    child: Mutex<Child>,
    log: PathBuf,
    when_panicking: WhenPanicking,
    _directory: TempDir,
}

enum WhenPanicking {
    ShowLog,
    /// The logs of foreign servers would hide the reason of the failure.
    KeepQuiet,
}

// === impl Daemon ===

impl Daemon {
    /// Starts one of our programs; the end of its log is shown if the test panics.
    pub fn spawn(program: impl AsRef<Path>, args: &[&str], env: &[(&str, &str)]) -> anyhow::Result<Self> {
        let program = program.as_ref();
        ensure!(program.is_file(), "there is no program {}", program.display());
        let name = program.file_name().unwrap_or_default().to_string_lossy();
        let mut command = guardian::command(program)?;
        command.args(args).envs(env.iter().copied());
        Self::run(&name, command, WhenPanicking::ShowLog)
    }

    /// Starts a server that is part of the environment, by a command line of [`guardian::command`].
    pub(crate) fn serve(name: &str, command: Command) -> anyhow::Result<Self> {
        Self::run(name, command, WhenPanicking::KeepQuiet)
    }

    fn run(name: &str, mut command: Command, when_panicking: WhenPanicking) -> anyhow::Result<Self> {
        let directory = guardian::scratch(name)?;
        let log = directory.path().join("log");
        let stdout = File::options().create(true).append(true).open(&log).context("create a log file")?;
        let stderr = stdout.try_clone().context("share a log file")?;
        let child = command.stdout(stdout).stderr(stderr).spawn().with_context(|| format!("start {name}"))?;
        Ok(Self {
            name: name.to_owned(),
            pid: child.id(),
            child: Mutex::new(child),
            log,
            when_panicking,
            _directory: directory,
        })
    }

    /// The id of the process.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// The ids of its direct children.
    pub(crate) fn children(&self) -> anyhow::Result<Vec<u32>> {
        Ok(proc::children(self.pid)?.into_iter().map(|pid| pid.as_raw().cast_unsigned()).collect())
    }

    /// Ends the process group with SIGKILL and waits until it is gone; does nothing if it already is.
    pub fn kill(&self) {
        let mut child = self.child.lock();
        if child.try_wait().is_ok_and(|exited| exited.is_some()) {
            return;
        }
        // Children that have left the group end when their parent has, unless they are frozen.
        self.signal_children(Signal::SIGCONT).ok();
        killpg(self.nix_pid(), Signal::SIGKILL).ok();
        guardian::forget(self.pid);
        child.wait().ok();
    }

    /// Asks the process to end with SIGTERM; [`Daemon::exit`] waits for it.
    pub fn terminate(&self) -> anyhow::Result<()> {
        self.signal(Signal::SIGTERM)
    }

    /// Stops the process and its children with SIGSTOP: connections stay open, nothing answers.
    pub fn freeze(&self) -> anyhow::Result<()> {
        // The parent first, so that it has no further children while they are being frozen.
        self.signal(Signal::SIGSTOP)?;
        self.signal_children(Signal::SIGSTOP)?;
        self.wait_until_stopped()
    }

    /// Lets a frozen process and its children go on.
    pub fn thaw(&self) -> anyhow::Result<()> {
        self.signal_children(Signal::SIGCONT)?;
        self.signal(Signal::SIGCONT)
    }

    /// Waits until the process has ended by itself.
    pub async fn exit(&self, within: Duration) -> anyhow::Result<ExitStatus> {
        match poll(within, async || self.exited()).await {
            Ok(status) => Ok(status),
            Err(_) => bail!("{} still runs after {within:?}:\n{}", self.name, self.log_tail()),
        }
    }

    /// Exit status of the process, if it has ended.
    pub fn exited(&self) -> Option<ExitStatus> {
        let status = self.child.lock().try_wait().ok().flatten()?;
        guardian::forget(self.pid);
        Some(status)
    }

    /// All that the process has printed, on both streams.
    pub fn log(&self) -> String {
        std::fs::read(&self.log).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
    }

    /// Waits until the log contains a text; fails early when the process ends.
    pub async fn wait_for_log(&self, text: &str) -> anyhow::Result<()> {
        self.ready(PATIENCE, async || {
            ensure!(self.log().contains(text), "the log does not contain {text:?}");
            Ok(())
        })
        .await
    }

    /// Lets every write beyond this size of a file fail, as on a broken disk; none ends that.
    pub fn limit_file_size(&self, bytes: Option<u64>) -> anyhow::Result<()> {
        let limit = bytes.map_or_else(|| "unlimited".to_owned(), |bytes| bytes.to_string());
        let (pid, limit) = (format!("--pid={}", self.pid), format!("--fsize={limit}:"));
        let output = Command::new("prlimit").args([pid, limit]).output().context("run prlimit")?;
        ensure!(output.status.success(), "prlimit: {}", String::from_utf8_lossy(&output.stderr));
        Ok(())
    }

    /// The memory that the process holds right now.
    pub fn rss_bytes(&self) -> anyhow::Result<u64> {
        proc::rss_bytes(self.pid)
    }

    /// The most memory that the process ever held.
    pub fn peak_rss_bytes(&self) -> anyhow::Result<u64> {
        proc::peak_rss_bytes(self.pid)
    }

    /// Waits until the attempt succeeds; fails early, with the log's last lines, when the process ends.
    pub(crate) async fn ready<T, F: Future<Output = anyhow::Result<T>>>(
        &self,
        within: Duration,
        mut attempt: impl FnMut() -> F,
    ) -> anyhow::Result<T> {
        let alive_or_done = poll(within, || {
            let exited = self.exited();
            let attempt = attempt();
            async move {
                match exited {
                    Some(status) => Ok(Err(status)),
                    None => attempt.await.map(Ok),
                }
            }
        });
        match alive_or_done.await {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(status)) => bail!("{} ended with {status}:\n{}", self.name, self.log_tail()),
            Err(last) => bail!("{} is not ready after {within:?}: {last}\n{}", self.name, self.log_tail()),
        }
    }

    fn log_tail(&self) -> String {
        let log = self.log();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(TAIL_LINES)..].join("\n")
    }

    pub(crate) fn signal(&self, signal: Signal) -> anyhow::Result<()> {
        ensure!(self.exited().is_none(), "{} has already ended:\n{}", self.name, self.log_tail());
        kill(self.nix_pid(), signal).with_context(|| format!("send {signal} to {}", self.name))
    }

    /// PostgreSQL serves each connection by a child in a session of its own, which no group signal reaches.
    fn signal_children(&self, signal: Signal) -> anyhow::Result<()> {
        for child in proc::children(self.pid)? {
            // A child may end at any time.
            kill(child, signal).ok();
        }
        Ok(())
    }

    /// The signal is only noted when it is sent: on another core a thread runs on for a moment, and might answer.
    fn wait_until_stopped(&self) -> anyhow::Result<()> {
        let deadline = Instant::now() + PATIENCE;
        for pid in std::iter::once(self.nix_pid()).chain(proc::children(self.pid)?) {
            while !proc::is_stopped(pid) {
                ensure!(Instant::now() < deadline, "{} does not stop", self.name);
                std::thread::yield_now();
            }
        }
        Ok(())
    }

    fn nix_pid(&self) -> Pid {
        Pid::from_raw(self.pid.cast_signed())
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        self.kill();
        if std::thread::panicking() && matches!(self.when_panicking, WhenPanicking::ShowLog) {
            eprintln!("--- the end of {}'s log ---\n{}", self.name, self.log_tail());
        }
    }
}
