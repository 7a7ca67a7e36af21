//! Differences in the schema and in its migration.

use super::Dialect;

/// Options of a table in MySQL and MariaDB; see `migrations/0001_foundation.sql`.
const MYSQL_OPTIONS: &str = " ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 /*M!100202 COLLATE utf8mb4_nopad_bin */ \
    /*!80017 COLLATE utf8mb4_0900_bin */";

// === impl Dialect ===

impl Dialect {
    /// Renders a migration: replaces the words in braces, keeps the lines that are for all databases or for this one
    /// (`[mysql] …`), and drops comments.
    pub(in crate::store) fn render_migration(self, template: &str) -> String {
        let lines = template.lines().filter(|line| !line.trim_start().starts_with("--"));
        let lines: Vec<_> = lines.filter_map(|line| self.own_line(line)).collect();
        let by_dialect = |sqlite, postgres, mysql| match self {
            Self::Sqlite => sqlite,
            Self::Postgres => postgres,
            Self::MySql => mysql,
        };
        [
            ("{create table}", by_dialect("CREATE TABLE", "CREATE TABLE", "CREATE TABLE IF NOT EXISTS")),
            ("{text}", by_dialect("TEXT", "TEXT", "LONGTEXT")),
            ("{bytes}", by_dialect("BLOB", "BYTEA", "LONGBLOB")),
            (" {bytewise}", by_dialect("", " COLLATE \"C\"", "")),
            (" {ascii}", by_dialect("", "", " CHARACTER SET ascii COLLATE ascii_bin")),
            (" {options}", by_dialect("", "", MYSQL_OPTIONS)),
        ]
        .into_iter()
        .fold(lines.join("\n"), |text, (word, replacement)| text.replace(word, replacement))
    }

    /// Returns a line without the names of its databases; none if this one is not among them.
    fn own_line(self, line: &str) -> Option<&str> {
        let Some((names, text)) = line.strip_prefix('[').and_then(|line| line.split_once(']')) else {
            return Some(line);
        };
        names.split(' ').any(|name| name == self.name()).then_some(text)
    }

    fn name(self) -> &'static str {
        match self {
            Self::Sqlite => "sqlite",
            Self::Postgres => "postgres",
            Self::MySql => "mysql",
        }
    }

    /// Takes the lock under which one hub migrates; released by [`Dialect::unlock_migration`] or the connection.
    pub(in crate::store) fn lock_migration(self) -> &'static str {
        match self {
            Self::Sqlite => "BEGIN EXCLUSIVE",
            Self::Postgres => "BEGIN; SELECT 1 FROM (SELECT pg_advisory_xact_lock(7809636945)) AS locked",
            Self::MySql => "DO GET_LOCK('spindrift_migration', 30)",
        }
    }

    pub(in crate::store) fn unlock_migration(self) -> &'static str {
        match self {
            Self::Sqlite | Self::Postgres => "COMMIT",
            Self::MySql => "DO RELEASE_LOCK('spindrift_migration')",
        }
    }
}
