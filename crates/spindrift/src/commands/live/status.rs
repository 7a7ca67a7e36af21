//! State of an object in one line, in the columns of `spindrift get`, and its difference from an earlier one.

use jiff::Timestamp;
use serde_json::Value;
use spindrift_printer::{KindRef, Printer, cell_text};

/// State of an object.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ObjectStatus {
    /// Columns with their cells.
    cells: Vec<(String, String)>,
    /// Changes with the specification.
    generation: i64,
    health: ObjectHealth,
}

/// Health of an object, the worst last.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ObjectHealth {
    #[default]
    Good,
    /// Some replicas or containers are not ready.
    Degraded,
    Bad,
}

/// Columns that change with the time, or repeat the name.
const SKIPPED: [&str; 5] = ["Age", "Created At", "Last Schedule", "Duration", "Last Seen"];

/// Parts of a status that name a failure.
const FAILURES: [&str; 12] = [
    "backoff",
    "error",
    "err",
    "failed",
    "oomkilled",
    "evicted",
    "unknown",
    "invalid",
    "lost",
    "notready",
    "deadlineexceeded",
    "false",
];

/// Columns whose cells are states, in lower case.
const STATES: [&str; 3] = ["status", "phase", "ready"];

/// Longest cell, so that lists of ports and addresses leave room for the others.
const LONGEST: usize = 48;

// === impl ObjectStatus ===

impl ObjectStatus {
    pub(super) fn of(kind: KindRef<'_>, object: &Value, now: Timestamp) -> Self {
        let printer = Printer::of(kind);
        let columns = printer.columns().iter().zip(printer.cells(object, now));
        let mut cells: Vec<_> = columns
            .filter(|(column, _)| column.format != "name" && !SKIPPED.contains(&&*column.name))
            .filter(|(column, _)| column.priority == 0 || column.name == "Images")
            .map(|(column, cell)| (column.name.to_uppercase(), shortened(&cell_text(&cell))))
            .filter(|(_, cell)| !cell.is_empty())
            .collect();
        if cells.is_empty() {
            cells = generic(object);
        }
        let generation = object.pointer("/metadata/generation").and_then(Value::as_i64).unwrap_or_default();
        let health = cells.iter().map(|(column, cell)| health(column, cell)).max().unwrap_or_default();
        Self { cells, generation, health }
    }

    pub(super) fn health(&self) -> ObjectHealth {
        self.health
    }

    /// `STATUS Pending → Running`: the columns that differ. Without an earlier state, all of them.
    pub(super) fn since(&self, before: Option<&Self>) -> String {
        let Some(before) = before else { return self.to_string() };
        let earlier = |column: &String| {
            before.cells.iter().find(|(name, _)| name == column).map_or("<none>", |(_, cell)| cell)
        };
        let changed = self.cells.iter().filter(|(column, cell)| earlier(column) != cell);
        let changed: Vec<_> =
            changed.map(|(column, cell)| format!("{column} {} → {cell}", earlier(column))).collect();
        if changed.is_empty() && self.generation != before.generation {
            "spec changed".to_owned()
        } else {
            changed.join(", ")
        }
    }
}

/// `READY 1/1, STATUS Running`.
impl std::fmt::Display for ObjectStatus {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let cells: Vec<_> = self.cells.iter().map(|(column, cell)| format!("{column} {cell}")).collect();
        f.write_str(&cells.join(", "))
    }
}

/// Phase and condition of an object of a kind without columns.
fn generic(object: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().map(shortened);
    let phase = object.pointer("/status/phase").and_then(text).map(|phase| ("PHASE".to_owned(), phase));
    let conditions = object.pointer("/status/conditions").and_then(Value::as_array);
    let ready = conditions.into_iter().flatten().find(|condition| condition["type"] == "Ready");
    let ready = ready.and_then(|ready| text(&ready["status"])).map(|status| ("READY".to_owned(), status));
    phase.into_iter().chain(ready).collect()
}

/// Cell without a time such as in `3 (5m ago)`, which changes by itself.
fn shortened(cell: &str) -> String {
    let cell = match cell.split_once(" (") {
        Some((count, rest)) if rest.ends_with("ago)") => count,
        _ => cell,
    };
    match cell.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", cell.get(..end).unwrap_or_default()),
        None => cell.to_owned(),
    }
}

fn health(column: &str, cell: &str) -> ObjectHealth {
    if !STATES.contains(&&*column.to_lowercase()) {
        return ObjectHealth::Good;
    }
    if let Some((ready, wanted)) = cell.split_once('/')
        && let (Ok(ready), Ok(wanted)) = (ready.parse::<u32>(), wanted.parse::<u32>())
    {
        return if ready < wanted { ObjectHealth::Degraded } else { ObjectHealth::Good };
    }
    let cell = cell.to_lowercase();
    if FAILURES.iter().any(|failure| cell.contains(failure)) { ObjectHealth::Bad } else { ObjectHealth::Good }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod(phase: &str, ready: bool, waiting: Option<&str>) -> Value {
        let state = match waiting {
            Some(reason) => json!({ "waiting": { "reason": reason } }),
            None => json!({ "running": {} }),
        };
        let container = json!({ "name": "main", "ready": ready, "restartCount": 0, "state": state });
        json!({ "metadata": { "name": "web" }, "spec": { "containers": [{ "name": "main" }] },
            "status": { "phase": phase, "containerStatuses": [container] } })
    }

    fn status(kind: &str, object: &Value) -> ObjectStatus {
        ObjectStatus::of(KindRef { group: "", kind }, object, "2026-01-01T12:00:00Z".parse().unwrap())
    }

    #[test]
    fn a_change_is_shown_from_what_to_what() {
        let before = status("Pod", &pod("Pending", false, Some("ContainerCreating")));
        let after = status("Pod", &pod("Running", true, None));
        assert_eq!(after.since(Some(&before)), "READY 0/1 → 1/1, STATUS ContainerCreating → Running");
        assert_eq!(after.since(None), "READY 1/1, STATUS Running, RESTARTS 0");
        assert_eq!(after.since(Some(&after)), "");
    }

    #[test]
    fn failures_and_missing_replicas_stand_out() {
        let bad = status("Pod", &pod("Running", false, Some("CrashLoopBackOff")));
        assert_eq!(bad.health(), ObjectHealth::Bad);
        assert_eq!(status("Pod", &pod("Running", false, None)).health(), ObjectHealth::Degraded);
        assert_eq!(status("Pod", &pod("Running", true, None)).health(), ObjectHealth::Good);
        let widget = json!({ "status": { "conditions": [{ "type": "Ready", "status": "False" }] } });
        let widget = status("Widget", &widget);
        assert_eq!((widget.to_string(), widget.health()), ("READY False".to_owned(), ObjectHealth::Bad));
    }

    #[test]
    fn a_changed_specification_without_columns_is_named() {
        let before = status("Widget", &json!({ "metadata": { "generation": 1 } }));
        let after = status("Widget", &json!({ "metadata": { "generation": 2 } }));
        assert_eq!(after.since(Some(&before)), "spec changed");
    }
}
