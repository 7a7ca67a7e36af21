//! Preflight check of a database, before a hub uses it. All changes are rolled back.

use std::path::PathBuf;
use std::str::FromStr;

use jiff::Timestamp;
use sqlx::any::AnyConnectOptions;
use sqlx::{AnyConnection, Connection};

use super::{StoreError, dialect::Dialect, migration, row::Columns, statement::Statement};

/// Connection for the checks.
#[derive(Debug)]
pub struct Preflight {
    dialect: Dialect,
    connection: AnyConnection,
}

/// Location of a database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Location {
    /// A file of SQLite.
    File(PathBuf),
    /// A server.
    Server {
        /// Its name or address.
        host: String,
        /// Its port.
        port: u16,
    },
    /// A server that parameters of the URL name, possibly a socket; only a login shows whether it is reachable.
    Parameters,
}

/// Version of the stored tables, compared with this release.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Schema {
    /// Stored version; 0 before the first start of a hub.
    pub stored: i64,
    /// Newest version of this release.
    pub known: i64,
    /// Number of migrations that a start of this release would run.
    pub pending: usize,
}

// === impl Location ===

impl Location {
    /// Parses the location from a URL.
    pub fn of_url(url: &str) -> Result<Self, StoreError> {
        let dialect = Dialect::of_url(url)?;
        let Some(default_port) = dialect.default_port() else {
            let file = url.trim_start_matches("sqlite:").trim_start_matches("//");
            return Ok(Self::File(file.split('?').next().unwrap_or_default().into()));
        };
        let options = AnyConnectOptions::from_str(url).map_err(StoreError::at("read the database url"))?;
        let url = options.database_url;
        if url.query_pairs().any(|(name, _)| matches!(&*name, "host" | "hostaddr" | "port" | "socket")) {
            return Ok(Self::Parameters);
        }
        let host = url.host_str().filter(|host| !host.is_empty()).unwrap_or("localhost");
        let host = host.trim_matches(['[', ']']).to_owned();
        Ok(Self::Server { host, port: url.port().unwrap_or(default_port) })
    }
}

// === impl Preflight ===

impl Preflight {
    /// Connects; a missing file is not created.
    pub async fn open(url: &str) -> Result<Self, StoreError> {
        sqlx::any::install_default_drivers();
        let dialect = Dialect::of_url(url)?;
        let url = dialect.existing_url(url);
        let options = AnyConnectOptions::from_str(&url).map_err(StoreError::at("read the database url"))?;
        let connection = AnyConnection::connect_with(&options).await;
        let connection = connection.map_err(StoreError::at("connect to the database"))?;
        Ok(Self { dialect, connection })
    }

    /// Returns the name and version of the server.
    pub async fn version(&mut self) -> Result<String, StoreError> {
        let row = Statement::new(self.dialect, self.dialect.version_query())
            .fetch_optional("read the server's version", &mut self.connection)
            .await?;
        row.map_or(Ok(String::new()), |row| row.text("version").map(str::to_owned))
    }

    /// Returns the time of the server's clock.
    pub async fn clock(&mut self) -> Result<Timestamp, StoreError> {
        let row = Statement::new(self.dialect, "SELECT {now} AS clock")
            .fetch_optional("read the server's clock", &mut self.connection)
            .await?;
        row.map_or(Ok(Timestamp::UNIX_EPOCH), |row| row.timestamp("clock"))
    }

    /// Makes one round trip.
    pub async fn ping(&mut self) -> Result<(), StoreError> {
        self.connection.ping().await.map_err(StoreError::at("ping the database"))
    }

    /// Returns the largest number of connections; none for SQLite, which has no limit.
    pub async fn max_connections(&mut self) -> Result<Option<u64>, StoreError> {
        let Some(text) = self.dialect.max_connections_query() else { return Ok(None) };
        let row = Statement::new(self.dialect, text)
            .fetch_optional("read the limit of connections", &mut self.connection)
            .await?;
        row.map(|row| row.count("connections")).transpose()
    }

    /// Reads the version of the stored tables.
    pub async fn schema(&mut self) -> Result<Schema, StoreError> {
        let stored = if self.has_migrations().await? {
            let text = "SELECT COALESCE(MAX(version), 0) AS newest FROM spindrift_migration";
            let row = Statement::new(self.dialect, text)
                .fetch_optional("read the schema's version", &mut self.connection)
                .await?;
            row.map_or(Ok(0), |row| row.number("newest"))?
        } else {
            0
        };
        let known = migration::known().last().unwrap_or_default();
        let pending = migration::known().filter(|version| *version > stored).count();
        Ok(Schema { stored, known, pending })
    }

    async fn has_migrations(&mut self) -> Result<bool, StoreError> {
        let row = Statement::new(self.dialect, self.dialect.migration_table_query())
            .fetch_optional("look for the tables", &mut self.connection)
            .await?;
        Ok(row.map_or(Ok(0), |row| row.count("tables"))? > 0)
    }

    /// Tries to write: a table if a start would create some, otherwise a row.
    pub async fn write(&mut self, schema: Schema) -> Result<(), StoreError> {
        let create = "CREATE TABLE IF NOT EXISTS spindrift_check (number BIGINT)";
        if schema.pending > 0 && !self.dialect.rolls_back_tables() {
            self.raw(create, "create a table").await?;
            return self.raw("DROP TABLE spindrift_check", "drop a table").await;
        }
        self.raw(self.dialect.begin(), "begin a transaction").await?;
        let tried = if schema.pending > 0 {
            self.raw(create, "create a table").await
        } else {
            self.raw("INSERT INTO spindrift_migration (version, applied_at) VALUES (0, 0)", "insert a row")
                .await
        };
        let undone = self.raw("ROLLBACK", "roll back").await;
        tried.and(undone)
    }

    async fn raw(&mut self, text: &'static str, step: &'static str) -> Result<(), StoreError> {
        sqlx::raw_sql(text).execute(&mut self.connection).await.map(drop).map_err(StoreError::at(step))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_names_a_file_or_a_server() {
        sqlx::any::install_default_drivers();
        let file = |path: &str| Location::File(path.into());
        let server = |host: &str, port| Location::Server { host: host.into(), port };
        for (url, location) in [
            ("sqlite://spindrift.db", file("spindrift.db")),
            ("sqlite:///var/lib/hub.db?mode=rwc", file("/var/lib/hub.db")),
            ("postgres://hub:secret@db/hub", server("db", 5432)),
            ("mysql://hub@[::1]:3307/hub", server("::1", 3307)),
            ("postgres:///hub?host=/run/postgresql", Location::Parameters),
            ("mysql://hub@localhost/hub?socket=/run/mysqld/mysqld.sock", Location::Parameters),
        ] {
            assert_eq!(Location::of_url(url).unwrap(), location, "{url}");
        }
        assert!(Location::of_url("oracle://db").is_err());
    }
}
