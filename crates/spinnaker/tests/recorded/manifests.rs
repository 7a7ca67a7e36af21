//! `/manifests`: status, artifacts and moniker of recorded objects.

use serde_json::Value;
use spindrift_spinnaker::{Manifest, view::ManifestView};

use crate::{assert_same, entries};

#[test]
fn objects_are_shown_as_recorded() {
    let entries = entries(include_str!("manifests.jsonl"));
    assert_eq!(entries.len(), 21);
    for mut entry in entries {
        let recording = entry.as_object_mut().unwrap().remove("recording").unwrap();
        let object = Manifest::try_from(entry["manifest"].clone()).unwrap();
        let mut events = entry["events"].as_array().unwrap().clone();
        events.reverse();
        let account = entry["account"].as_str().unwrap();
        let view = ManifestView::new(account, &object, events, Vec::new()).unwrap();
        let view = serde_json::to_value(view).unwrap();
        let times = |events: &Value| -> Vec<_> {
            events.as_array().unwrap().iter().map(|event| event["lastTimestamp"].to_string()).collect()
        };
        assert!(times(&view["events"]).is_sorted(), "recording {recording}");
        assert_same(view, entry, &format!("recording {recording}"));
    }
}
