//! The three databases that the hub supports, each real.
//!
//! One server of a kind serves a whole test process; each [`Database`] is a fresh one on it. Tests that stop
//! or freeze a server start a dedicated one.

mod dump;
mod engine;
mod mariadb;
mod postgres;
mod server;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context, bail};
use sqlx::{AnyConnection, AssertSqlSafe, Connection};
use tempfile::TempDir;
use tokio::sync::OnceCell;

pub use engine::Engine;
use server::Server;

use crate::{SmallDisk, guardian};

/// An empty database of the test's own.
pub struct Database {
    engine: Engine,
    url: String,
    place: Place,
}

enum Place {
    File { directory: TempDir },
    Shared,
    Dedicated(Arc<Server>),
}

// === impl Database ===

impl Database {
    /// A SQLite file in a directory of its own.
    pub fn sqlite() -> anyhow::Result<Self> {
        let directory = guardian::scratch("sqlite")?;
        let url = format!("sqlite://{}?mode=rwc", directory.path().join("test.db").display());
        Ok(Self { engine: Engine::Sqlite, url, place: Place::File { directory } })
    }

    /// A SQLite file on a small disk, which has to outlive it.
    pub fn sqlite_on(disk: &SmallDisk) -> anyhow::Result<Self> {
        let directory = tempfile::tempdir_in(disk.path()).context("create a directory on a small disk")?;
        let url = format!("sqlite://{}?mode=rwc", directory.path().join("test.db").display());
        Ok(Self { engine: Engine::Sqlite, url, place: Place::File { directory } })
    }

    /// A new database on the PostgreSQL server that all tests of this process share.
    pub async fn postgres() -> anyhow::Result<Self> {
        static SHARED: OnceCell<Server> = OnceCell::const_new();
        let server = SHARED.get_or_try_init(|| Server::start(Engine::Postgres)).await?;
        Self::create_on(server, Place::Shared).await
    }

    /// A new database on the MariaDB server that all tests of this process share.
    pub async fn mariadb() -> anyhow::Result<Self> {
        static SHARED: OnceCell<Server> = OnceCell::const_new();
        let server = SHARED.get_or_try_init(|| Server::start(Engine::MariaDb)).await?;
        Self::create_on(server, Place::Shared).await
    }

    /// A database on a PostgreSQL server of its own, which the test may stop and freeze.
    pub async fn postgres_dedicated() -> anyhow::Result<Self> {
        Self::dedicated(Engine::Postgres).await
    }

    /// A database on a MariaDB server of its own, which the test may stop and freeze.
    pub async fn mariadb_dedicated() -> anyhow::Result<Self> {
        Self::dedicated(Engine::MariaDb).await
    }

    /// One of each kind.
    pub async fn all() -> anyhow::Result<Vec<Self>> {
        let (postgres, mariadb) = tokio::try_join!(Self::postgres(), Self::mariadb())?;
        Ok(vec![Self::sqlite()?, postgres, mariadb])
    }

    async fn dedicated(engine: Engine) -> anyhow::Result<Self> {
        let server = Arc::new(Server::start(engine).await?);
        Self::create_on(&server, Place::Dedicated(Arc::clone(&server))).await
    }

    async fn create_on(server: &Server, place: Place) -> anyhow::Result<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(1);
        let name = format!("test_{}", NUMBER.fetch_add(1, Ordering::Relaxed));
        execute(&server.admin_url(), &format!("CREATE DATABASE {name}")).await?;
        Ok(Self { engine: server.engine(), url: server.url(&name), place })
    }

    /// Which kind of database it is.
    pub fn engine(&self) -> Engine {
        self.engine
    }

    /// The address, in the form that `sqlx::Any` reads.
    pub fn url(&self) -> String {
        self.url.clone()
    }

    /// Opens a connection.
    pub async fn connect(&self) -> anyhow::Result<AnyConnection> {
        connect(&self.url).await
    }

    /// Runs one or more statements, for tests that need a trigger or a damaged row.
    pub async fn execute(&self, sql: &str) -> anyhow::Result<()> {
        execute(&self.url, sql).await
    }

    /// All that is stored, for tests that look for something that must not be: every row of every table, and
    /// for SQLite the very files.
    pub async fn dump(&self) -> anyhow::Result<Vec<u8>> {
        match &self.place {
            Place::File { directory } => dump::files(directory.path()),
            Place::Shared | Place::Dedicated(_) => dump::rows(self.engine, &mut self.connect().await?).await,
        }
    }

    /// Ends a dedicated server as a crash would.
    pub async fn stop(&self) -> anyhow::Result<()> {
        self.server()?.stop().await
    }

    /// Starts a stopped server again, on the same port with the same data.
    pub async fn start(&self) -> anyhow::Result<()> {
        self.server()?.run().await
    }

    /// Halts a dedicated server: connections stay open, nothing is answered.
    pub fn freeze(&self) -> anyhow::Result<()> {
        self.server()?.freeze()
    }

    /// Lets a frozen server go on.
    pub fn thaw(&self) -> anyhow::Result<()> {
        self.server()?.thaw()
    }

    fn server(&self) -> anyhow::Result<&Server> {
        match &self.place {
            Place::File { .. } => bail!("SQLite has no server"),
            Place::Shared => bail!("other tests use this server too: take a dedicated one"),
            Place::Dedicated(server) => Ok(server),
        }
    }
}

async fn connect(url: &str) -> anyhow::Result<AnyConnection> {
    sqlx::any::install_default_drivers();
    AnyConnection::connect(url).await.with_context(|| format!("connect to {url}"))
}

async fn execute(url: &str, sql: &str) -> anyhow::Result<()> {
    let mut connection = connect(url).await?;
    sqlx::raw_sql(AssertSqlSafe(sql))
        .execute(&mut connection)
        .await
        .with_context(|| format!("execute {sql}"))?;
    connection.close().await.context("close a connection")
}
