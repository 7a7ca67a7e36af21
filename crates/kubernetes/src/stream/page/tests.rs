use proptest::prelude::*;

use super::*;
use crate::{
    View,
    arbitrary::{Spelling, object, redacted_paths, rules},
    scrub::scrub,
};

const LONGEST: usize = 400;

fn split(
    chunks: impl IntoIterator<Item = Bytes>,
    rules: &ScrubRules,
) -> Result<(Vec<Event>, PageEnd), Malformed> {
    let mut splitter = PageSplitter::with_longest(rules.clone(), LONGEST);
    let mut events = Vec::new();
    for chunk in chunks {
        splitter.push(chunk);
        while let Some(event) = splitter.next_event()? {
            events.push(event);
        }
        assert!(splitter.filter.buffered() <= 6 * LONGEST + 1024, "one object at a time");
    }
    splitter.end().map(|end| (events, end))
}

fn page(text: &str) -> Result<(Vec<Event>, PageEnd), Malformed> {
    split([Bytes::copy_from_slice(text.as_bytes())], &rules(View::Full, &[]))
}

#[test]
fn the_end_of_a_page_is_read_wherever_the_metadata_is() {
    let complete = PageEnd::Complete("7".into());
    let item = r#"{"metadata":{"name":"a","uid":"u","resourceVersion":"1"}}"#;
    for (text, events, end) in [
        (
            format!(r#"{{"kind":"ThingList","metadata":{{"resourceVersion":"7"}},"items":[{item}]}}"#),
            1,
            &complete,
        ),
        (
            format!(
                r#"{{"items":[{item} , {item}],"metadata":{{"remainingItemCount":1,"resourceVersion":"7"}}}} "#
            ),
            2,
            &complete,
        ),
        (r#"{"items":null,"metadata":{"resourceVersion":"7","continue":""}}"#.into(), 0, &complete),
        (r#"{"metadata":{"resourceVersion":"7"}}"#.into(), 0, &complete),
        (
            r#"{"items":[],"metadata":{"resourceVersion":"7","continue":"x\/y"}}"#.into(),
            0,
            &PageEnd::Continue("x/y".into()),
        ),
    ] {
        let read = page(&text).unwrap();
        assert_eq!((read.0.len(), &read.1), (events, end), "{text}");
        assert!(read.0.iter().all(|event| matches!(event, Event::Object(_))));
    }
}

#[test]
fn an_invalid_page_is_an_error_and_never_an_empty_list() {
    for text in [
        "",
        "{}",
        "[]",
        "null",
        "error page",
        r#"{"items":[]}"#,
        r#"{"items":[],"metadata":{}}"#,
        r#"{"items":{},"metadata":{"resourceVersion":"7"}}"#,
        r#"{"items":[],"metadata":{"resourceVersion":"7"}"#,
        r#"{"items":[],"metadata":{"resourceVersion":"7"}}}"#,
        r#"{"items":[],"metadata":{"resourceVersion":"7"},"metadata":{"resourceVersion":"8"}}"#,
        r#"{"items":[{}{}],"metadata":{"resourceVersion":"7"}}"#,
        r#"{"items":[{},],"metadata":{"resourceVersion":"7"}}"#,
        r#"{"items":[}],"metadata":{"resourceVersion":"7"}}"#,
    ] {
        assert!(page(text).is_err(), "{text}");
    }
    let endless = format!(r#"{{"metadata":{{"resourceVersion":"{}"}}}}"#, "7".repeat(1 << 20));
    let mut splitter = PageSplitter::new(rules(View::Full, &[]));
    let refused = endless.as_bytes().chunks(16 * 1024).find_map(|chunk| {
        splitter.push(Bytes::copy_from_slice(chunk));
        splitter.next_event().err()
    });
    assert_eq!(refused, Some(Malformed::TooLong));
}

#[test]
fn an_unparseable_object_is_one_event_and_the_others_are_not_affected() {
    let good = r#"{"metadata":{"name":"a","uid":"u","resourceVersion":"1"}}"#;
    let long = good.replace("\"uid\"", &format!("\"x\":\"{}\",\"uid\"", "x".repeat(LONGEST)));
    for bad in [&long, "{}", "1", "null", "[{}]", r#"{"metadata":[]}"#, r#"{"metadata":{"name":nul}}"#] {
        let text = format!(r#"{{"items":[{good},{bad},{good}],"metadata":{{"resourceVersion":"7"}}}}"#);
        let (events, _) = page(&text).unwrap();
        let [Event::Object(_), Event::Unparseable { bytes, .. }, Event::Object(_)] = &events[..] else {
            panic!("{bad}: {events:?}")
        };
        assert_eq!(*bytes, bad.len());
    }
}

proptest! {
    #[test]
    fn the_objects_do_not_depend_on_the_chunks_nor_on_the_order_of_the_fields(
        objects in prop::collection::vec(object(), 0..5),
        paths in redacted_paths(),
        is_metadata_only in any::<bool>(),
        seed in any::<u64>(),
        order in Just(vec![0, 1, 2, 3]).prop_shuffle(),
    ) {
        let view = if is_metadata_only { View::MetadataOnly } else { View::Full };
        let rules = rules(view, &paths);
        let mut spelling = Spelling::new(seed);
        let objects: Vec<_> = objects.iter().map(|object| object.spell(&mut spelling)).collect();
        let fields = [
            r#""kind":"ThingList""#.to_owned(),
            r#""metadata" : {"resourceVersion":"7"}"#.to_owned(),
            format!(r#""items": [{}]"#, objects.join(", ")),
            r#""more":{"items":[1,{}]}"#.to_owned(),
        ];
        let body = format!("{{{}}}\n", order.iter().map(|i| &*fields[*i]).collect::<Vec<_>>().join(","));
        let (events, end) = split([Bytes::from(body.clone())], &rules).unwrap();
        prop_assert_eq!(&end, &PageEnd::Complete("7".into()));
        prop_assert_eq!(events.len(), objects.len());
        for (event, object) in events.iter().zip(&objects) {
            match (event, scrub(object.as_bytes(), &rules)) {
                (Event::Object(object), Ok(scrubbed)) => prop_assert_eq!(&object.body, &scrubbed),
                (Event::Unparseable { .. }, Ok(scrubbed)) => prop_assert!(scrubbed.len() > LONGEST),
                (event, scrubbed) => {
                    let is_refused = matches!(event, Event::Unparseable { .. });
                    prop_assert!(scrubbed.is_err() && is_refused, "{:?}", event);
                }
            }
        }
        prop_assert_eq!(split(spelling.cut(body.as_bytes()), &rules), Ok((events, end)));
    }
}
