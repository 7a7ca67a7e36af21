//! Where the store is and how many connections it may use.

use std::{fmt, str::FromStr};

use serde::Deserialize;
use sqlx::ConnectOptions;
use sqlx::any::AnyConnectOptions;

use super::{StoreError, dialect::Dialect};

/// Where the store is.
#[derive(Clone, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct StoreConfig {
    /// `sqlite://file`, `postgres://…` or `mysql://…` (which is MariaDB's too).
    pub url: String,
    /// Connections that only read.
    pub readers: u32,
    /// Connections that write; SQLite always has one.
    pub writers: u32,
}

// === impl StoreConfig ===

impl StoreConfig {
    /// The defaults, on another database.
    pub fn at(url: impl Into<String>) -> Self {
        Self { url: url.into(), ..Self::default() }
    }

    pub(super) fn connect_options(&self, dialect: Dialect) -> Result<AnyConnectOptions, StoreError> {
        let options = AnyConnectOptions::from_str(&dialect.complete_url(&self.url))
            .map_err(StoreError::at("read the database url"))?;
        // Statements of hundreds of rows drown every other line of a debug log.
        Ok(options.disable_statement_logging())
    }
}

impl Default for StoreConfig {
    fn default() -> Self {
        Self {
            url: "sqlite://spindrift.db".into(),
            readers: 8,
            // Group commits fill few connections; measured best on PostgreSQL.
            writers: 4,
        }
    }
}

impl fmt::Debug for StoreConfig {
    /// Hides the user information of the URL, which may contain a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { url, readers, writers } = self;
        let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
        let place = rest.rsplit_once('@').map_or(rest, |(_, place)| place);
        f.debug_struct("StoreConfig")
            .field("url", &format_args!("{scheme}://{place}"))
            .field("readers", readers)
            .field("writers", writers)
            .finish()
    }
}
