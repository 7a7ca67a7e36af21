use super::*;

fn page() -> Report {
    let mut report = Report::new("spindrift-hub", "1.2.3");
    let mut section = Section::new("configuration");
    section.ok("files", "/etc/hub.yml");
    section.warn("keys", "unknown key `sqll`: did you mean `sql`?", "spell it as suggested");
    report.push(section);
    let mut section = Section::new("database");
    section.wrong("dial", "db:5432 refuses\n  connections", "start it");
    section.skip(&["login", "schema"], "it cannot be reached");
    report.push(section);
    report
}

#[test]
fn every_wrong_line_is_followed_by_its_remedy() {
    let text = "spindrift-hub 1.2.3

configuration
  ok       files  /etc/hub.yml
  warn     keys   unknown key `sqll`: did you mean `sql`?
                  → spell it as suggested

database
  wrong    dial  db:5432 refuses connections
                 → start it
  skipped  login, schema  (because it cannot be reached)

1 ok, 1 warn, 1 wrong, 2 skipped
";
    assert_eq!(page().text(Extent::Everything, false), text);
}

#[test]
fn the_quiet_page_has_problems_only() {
    let text = "configuration
  warn     keys  unknown key `sqll`: did you mean `sql`?
                 → spell it as suggested

database
  wrong    dial  db:5432 refuses connections
                 → start it
";
    assert_eq!(page().text(Extent::Problems, false), text);
    assert_eq!(Report::new("p", "v").text(Extent::Problems, false), "");
}

#[test]
fn scripts_get_the_same_with_stable_names() {
    let page: serde_json::Value = serde_json::from_str(&page().json(Extent::Problems)).unwrap();
    let expected = serde_json::json!({
        "program": "spindrift-hub",
        "version": "1.2.3",
        "verdict": "wrong",
        "counts": { "ok": 1, "warn": 1, "wrong": 1, "skipped": 2 },
        "sections": [
            { "name": "configuration", "checks": [{
                "check": "keys", "state": "warn", "found": "unknown key `sqll`: did you mean `sql`?",
                "remedy": "spell it as suggested",
            }] },
            { "name": "database", "checks": [{
                "check": "dial", "state": "wrong", "found": "db:5432 refuses\n  connections", "remedy": "start it",
            }] },
        ],
    });
    assert_eq!(page, expected);
}

#[test]
fn skipped_lines_do_not_make_a_verdict() {
    let mut report = Report::new("p", "v");
    let mut section = Section::new("s");
    section.ok("a", "fine");
    section.skip(&["b"], "there is none");
    report.push(section);
    assert_eq!(report.verdict(), State::Ok);
    assert_eq!(page().verdict(), State::Wrong);
}
