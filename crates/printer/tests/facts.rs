//! Compares with the tables of a real API server (1.36.3) for objects in many states. `facts.jsonl` has one line per
//! kind: the response to `Accept: application/json;as=Table` with its time, columns, and each object with its cells.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

use serde::Deserialize;
use serde_json::Value;
use spindrift_printer::{KindRef, Printer};

#[derive(Deserialize)]
struct Fact {
    group: String,
    version: String,
    kind: String,
    now: String,
    columns: Vec<FactColumn>,
    rows: Vec<Row>,
    /// The CustomResourceDefinition, for kinds that have one.
    definition: Option<Value>,
}

#[derive(Deserialize, Debug, PartialEq)]
struct FactColumn {
    name: String,
    r#type: String,
    format: String,
    priority: i32,
}

#[derive(Deserialize)]
struct Row {
    object: Value,
    cells: Vec<Value>,
}

fn facts() -> Vec<(Fact, Printer)> {
    let parse = |line: &str| {
        let fact: Fact = serde_json::from_str(line).unwrap();
        let printer = match &fact.definition {
            Some(definition) => Printer::custom(definition, &fact.version),
            None => Printer::of(KindRef { group: &fact.group, kind: &fact.kind }),
        };
        (fact, printer)
    };
    include_str!("facts.jsonl").lines().map(parse).collect()
}

#[test]
fn columns_are_the_api_servers() {
    for (fact, printer) in facts() {
        let columns: Vec<_> = printer
            .columns()
            .iter()
            .map(|column| FactColumn {
                name: column.name.to_string(),
                r#type: column.r#type.to_string(),
                format: column.format.to_string(),
                priority: column.priority,
            })
            .collect();
        assert_eq!(columns, fact.columns, "{}.{}", fact.kind, fact.group);
    }
}

#[test]
fn cells_are_the_api_servers() {
    let mut wrong = Vec::new();
    for (fact, printer) in facts() {
        for Row { object, mut cells } in fact.rows {
            // The API server sends an age for an IPAddress, but defines no column for it.
            cells.truncate(fact.columns.len());
            let ours = printer.cells(&object, fact.now.parse().unwrap());
            if ours != cells {
                wrong.push(format!(
                    "{} {}: {ours:?}\nexpected {cells:?}",
                    fact.kind, object["metadata"]["name"]
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_secret_shows_that_its_data_is_hidden() {
    let printer = Printer::of(KindRef { group: "", kind: "Secret" });
    let secret = serde_json::json!({ "metadata": { "name": "password", "creationTimestamp": "2026-11-16T01:00:00Z" } });
    let cells = printer.cells(&secret, "2026-11-16T01:00:05Z".parse().unwrap());
    assert_eq!(cells, ["password", "<hidden>", "<hidden>", "5s"]);
}
