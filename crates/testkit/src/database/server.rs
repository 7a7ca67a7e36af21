//! A database server with a data directory and a port of its own.

use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use anyhow::{Context, bail, ensure};
use nix::unistd::{User, geteuid};
use parking_lot::Mutex;
use sqlx::Connection;
use tempfile::TempDir;

use super::engine::{Engine, Recipe};
use crate::daemon::{Daemon, STARTUP};
use crate::eventually::PATIENCE;
use crate::guardian;
use crate::port::{free_port, loopback};

pub(super) struct Server {
    engine: Engine,
    recipe: Recipe,
    port: u16,
    /// `None`: we are not root, and run the server as who we are.
    account: Option<User>,
    daemon: Mutex<Option<Arc<Daemon>>>,
    directory: TempDir,
}

// === impl Server ===

impl Server {
    /// Makes a data directory, starts a server on it and waits until it accepts connections.
    pub(super) async fn start(engine: Engine) -> anyhow::Result<Self> {
        let directory = guardian::scratch(&engine.to_string().to_lowercase())?;
        let recipe = engine.recipe()?;
        let account = account(recipe.account)?;
        if let Some(User { uid, gid, .. }) = &account {
            chown(directory.path(), Some(uid.as_raw()), Some(gid.as_raw()))
                .context("hand over a directory")?;
        }
        let server = Self { engine, recipe, port: free_port(), account, daemon: Mutex::new(None), directory };
        server.initialise().await.with_context(|| format!("initialise {engine}"))?;
        server.run().await.with_context(|| format!("start {engine}"))?;
        Ok(server)
    }

    async fn initialise(&self) -> anyhow::Result<()> {
        let mut command = (self.recipe.initialise)(self.directory.path())?;
        self.run_as_account(&mut command);
        let mut command = tokio::process::Command::from(command);
        let output = command.kill_on_drop(true).output().await?;
        let stderr = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{}: {stderr}", output.status);
        Ok(())
    }

    /// Starts the process, which must not be running, and waits until it accepts connections.
    pub(super) async fn run(&self) -> anyhow::Result<()> {
        let mut command = (self.recipe.serve)(self.directory.path(), self.port)?;
        self.run_as_account(&mut command);
        let daemon = Arc::new(Daemon::serve(&self.engine.to_string().to_lowercase(), command)?);
        *self.daemon.lock() = Some(Arc::clone(&daemon));
        let url = self.admin_url();
        daemon.ready(STARTUP, async || Ok(super::connect(&url).await?.close().await?)).await
    }

    pub(super) async fn stop(&self) -> anyhow::Result<()> {
        let daemon = self.running()?;
        daemon.signal(self.recipe.crash)?;
        daemon.exit(PATIENCE).await?;
        *self.daemon.lock() = None;
        Ok(())
    }

    pub(super) fn freeze(&self) -> anyhow::Result<()> {
        self.running()?.freeze()
    }

    pub(super) fn thaw(&self) -> anyhow::Result<()> {
        self.running()?.thaw()
    }

    pub(super) fn engine(&self) -> Engine {
        self.engine
    }

    pub(super) fn url(&self, database: &str) -> String {
        format!("{}{}/{database}", self.recipe.authority, loopback(self.port))
    }

    pub(super) fn admin_url(&self) -> String {
        self.url(self.recipe.admin_database)
    }

    fn running(&self) -> anyhow::Result<Arc<Daemon>> {
        self.daemon.lock().clone().with_context(|| format!("{} is stopped", self.engine))
    }

    fn run_as_account(&self, command: &mut Command) {
        command.current_dir(self.directory.path());
        if let Some(User { uid, gid, .. }) = &self.account {
            command.uid(uid.as_raw()).gid(gid.as_raw());
        }
    }
}

fn account(name: &str) -> anyhow::Result<Option<User>> {
    if !geteuid().is_root() {
        return Ok(None);
    }
    let user = User::from_name(name).with_context(|| format!("look up user {name}"))?;
    Ok(Some(user.with_context(|| format!("there is no user {name}, as whom the server has to run"))?))
}

/// Finds a program in PATH or in further places; the error names the Debian package.
pub(super) fn find_program(name: &str, places: &[PathBuf], package: &str) -> anyhow::Result<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path)
        .chain(places.iter().cloned())
        .map(|place| place.join(name))
        .find(|program| Path::is_file(program));
    match found {
        Some(program) => Ok(program),
        None => bail!("{name} is not installed: `apt-get install {package}`"),
    }
}
