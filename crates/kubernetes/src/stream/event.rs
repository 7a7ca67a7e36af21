//! Events of a watch, one JSON line each.

use std::borrow::Cow;

use serde::Deserialize;
use spindrift_model::ResourceVersion;

use crate::{
    client::status::Status,
    json::Malformed,
    scrub::{ScrubRules, parts::Parts},
    stream::object::RawObject,
};

/// Event of a watch or a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// An object that was listed, added or modified.
    Object(RawObject),
    /// A deleted object, in its last state.
    Deleted(RawObject),
    /// Progress: all events up to this version have been sent.
    Bookmark {
        /// Version of the collection, from which a watch can be resumed.
        resource_version: ResourceVersion,
        /// Set if this ends the list: every object has been sent.
        initial_events_end: bool,
    },
    /// An event or object that cannot be parsed; later ones can.
    Unparseable {
        /// The problem, without a quote.
        error: String,
        /// Its length.
        bytes: usize,
    },
    /// The error with which the API server ends the watch.
    Error(Status),
}

/// Line of a watch without its object.
#[derive(Deserialize)]
struct EventEnvelope<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
}

// === impl Event ===

impl Event {
    /// Parses one line of a watch: its envelope and its scrubbed object.
    pub(crate) fn of_line(envelope: &[u8], object: &[u8], rules: &ScrubRules) -> Result<Self, Malformed> {
        let EventEnvelope { kind } = serde_json::from_slice(envelope)?;
        Ok(match &*kind {
            "ADDED" | "MODIFIED" => Self::Object(RawObject::read(object, rules)?),
            "DELETED" => Self::Deleted(RawObject::read(object, rules)?),
            "BOOKMARK" => {
                let bookmark = Parts::read(object)?;
                Self::Bookmark {
                    resource_version: bookmark.resource_version()?,
                    initial_events_end: bookmark.ends_initial_events()?,
                }
            }
            "ERROR" => Self::Error(serde_json::from_slice(object)?),
            _ => return Err(Malformed::UnknownType),
        })
    }

    pub(crate) fn unparseable(error: &Malformed, bytes: usize) -> Self {
        Self::Unparseable { error: error.to_string(), bytes }
    }
}

#[cfg(test)]
mod tests {
    use spindrift_model::Resource;

    use super::*;
    use crate::{EventSplitter, Redactions, View};

    fn event(line: &str) -> Event {
        let pods = Resource {
            group: "".into(),
            version: "v1".into(),
            kind: "Pod".into(),
            plural: "pods".into(),
            namespaced: true,
        };
        let rules = ScrubRules::new(&pods, View::Full, &Redactions::default());
        let mut splitter = EventSplitter::new(rules);
        splitter.push(format!("{line}\n").into());
        splitter.next_event().unwrap()
    }

    const POD: &str = r#"{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","namespace":"n","uid":"u","resourceVersion":"7"},"spec":{"x":[1, 2]}}"#;

    #[test]
    fn every_type_of_event_is_parsed() {
        let pod = RawObject {
            namespace: "n".into(),
            name: "a".into(),
            uid: "u".into(),
            resource_version: "7".into(),
            body: POD.into(),
        };
        assert_eq!(event(&format!(r#"{{"type":"ADDED","object":{POD}}}"#)), Event::Object(pod.clone()));
        assert_eq!(event(&format!(r#"{{"object":{POD},"type":"MODIFIED"}}"#)), Event::Object(pod.clone()));
        assert_eq!(event(&format!(r#"{{"type":"\u0044ELETED","object":{POD}}} "#)), Event::Deleted(pod));
        let bookmark = r#"{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"9","annotations":{"k8s.io/initial-events-end":"true"}}}}"#;
        assert_eq!(
            event(bookmark),
            Event::Bookmark { resource_version: "9".into(), initial_events_end: true }
        );
        assert_eq!(
            event(r#"{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"9"}}}"#),
            Event::Bookmark { resource_version: "9".into(), initial_events_end: false }
        );
        let Event::Error(status) = event(r#"{"type":"ERROR","object":{"code":410,"reason":"Expired"}}"#)
        else {
            panic!("an error was expected")
        };
        assert!(status.is_gone());
    }

    #[test]
    fn unparseable_lines_are_events_without_a_quote() {
        for line in [
            "canary",
            r#"{"type":"ADDED"}"#,
            r#"{"type":"ADDED","object":"canary"}"#,
            r#"{"type":"ADDED","object":{"metadata":"canary"}}"#,
            r#"{"type":"ADDED","object":{"metadata":{"name":"canary","uid":"u"}}}"#,
            r#"{"type":"ADDED","object":{"metadata":{"name":["canary"],"uid":"u","resourceVersion":"1"}}}"#,
            r#"{"type":"ADDED","object":{"metadata":{"name":"a","name":"canary","uid":"u","resourceVersion":"1"}}}"#,
            r#"{"type":"canary","object":{}}"#,
            r#"{"type":"ERROR","object":{"code":"canary"}}"#,
            r#"{"type":"ADDED","object":{"metadata":{"name":"canary"#,
        ] {
            let Event::Unparseable { error, bytes } = event(line) else { panic!("{line} was parsed") };
            assert!(!error.contains("canary") && bytes == line.len(), "{error}");
        }
    }
}
