//! A look at a database before a hub uses it. Whatever is tried is taken back.

use std::path::PathBuf;
use std::str::FromStr;

use jiff::Timestamp;
use sqlx::any::AnyConnectOptions;
use sqlx::{AnyConnection, Connection};

use super::{StoreError, dialect::Dialect, migration, row::Columns, statement::Statement};

/// One connection, on which questions are asked.
#[derive(Debug)]
pub struct Examination {
    dialect: Dialect,
    connection: AnyConnection,
}

/// Where a database is.
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
    /// A server that is reached as parameters of the URL say, perhaps by a socket; only a login can tell.
    Parameters,
}

/// How the stored tables compare with those of this release.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Schema {
    /// The version that is stored; 0 before the first start of a hub.
    pub stored: i64,
    /// The newest version that this release knows.
    pub known: i64,
    /// How many steps a start of this release would take.
    pub pending: usize,
}

// === impl Location ===

impl Location {
    /// Reads where a URL points to.
    pub fn of_url(url: &str) -> Result<Self, StoreError> {
        let dialect = Dialect::of_url(url)?;
        let default_port = match dialect {
            Dialect::Sqlite => {
                let file = url.trim_start_matches("sqlite:").trim_start_matches("//");
                return Ok(Self::File(file.split('?').next().unwrap_or_default().into()));
            }
            Dialect::Postgres => 5432,
            Dialect::MySql => 3306,
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

// === impl Examination ===

impl Examination {
    /// Connects; a file that is not there is not created.
    pub async fn open(url: &str) -> Result<Self, StoreError> {
        sqlx::any::install_default_drivers();
        let dialect = Dialect::of_url(url)?;
        let url = dialect.complete_url(url);
        let url = if dialect == Dialect::Sqlite { url.replace("mode=rwc", "mode=rw") } else { url };
        let options = AnyConnectOptions::from_str(&url).map_err(StoreError::at("read the database url"))?;
        let connection = AnyConnection::connect_with(&options).await;
        let connection = connection.map_err(StoreError::at("connect to the database"))?;
        Ok(Self { dialect, connection })
    }

    /// What the server calls itself.
    pub async fn version(&mut self) -> Result<String, StoreError> {
        let text = match self.dialect {
            Dialect::Sqlite => "SELECT 'SQLite ' || sqlite_version() AS version",
            Dialect::Postgres => {
                "SELECT 'PostgreSQL ' || split_part(current_setting('server_version'), ' ', 1) AS version"
            }
            Dialect::MySql => "SELECT CAST(VERSION() AS CHAR) AS version",
        };
        let row = Statement::new(self.dialect, text)
            .fetch_optional("read the server's version", &mut self.connection)
            .await?;
        row.map_or(Ok(String::new()), |row| row.text("version").map(str::to_owned))
    }

    /// The server's clock.
    pub async fn clock(&mut self) -> Result<Timestamp, StoreError> {
        let row = Statement::new(self.dialect, "SELECT {now} AS clock")
            .fetch_optional("read the server's clock", &mut self.connection)
            .await?;
        row.map_or(Ok(Timestamp::UNIX_EPOCH), |row| row.timestamp("clock"))
    }

    /// One round trip.
    pub async fn ping(&mut self) -> Result<(), StoreError> {
        self.connection.ping().await.map_err(StoreError::at("ping the database"))
    }

    /// How many connections the server takes; SQLite does not count them.
    pub async fn max_connections(&mut self) -> Result<Option<u64>, StoreError> {
        let text = match self.dialect {
            Dialect::Sqlite => return Ok(None),
            Dialect::Postgres => "SELECT CAST(current_setting('max_connections') AS BIGINT) AS connections",
            Dialect::MySql => "SELECT CAST(@@max_connections AS SIGNED) AS connections",
        };
        let row = Statement::new(self.dialect, text)
            .fetch_optional("read the limit of connections", &mut self.connection)
            .await?;
        row.map(|row| row.count("connections")).transpose()
    }

    /// Which tables there are.
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
        let text = match self.dialect {
            Dialect::Sqlite => {
                "SELECT COUNT(*) AS tables FROM sqlite_master WHERE name = 'spindrift_migration'"
            }
            Dialect::Postgres => {
                "SELECT COUNT(*) AS tables FROM pg_catalog.pg_class \
                 WHERE relname = 'spindrift_migration' AND pg_catalog.pg_table_is_visible(oid)"
            }
            Dialect::MySql => {
                "SELECT COUNT(*) AS tables FROM information_schema.tables \
                 WHERE table_schema = DATABASE() AND table_name = 'spindrift_migration'"
            }
        };
        let row = Statement::new(self.dialect, text)
            .fetch_optional("look for the tables", &mut self.connection)
            .await?;
        Ok(row.map_or(Ok(0), |row| row.count("tables"))? > 0)
    }

    /// Tries to write: tables where a start would make some, else a row.
    pub async fn write(&mut self, schema: Schema) -> Result<(), StoreError> {
        let create = "CREATE TABLE IF NOT EXISTS spindrift_check (number BIGINT)";
        if schema.pending > 0 && self.dialect == Dialect::MySql {
            // A table is made at once here, whatever becomes of the transaction.
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
