//! Differences in the preflight check of a database.

use super::Dialect;

// === impl Dialect ===

impl Dialect {
    /// Default port of the server; none for SQLite, which is a file.
    pub(in crate::store) fn default_port(self) -> Option<u16> {
        match self {
            Self::Sqlite => None,
            Self::Postgres => Some(5432),
            Self::MySql => Some(3306),
        }
    }

    /// Returns the URL of a database that must exist: a file of SQLite is not created.
    pub(in crate::store) fn existing_url(self, url: &str) -> String {
        let url = self.complete_url(url);
        if self == Self::Sqlite { url.replace("mode=rwc", "mode=rw") } else { url }
    }

    /// Query of the server's name and version, as `version`.
    pub(in crate::store) fn version_query(self) -> &'static str {
        match self {
            Self::Sqlite => "SELECT 'SQLite ' || sqlite_version() AS version",
            Self::Postgres => {
                "SELECT 'PostgreSQL ' || split_part(current_setting('server_version'), ' ', 1) AS version"
            }
            Self::MySql => "SELECT CAST(VERSION() AS CHAR) AS version",
        }
    }

    /// Query of the largest number of connections, as `connections`; SQLite has no limit.
    pub(in crate::store) fn max_connections_query(self) -> Option<&'static str> {
        match self {
            Self::Sqlite => None,
            Self::Postgres => {
                Some("SELECT CAST(current_setting('max_connections') AS BIGINT) AS connections")
            }
            Self::MySql => Some("SELECT CAST(@@max_connections AS SIGNED) AS connections"),
        }
    }

    /// Query of the number of tables named `spindrift_migration`, as `tables`.
    pub(in crate::store) fn migration_table_query(self) -> &'static str {
        match self {
            Self::Sqlite => "SELECT COUNT(*) AS tables FROM sqlite_master WHERE name = 'spindrift_migration'",
            Self::Postgres => {
                "SELECT COUNT(*) AS tables FROM pg_catalog.pg_class \
                 WHERE relname = 'spindrift_migration' AND pg_catalog.pg_table_is_visible(oid)"
            }
            Self::MySql => {
                "SELECT COUNT(*) AS tables FROM information_schema.tables \
                 WHERE table_schema = DATABASE() AND table_name = 'spindrift_migration'"
            }
        }
    }

    /// Whether the creation of a table can be rolled back; MySQL commits it at once.
    pub(in crate::store) fn rolls_back_tables(self) -> bool {
        self != Self::MySql
    }
}
