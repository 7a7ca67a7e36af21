//! The database: from its URL to whether a hub could write there.

use std::io;
use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;
use spindrift_process::{
    check::{DEADLINE, Section, clock::clock, reach::Place},
    report,
};
use tokio::time::{Instant, timeout};

use crate::config::Sql;
use crate::store::{Location, Preflight, Schema, StoreError};

/// A commit takes a few round trips; beyond this the store is slow rather than far away.
const SLOW: Duration = Duration::from_millis(50);

/// Number of round trips that are measured; a single one means little.
const PINGS: u32 = 5;

pub(super) async fn section(sql: &Sql) -> Section {
    const LOGIN: [&str; 7] = ["login", "server", "schema", "write", "latency", "clock", "connections"];
    let mut section = Section::new("database");
    let shown = sql.shown_url();
    let location = match Location::of_url(&sql.url) {
        Ok(location) => location,
        Err(error) => {
            // The parser's words may quote the URL, and with it the password.
            let found = format!("sql.url cannot be read: {error}");
            let remedy = "expected sqlite://file, postgres://user:password@host/name or mysql://user:password@host/name as sql.url";
            section.wrong("url", found, remedy);
            section.skip(&LOGIN, "it is not known where the database is");
            return section;
        }
    };
    section.ok("url", shown);
    let is_there = match &location {
        Location::File(file) => look_at(file, &mut section),
        Location::Server { host, port } => {
            let place = Place { host: host.clone(), port: *port, setting: "sql.url".into() };
            place.reach(&mut section).await.is_some()
        }
        Location::Parameters => true,
    };
    if !is_there {
        let because = match location {
            Location::File(_) => "there is no file yet",
            Location::Server { .. } | Location::Parameters => "the database cannot be reached",
        };
        section.skip(&LOGIN, because);
        return section;
    }
    match within(Preflight::open(&sql.url)).await {
        Ok(database) => {
            section.ok("login", "is accepted");
            examine(database, sql, &mut section).await;
        }
        Err(failure) => {
            let (found, remedy) = failure.explain();
            section.wrong("login", found, remedy);
            section.skip(&LOGIN[1..], "the database does not let us in");
        }
    }
    section
}

/// Whether the file is there; if not, whether a hub could create it.
fn look_at(file: &Path, section: &mut Section) -> bool {
    if file.is_file() {
        section.ok("file", file.display().to_string());
        return true;
    }
    let directory = file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let probe = directory.join(format!(".spindrift-check-{}", std::process::id()));
    match std::fs::write(&probe, "").and_then(|()| std::fs::remove_file(&probe)) {
        Ok(()) => section.ok("file", format!("{} will be created", file.display())),
        Err(error) => {
            let remedy = if error.kind() == io::ErrorKind::NotFound {
                format!("create the directory {}, or correct sql.url", directory.display())
            } else {
                format!("let the hub's user write to {}, or correct sql.url", directory.display())
            };
            section.wrong("file", format!("{} cannot be created: {error}", file.display()), remedy);
        }
    }
    false
}

async fn examine(mut database: Preflight, sql: &Sql, section: &mut Section) {
    match within(database.version()).await {
        Ok(version) => section.ok("server", version),
        Err(failure) => section.warn("server", failure.explain().0, "see the database's log"),
    }
    match within(database.schema()).await {
        Ok(schema) => {
            describe(schema, section);
            match within(database.write(schema)).await {
                Ok(()) => section.ok("write", "is allowed"),
                Err(failure) => {
                    let (found, _) = failure.explain();
                    let remedy = "let the user of sql.url create, read and write tables in this database";
                    section.wrong("write", found, remedy);
                }
            }
        }
        Err(failure) => {
            let remedy = "let the user of sql.url read the tables that begin with spindrift_";
            section.wrong("schema", failure.explain().0, remedy);
            section.skip(&["write"], "the tables cannot be read");
        }
    }
    latency(&mut database, section).await;
    let before = Timestamp::now();
    match within(database.clock()).await {
        Ok(theirs) => section.push(clock("the database", theirs, before)),
        Err(failure) => section.warn("clock", failure.explain().0, "see the database's log"),
    }
    connections(&mut database, sql, section).await;
}

fn describe(schema: Schema, section: &mut Section) {
    let Schema { stored, known, pending } = schema;
    match (stored, pending) {
        (0, _) => section.ok("schema", "is empty: the hub will create its tables at its first start"),
        (_, 0) if stored > known => section.warn(
            "schema",
            format!("version {stored} is newer than this hub, who knows {known}: it will be left alone"),
            "finish the upgrade: run the newer hub everywhere",
        ),
        (_, 0) => section.ok("schema", format!("version {stored}, as this hub has it")),
        _ => section.ok("schema", format!("version {stored}: the hub will take {pending} steps to {known}")),
    }
}

/// Returns the quickest of some round trips: the others show how busy this machine is.
async fn latency(database: &mut Preflight, section: &mut Section) {
    let mut quickest = Duration::MAX;
    let pings = within(async {
        for _ in 0..PINGS {
            let started = Instant::now();
            database.ping().await?;
            quickest = quickest.min(started.elapsed());
        }
        Ok(())
    });
    if let Err(failure) = pings.await {
        section.warn("latency", failure.explain().0, "see the database's log");
        return;
    }
    let found = format!("{:.1} ms for a round trip", quickest.as_secs_f64() * 1000.0);
    if quickest > SLOW {
        section.warn("latency", found, "move the hub nearer to its database, or relieve the database");
    } else {
        section.ok("latency", found);
    }
}

async fn connections(database: &mut Preflight, sql: &Sql, section: &mut Section) {
    const CHECK: &str = "connections";
    let wanted = u64::from(sql.readers) + u64::from(sql.writers);
    match within(database.max_connections()).await {
        Ok(None) => {}
        Ok(Some(limit)) if wanted > limit => section.wrong(
            CHECK,
            format!("the hub wants {wanted} connections, the server takes {limit} in all"),
            "lower sql.readers and sql.writers, or raise max_connections of the server",
        ),
        Ok(Some(limit)) if wanted * 2 > limit => section.warn(
            CHECK,
            format!("the hub wants {wanted} of the {limit} connections that the server takes"),
            "lower sql.readers and sql.writers before a second hub is started, or raise max_connections",
        ),
        Ok(Some(limit)) => section.ok(CHECK, format!("{wanted} of the {limit} that the server takes")),
        Err(failure) => section.warn(CHECK, failure.explain().0, "see the database's log"),
    }
}

/// A question that was not answered.
enum Failure {
    Refused(StoreError),
    Slow,
}

async fn within<T>(answer: impl Future<Output = Result<T, StoreError>>) -> Result<T, Failure> {
    match timeout(DEADLINE, answer).await {
        Ok(answer) => answer.map_err(Failure::Refused),
        Err(_) => Err(Failure::Slow),
    }
}

// === impl Failure ===

impl Failure {
    /// Returns the error, with advice if it occurred at the login.
    fn explain(self) -> (String, &'static str) {
        let error = match self {
            Self::Refused(error) => error,
            Self::Slow => {
                return (
                    format!("no answer within {DEADLINE:?}"),
                    "see whether the database is overloaded or stopped",
                );
            }
        };
        let code = match &error {
            StoreError::Database { source: sqlx::Error::Database(error), .. } => {
                error.code().unwrap_or_default().into_owned()
            }
            _ => String::new(),
        };
        let remedy = match &*code {
            "28P01" | "28000" => "correct user and password in sql.url, or let the user in",
            "3D000" | "42000" => "create the database, or correct its name in sql.url",
            "53300" | "08004" => "raise max_connections of the server, or close other connections",
            _ => "correct sql.url (its parameters for TLS too), and see the database's log",
        };
        (report(&error), remedy)
    }
}
