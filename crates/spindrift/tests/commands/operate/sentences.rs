//! Each failure on the way is one clear sentence, and an exit code.

use serde_json::json;

use super::scripted::{Scripted, broken_off, refuse, respond};
use crate::support::Shell;

const SCALE: [&str; 5] = ["scale", "deploy/web", "--replicas=3", "-a", "east"];

#[test]
fn refusals_are_passed_on_in_their_original_words() {
    let (hub_says, agent_says) = (Some("spindrift-hub"), Some("spindrift-agent"));
    for (code, reason, message, source, expected) in [
        (403, "Forbidden", "no", None, "Error from server (Forbidden): no"),
        (409, "Conflict", "it has changed", None, "Error from server (Conflict): it has changed"),
        (409, "Conflict", "it is paused", agent_says, "error: it is paused"),
        (400, "BadRequest", "manifest.kind: expected", agent_says, "error: manifest.kind: expected"),
        (423, "Locked", "account east is frozen", hub_says, "error: account east is frozen"),
        (502, "OutcomeUnknown", "nobody knows", hub_says, "error: nobody knows"),
        (500, "InternalError", "the hub's log says why", hub_says, "error: the hub's log says why"),
    ] {
        let hub = Scripted::start(move |_| Some(refuse(code, reason, message, source)));
        let output = Shell::new(None).with("SPINDRIFT_HUB", &hub.url).spindrift(&SCALE);
        assert_eq!(
            (output.code, output.out.as_str(), output.err.trim_end()),
            (Some(1), "", expected),
            "{output:?}"
        );
    }
}

#[test]
fn a_hub_that_goes_away_after_it_was_asked_leaves_a_word_where_to_look() {
    let hub = Scripted::start(|_| Some(String::new()));
    let shell = Shell::new(None).with("SPINDRIFT_HUB", &hub.url);
    let output = shell.spindrift(&SCALE);
    let asked = hub.asked();
    let id = asked[0].line.split_once("id=").unwrap().1.split('&').next().unwrap().to_owned();
    let word = format!("outcome unknown: see spindrift operations {id} before you retry");
    assert!(output.code == Some(1) && output.err.trim_end().ends_with(&word), "{output:?}");
    assert_eq!(asked.len(), 1, "it is not asked again: {asked:?}");
}

#[test]
fn an_answer_that_breaks_off_is_never_taken_for_a_whole_one() {
    for (record, expected) in [
        (json!({ "reason": "the agent has gone" }), "error: the agent has gone"),
        (
            json!({ "status": { "kind": "Status", "reason": "Expired", "message": "the log was rotated" } }),
            "Error from server (Expired): the log was rotated",
        ),
        (json!({}), "error: the response of the hub at"),
    ] {
        let hub = Scripted::start(move |asked| {
            if asked.line.starts_with("POST") {
                return Some(broken_off("first\nsec"));
            }
            let mut answer = json!({ "id": "x", "account": "east", "verb": "logs", "state": "failed",
                "createdAt": "2026-11-16T08:00:00Z" });
            answer.as_object_mut().unwrap().extend(record.as_object().unwrap().clone());
            Some(respond(200, &answer))
        });
        let shell = Shell::new(None).with("SPINDRIFT_HUB", &hub.url);
        let output = shell.spindrift(&["logs", "-f", "web-0", "-a", "east"]);
        assert_eq!((output.code, output.out.as_str()), (Some(1), "first\nsec"), "{output:?}");
        assert!(output.err.starts_with(expected) && output.err.lines().count() == 1, "{output:?}");
    }
}

#[test]
fn an_invalid_command_changes_nothing_anywhere() {
    let hub = Scripted::start(|_| None);
    let shell = Shell::new(None).with("SPINDRIFT_HUB", &hub.url);
    std::fs::write(
        shell.home.path().join("pod.yaml"),
        "apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: b}",
    )
    .unwrap();
    for (words, expected) in [
        (
            &["scale", "deploy/web", "--replicas=3"][..],
            "no account was specified; use -a ACCOUNT or --all-accounts; the hub has east, west",
        ),
        (
            &["scale", "deploy/web", "--replicas=3", "-a", "east,north"],
            "account \"north\" not found; the hub has east, west",
        ),
        (
            &["scale", "deploy", "--replicas=3", "-a", "east"],
            "no name was specified; specify a name of deploy, or a selector with -l",
        ),
        (&["apply", "-a", "east"], "must specify -f"),
        (&["apply", "-f", "nowhere.yaml", "-a", "east"], "the path \"nowhere.yaml\" does not exist"),
        (
            &["apply", "-f", "pod.yaml", "-n", "c", "-a", "east"],
            "the namespace from the provided object \"b\" does not match the namespace \"c\". You must pass '--namespace=b' to perform this operation.",
        ),
        (
            &["apply", "-f", "pod.yaml", "--force-conflicts", "-a", "east"],
            "--force-conflicts only works with --server-side",
        ),
        (&["delete", "pods", "-a", "east"], "no name was specified"),
        (
            &["delete", "pods", "web", "-l", "a=b", "-a", "east"],
            "name cannot be provided when a selector is specified",
        ),
        (
            &["delete", "pod", "web", "--force", "--grace-period=5", "-a", "east"],
            "cannot be specified together",
        ),
        (&["patch", "deploy/web", "-a", "east"], "must specify -p or --patch-file"),
        (&["patch", "deploy/web", "-p", "[]", "-a", "east"], "expected a map of fields"),
        (&["logs", "-a", "east"], "is a required argument for the logs command"),
        (&["logs", "web", "--since-time", "soon", "-a", "east"], "is not a date such as"),
    ] {
        let error = shell.spindrift(words).error();
        assert!(error.contains(expected), "{words:?}: {error}");
    }
    assert!(hub.asked().is_empty(), "{:?}", hub.asked());

    let output = shell.spindrift(&["diff", "-f", "nowhere.yaml", "-a", "east"]);
    assert_eq!(output.code, Some(2), "one would mean a difference: {output:?}");
    assert_eq!(output.err, "error: the path \"nowhere.yaml\" does not exist\n");
    assert_eq!(shell.spindrift(&["scale", "deploy/web"]).code, Some(2));

    let away = Shell::new(None).with("SPINDRIFT_HUB", "http://127.0.0.1:1").spindrift(&SCALE).error();
    assert!(
        away.contains("cannot connect to the hub at http://127.0.0.1:1") && away.contains("spindrift up"),
        "{away}"
    );
}
