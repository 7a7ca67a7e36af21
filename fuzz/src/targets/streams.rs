//! Bodies that arrive in chunks: where they are cut must not matter.

use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;
use spindrift_kubernetes::{Event, EventSplitter, Malformed, PageEnd, PageSplitter, ScrubRules};

use super::{
    JSON, behaviour,
    objects::{self, Sort},
};
use crate::Target;

pub(super) const EVENTS: Target = Target {
    name: "events",
    seeds: &[
        concat!(
            r#"{"type":"ADDED","object":{"kind":"Secret","apiVersion":"v1","metadata":{"name":"a","namespace":"n","uid":"u","resourceVersion":"1","annotations":{"kubectl.kubernetes.io/last-applied-configuration":"canary"}},"data":{"a":"canary"}}}"#,
            "\n",
            r#"{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"9","annotations":{"k8s.io/initial-events-end":"true"}}}}"#,
            "\n",
        ),
        "{\"type\":\"ERROR\",\"object\":{\"code\":410,\"reason\":\"Expired\"}}\n\n",
        "{\"object\":{\"metadata\":{\"uid\":\"u\",\"name\":\"a\",\"resourceVersion\":\"1\"},\"data\":{\"a\":\"canary\"}},\"type\":\"DELETED\"}\n",
    ],
    words: JSON,
    run: events,
};

pub(super) const PAGES: Target = Target {
    name: "pages",
    seeds: &[
        r#"{"kind":"SecretList","apiVersion":"v1","metadata":{"resourceVersion":"7","continue":"x"},"items":[{"metadata":{"name":"a","uid":"u","resourceVersion":"1"},"data":{"a":"canary"}},{"metadata":{"name":"b","uid":"v","resourceVersion":"2"}}]}"#,
        r#"{"items":[],"metadata":{"resourceVersion":"7"}}"#,
        r#"{"items":null,"metadata":{"resourceVersion":"7"}}"#,
    ],
    words: JSON,
    run: pages,
};

fn events(input: &[u8]) -> u64 {
    let mut words = Vec::new();
    for (sort, rules) in objects::RULES.iter() {
        let read = |chunks: Vec<Bytes>| {
            let mut splitter = EventSplitter::new(rules.clone());
            let mut events = Vec::new();
            for chunk in chunks {
                splitter.push(chunk);
                events.extend(std::iter::from_fn(|| splitter.next_event()));
            }
            events
        };
        let whole = read(vec![Bytes::copy_from_slice(input)]);
        assert_eq!(read(cut(input)), whole, "the chunks matter");
        words.extend(whole.iter().map(|event| told(event, *sort, rules)));
    }
    behaviour(words)
}

fn pages(input: &[u8]) -> u64 {
    let mut words = Vec::new();
    for (sort, rules) in objects::RULES.iter() {
        let read = |chunks: Vec<Bytes>| -> Result<(Vec<Event>, PageEnd), Malformed> {
            let mut splitter = PageSplitter::new(rules.clone());
            let mut events = Vec::new();
            for chunk in chunks {
                splitter.push(chunk);
                while let Some(event) = splitter.next_event()? {
                    events.push(event);
                }
            }
            splitter.end().map(|end| (events, end))
        };
        let whole = read(vec![Bytes::copy_from_slice(input)]);
        assert_eq!(read(cut(input)), whole, "the chunks matter");
        match &whole {
            Ok((events, end)) => {
                words.extend(events.iter().map(|event| told(event, *sort, rules)));
                words.push(format!("{end:?}"));
            }
            Err(error) => words.push(error.to_string()),
        }
        compare(input, &whole);
    }
    behaviour(words)
}

/// A page as one reads it who has all of it at hand.
#[derive(Deserialize)]
struct Page<'a> {
    metadata: Metadata,
    #[serde(borrow)]
    items: Option<Vec<&'a RawValue>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    #[serde(default)]
    resource_version: String,
    #[serde(default)]
    r#continue: String,
}

fn compare(input: &[u8], split: &Result<(Vec<Event>, PageEnd), Malformed>) {
    let Ok(Page { metadata, items }) = serde_json::from_slice(input) else { return };
    let end = match metadata {
        Metadata { r#continue, .. } if !r#continue.is_empty() => PageEnd::Continue(r#continue),
        Metadata { resource_version, .. } if resource_version.is_empty() => return,
        Metadata { resource_version, .. } => PageEnd::Complete(resource_version.into()),
    };
    let (events, found) = split.as_ref().expect("a page that can be read whole can be split");
    assert_eq!((events.len(), found), (items.unwrap_or_default().len(), &end));
}

/// Description of an event; an object that passed must be clean.
fn told(event: &Event, sort: Sort, rules: &ScrubRules) -> String {
    match event {
        Event::Object(object) | Event::Deleted(object) => {
            objects::assert_clean(&object.body, sort, rules);
            "object".into()
        }
        Event::Unparseable { error, .. } => error.clone(),
        Event::Bookmark { .. } => "bookmark".into(),
        Event::Error(_) => "error".into(),
    }
}

/// Cuts a body by its own bytes.
fn cut(body: &[u8]) -> Vec<Bytes> {
    let (mut chunks, mut rest) = (Vec::new(), body);
    while let Some(first) = rest.first() {
        let (chunk, left) = rest.split_at((1 + usize::from(first.wrapping_mul(31) % 24)).min(rest.len()));
        chunks.push(Bytes::copy_from_slice(chunk));
        rest = left;
    }
    chunks
}
