use proptest::prelude::*;

use super::*;
use crate::{
    View,
    arbitrary::{Spelling, object, redacted_paths, rules},
    scrub::scrub,
};

const LONGEST: usize = 400;

/// Splits a body in these chunks; no buffer may remain between lines.
fn split(chunks: impl IntoIterator<Item = Bytes>, rules: &ScrubRules) -> Vec<Event> {
    let mut splitter = EventSplitter::with_longest(rules.clone(), LONGEST);
    let mut events = Vec::new();
    for chunk in chunks {
        splitter.push(chunk);
        events.extend(std::iter::from_fn(|| splitter.next_event()));
        assert!(splitter.filter.buffered() <= 6 * LONGEST);
        assert!(splitter.line.length > 0 || splitter.filter.buffered() == 0, "an idle watch holds no buffer");
    }
    events
}

#[test]
fn an_unparseable_line_is_one_event_and_later_ones_are_not_affected() {
    let good = r#"{"type":"ADDED","object":{"metadata":{"name":"a","uid":"u","resourceVersion":"1"}}}"#;
    let long = good.replace("\"uid\"", &format!("\"x\":\"{}\",\"uid\"", "x".repeat(LONGEST)));
    // Long only by a field that is cut.
    let managed = good.replace("\"uid\"", &format!("\"managedFields\":\"{}\",\"uid\"", "x".repeat(LONGEST)));
    let bad = [
        (long.as_str(), "longer than an object may be"),
        ("what?", "no JSON from line 1 column 1 on"),
        (&good[..good.len() - 10], "the JSON ends too early"),
        (r#"{"type":"ADDED","object":{},"object":{}}"#, "object is not there exactly once"),
        (r#"{"type":"ADDED"}"#, "object is not there exactly once"),
        (r#"{"type":"ADDED","object":{"metadata":{"name":"unfinished"#, "the JSON ends too early"),
        (
            r#"{"type":"ADDED","object":{"metadata":{"name":"a","uid":"","resourceVersion":"1"}}}"#,
            "uid is empty",
        ),
        (
            r#"{"type":"ADDED","object":{"metadata":{"name":"","uid":"u","resourceVersion":"1"}}}"#,
            "name is empty",
        ),
        (r#"{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":""}}}"#, "resourceVersion is empty"),
        (r#"{"type":"ADDED","object":{"metadata":{}}}}"#, "no JSON from line 1 column 42 on"),
    ];
    let mut body = format!("\n{managed}\n\r\n");
    for (line, _) in bad {
        body.extend([line, "\n", good, "\n"]);
    }
    body.push_str(good);

    let events = split([body.into()], &rules(View::Full, &[]));
    let is_good = |event: &Event| matches!(event, Event::Object(object) if &*object.name == "a");
    assert!(is_good(&events[0]));
    assert_eq!(events.len(), 1 + 2 * bad.len(), "bytes without a newline are no line");
    for (pair, (line, message)) in events[1..].chunks(2).zip(bad) {
        assert_eq!(pair[0], Event::Unparseable { error: message.into(), bytes: line.len() });
        assert!(is_good(&pair[1]));
    }
}

#[test]
fn bookmarks_are_parsed_whatever_is_redacted() {
    let bookmark = r#"{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"9","annotations":{"k8s.io/initial-events-end":"true"}}}}"#;
    let middle =
        r#"{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"8","annotations":{"a":"b"}}}}"#;
    for path in ["metadata.annotations.*", "metadata.annotations"] {
        let events = split([format!("{middle}\n{bookmark}\n").into()], &rules(View::Full, &[path]));
        let expected = [("8", false), ("9", true)].map(|(version, initial_events_end)| Event::Bookmark {
            resource_version: version.into(),
            initial_events_end,
        });
        assert_eq!(events, expected, "{path}");
    }
}

#[test]
fn shared_chunks_that_held_secrets_are_not_wiped() {
    // Freed memory cannot be inspected, so the test checks the other case: a shared chunk stays as it is.
    let line = Bytes::from(String::from("{\"type\":\"ADDED\",\"object\":{}}\n"));
    let shared = line.clone();
    split([line], &rules(View::MetadataOnly, &[]));
    assert!(shared.starts_with(b"{\"type\""), "memory that others still read is not wiped");
}

proptest! {
    #[test]
    fn the_events_do_not_depend_on_the_chunks(
        objects in prop::collection::vec((object(), 0..7), 1..5),
        paths in redacted_paths(),
        is_metadata_only in any::<bool>(),
        seed in any::<u64>(),
    ) {
        let view = if is_metadata_only { View::MetadataOnly } else { View::Full };
        let rules = rules(view, &paths);
        let mut spelling = Spelling::new(seed);
        let mut body = Vec::new();
        let mut wanted = Vec::new();
        for (object, form) in objects {
            let object = object.spell(&mut spelling);
            let scrubbed = scrub(object.as_bytes(), &rules);
            let line = match form {
                0 => format!(r#"{{"object":{object} , "type":"DELETED"}}"#),
                1 => format!(r#" {{"more":[{{}}],"type":"\u0041DDED","object" : {object}}} "#),
                2 => format!(r#"{{"type":"ADDED","object":{object}"#),
                _ => format!(r#"{{"type":"MODIFIED","object":{object}}}"#),
            };
            wanted.push(if form == 2 { None } else { scrubbed.ok().filter(|body| body.len() <= LONGEST) });
            body.extend_from_slice(line.as_bytes());
            body.push(b'\n');
        }
        let whole = split([Bytes::from(body.clone())], &rules);
        let bodies: Vec<_> = whole.iter().map(|event| match event {
            Event::Object(object) | Event::Deleted(object) => Some(object.body.clone()),
            _ => None,
        }).collect();
        // The limit does not count the fields that `complete` adds, so that both results are right near it.
        for (body, wanted) in bodies.iter().zip(&wanted) {
            prop_assert!(body == wanted || body.as_ref().is_some_and(|body| body.len() > LONGEST));
        }
        prop_assert_eq!(bodies.len(), wanted.len());
        prop_assert_eq!(split(spelling.cut(&body), &rules), whole);
    }

    #[test]
    fn arbitrary_bytes_do_not_depend_on_the_chunks_either(
        body in prop::collection::vec(prop_oneof![1 => Just(b'\n'), 12 => prop::sample::select(&b"{}[]:,\"\\ \ntypeobjcmad0n\xc3\xa9"[..]), 1 => any::<u8>()], 0..200),
        seed in any::<u64>(),
    ) {
        let rules = rules(View::MetadataOnly, &["data.*"]);
        let whole = split([Bytes::from(body.clone())], &rules);
        prop_assert_eq!(split(Spelling::new(seed).cut(&body), &rules), whole);
    }
}
