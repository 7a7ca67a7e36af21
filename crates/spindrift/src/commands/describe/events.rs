//! Events of the described objects, requested once for adjacent objects of one namespace.

use std::collections::HashMap;

use futures::TryStreamExt;
use serde_json::Value;
use spindrift_printer::keep_newest;

use crate::{
    commands::get::{FetchedObject, Target},
    hub::{Client, Page, Selection},
};

/// Newest events of some objects of one kind, account and namespace, by the names of the objects.
pub(super) struct ObjectEvents<'a> {
    about: HashMap<&'a str, About<'a>>,
}

struct About<'a> {
    uid: &'a str,
    events: Vec<Value>,
}

/// Maximum number of events of one object; the newest are shown.
const SHOWN: usize = 100;

/// Whether two objects have the same account and namespace, and so share one request for events.
pub(super) fn are_neighbours(left: &FetchedObject, right: &FetchedObject) -> bool {
    left.account == right.account && namespace(left) == namespace(right)
}

// === impl ObjectEvents ===

impl<'a> ObjectEvents<'a> {
    /// Requests the events of these objects from the hub.
    pub(super) async fn of(
        hub: &Client,
        target: &Target,
        neighbours: &'a [FetchedObject],
    ) -> anyhow::Result<Self> {
        let mut events = Self::none(neighbours);
        let Some(first) = neighbours.first() else { return Ok(events) };
        let mut selector = format!("involvedObject.kind={}", target.resource.kind);
        if let [only] = neighbours {
            selector = format!("{selector},involvedObject.name={}", name(only));
        }
        let selection = Selection {
            account: Some(first.account.clone()),
            kind: Some("Event.v1.".to_owned()),
            namespace: Some(namespace(first).to_owned()).filter(|namespace| !namespace.is_empty()),
            field_selector: Some(selector),
            ..Selection::default()
        };
        let mut pages = std::pin::pin!(hub.pages(selection));
        while let Some(Page { items, .. }) = pages.try_next().await? {
            for event in items {
                events.add(serde_json::from_str(event.object.get())?);
            }
            events.forget_old();
        }
        Ok(events)
    }

    /// Events of an object.
    pub(super) fn about(&self, object: &FetchedObject) -> &[Value] {
        self.about.get(name(object)).map_or(&[], |about| &about.events)
    }

    fn none(objects: &'a [FetchedObject]) -> Self {
        let about = |object: &'a FetchedObject| {
            (name(object), About { uid: text(object, "/metadata/uid"), events: Vec::new() })
        };
        Self { about: objects.iter().map(about).collect() }
    }

    /// Adds an event if it refers to one of the objects.
    fn add(&mut self, event: Value) {
        let field = |pointer| event.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let (name, uid) = (field("/involvedObject/name"), field("/involvedObject/uid"));
        let Some(about) = self.about.get_mut(name) else { return };
        // A deleted object may have had the same name, so the uid decides, as with kubectl; kubelets use the name of a
        // node as its uid.
        if uid == about.uid || uid == name {
            about.events.push(event);
        }
    }

    fn forget_old(&mut self) {
        for about in self.about.values_mut().filter(|about| about.events.len() > SHOWN) {
            keep_newest(&mut about.events, SHOWN);
        }
    }
}

fn name(object: &FetchedObject) -> &str {
    text(object, "/metadata/name")
}

fn namespace(object: &FetchedObject) -> &str {
    text(object, "/metadata/namespace")
}

fn text<'a>(object: &'a FetchedObject, pointer: &str) -> &'a str {
    object.value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn found(account: &str, namespace: &str, name: &str) -> FetchedObject {
        let metadata = json!({ "namespace": namespace, "name": name, "uid": format!("uid-of-{name}") });
        FetchedObject { account: account.to_owned(), value: json!({ "metadata": metadata }) }
    }

    fn event(name: &str, uid: &str, second: usize) -> Value {
        let time = format!("2026-11-16T01:{:02}:{:02}Z", second / 60, second % 60);
        json!({ "involvedObject": { "name": name, "uid": uid }, "lastTimestamp": time })
    }

    #[test]
    fn events_find_their_object_by_uid_or_by_a_nodes_name() {
        let objects = [found("eu", "", "node-a"), found("eu", "", "node-b")];
        let mut events = ObjectEvents::none(&objects);
        for uid in ["uid-of-node-a", "node-a", "", "uid-of-one-before"] {
            events.add(event("node-a", uid, 0));
        }
        events.add(event("node-c", "node-c", 0));
        assert_eq!(objects.each_ref().map(|object| events.about(object).len()), [2, 0]);
    }

    #[test]
    fn the_newest_events_are_kept_in_any_order_of_arrival() {
        let objects = [found("eu", "shop", "web")];
        let mut events = ObjectEvents::none(&objects);
        for second in 0..SHOWN + 30 {
            events.add(event("web", "uid-of-web", second));
            events.forget_old();
        }
        let about = events.about(&objects[0]);
        assert_eq!(about.len(), SHOWN);
        assert_eq!(about[0], event("web", "uid-of-web", 30));
        assert_eq!(about[SHOWN - 1], event("web", "uid-of-web", SHOWN + 29));
    }

    #[test]
    fn neighbours_share_account_and_namespace() {
        let web = found("eu", "shop", "web");
        for (other, expected) in [
            (found("eu", "shop", "cart"), true),
            (found("us", "shop", "cart"), false),
            (found("eu", "bank", "cart"), false),
        ] {
            assert_eq!(are_neighbours(&web, &other), expected, "{other:?}");
        }
    }
}
