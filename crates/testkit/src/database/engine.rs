//! The kinds of databases, and the differences between their servers.

use std::fmt;
use std::path::Path;
use std::process::Command;

use anyhow::bail;
use nix::sys::signal::Signal;

use super::{mariadb, postgres};

/// A kind of database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Engine {
    Sqlite,
    Postgres,
    MariaDb,
}

/// Commands and settings of a server; all of it lives below one directory.
pub(super) struct Recipe {
    /// Fills the directory, once.
    pub(super) initialise: fn(&Path) -> anyhow::Result<Command>,
    /// The account of the server: both servers refuse to run as root.
    pub(super) account: &'static str,
    /// Serves the directory on a port.
    pub(super) serve: fn(&Path, u16) -> anyhow::Result<Command>,
    /// Ends the server at once, and everything that belongs to it.
    pub(super) crash: Signal,
    /// Everything of the URL before the host.
    pub(super) authority: &'static str,
    /// The database that is there from the start.
    pub(super) admin_database: &'static str,
}

// === impl Engine ===

impl Engine {
    pub(super) fn recipe(self) -> anyhow::Result<Recipe> {
        match self {
            Self::Sqlite => bail!("SQLite has no server"),
            Self::Postgres => Ok(postgres::RECIPE),
            Self::MariaDb => Ok(mariadb::RECIPE),
        }
    }
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Sqlite => "SQLite",
            Self::Postgres => "PostgreSQL",
            Self::MariaDb => "MariaDB",
        })
    }
}
