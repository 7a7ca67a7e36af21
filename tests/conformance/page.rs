//! The tables of `docs/compatibility.md`, written from those that the tests hold us to.

use std::{fmt::Write, path::PathBuf};

use crate::{
    accepted::ACCEPTED,
    routes::{Source, recordings},
};

const PAGE: &str = "docs/compatibility.md";

#[test]
fn the_page_has_the_tables_of_the_tests() {
    let page = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..").join(PAGE);
    let written = std::fs::read_to_string(&page).unwrap();
    let expected = replaced(&replaced(&written, "routes", &routes()), "differences", &differences());
    if std::env::var_os("UPDATE_GENERATED").is_some() {
        std::fs::write(&page, expected).unwrap();
        return;
    }
    let differs = written.lines().zip(expected.lines()).find(|(is, ought)| is != ought);
    assert!(
        written == expected,
        "{PAGE} is old; UPDATE_GENERATED=1 writes it anew. First difference: {differs:#?}"
    );
}

/// Puts a table between its marks.
fn replaced(page: &str, name: &str, table: &str) -> String {
    let (begin, end) = (format!("<!-- generated: {name} -->\n"), "<!-- end of generated -->");
    let (before, rest) = page.split_once(&begin).unwrap_or_else(|| panic!("{PAGE} has no mark {begin:?}"));
    let (_, after) = rest.split_once(end).unwrap_or_else(|| panic!("{PAGE} has no end for {name}"));
    format!("{before}{begin}\n{table}\n{end}{after}")
}

fn routes() -> String {
    let mut table = String::from("| route | answered | tested |\n| --- | --- | --- |\n");
    for (route, [asked, orca, gate]) in recordings() {
        let answered = match route.source {
            Source::Store => "from the store",
            Source::Live => "live, by the agent",
            Source::Hub => "by the hub",
            Source::Empty => "empty, as callers expect",
            Source::Never => "as Clouddriver: with an error",
            Source::Artifacts => "by the hub; embedded, http and helm only",
            Source::Front50 => {
                "from the store; Front50 says what belongs to a project (`services.front50.baseUrl`), a 404 without it"
            }
        };
        let mut tested = Vec::new();
        match asked {
            0 => {}
            1 => tested.push("1 recording".to_owned()),
            several => tested.push(format!("{several} recordings")),
        }
        if orca > 0 {
            tested.push("Orca's stages".to_owned());
        }
        if gate > 0 {
            tested.push("Gate's calls".to_owned());
        }
        if !route.example.is_empty() {
            tested.push("status".to_owned());
        }
        if route.in_system_tests {
            tested.push("system tests".to_owned());
        }
        let tested = if tested.is_empty() { "no".to_owned() } else { tested.join(", ") };
        writeln!(table, "| `{} {}` | {answered} | {tested} |", route.method, route.path).unwrap();
    }
    table.trim_end().to_owned()
}

fn differences() -> String {
    let mut table = String::from("| recordings | Clouddriver | here | why |\n| --- | --- | --- | --- |\n");
    for it in ACCEPTED {
        let numbers: Vec<_> = it.recordings.iter().map(|number| format!("{number:03}")).collect();
        let numbers = if numbers.is_empty() { "any".to_owned() } else { numbers.join(", ") };
        writeln!(table, "| {numbers} | {} | {} | {} |", it.clouddriver, it.ours, it.reason).unwrap();
    }
    table.trim_end().to_owned()
}
