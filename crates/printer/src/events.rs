//! Rows of `kubectl events`: other intervals and names of objects than those of `get events`.

use jiff::Timestamp;
use serde_json::Value;

use crate::{age::since, kinds::event, look::Look, text::cell_text};

/// Cells of LAST SEEN, TYPE, REASON, OBJECT and MESSAGE.
pub fn event_cells(event: &Value, now: Timestamp) -> [String; 5] {
    let object = format!("{}/{}", event.text("/involvedObject/kind"), event.text("/involvedObject/name"));
    [
        interval(event, now),
        event.text("/type").to_owned(),
        event.text("/reason").to_owned(),
        object,
        event::message(event).to_owned(),
    ]
    .map(|cell| cell_text(&Value::String(cell)))
}

/// Time by which events are sorted; those without one come first.
pub fn event_time(event: &Value) -> Option<Timestamp> {
    let pointer = if event.has("/series") {
        "/series/lastObservedTime"
    } else if event.has("/lastTimestamp") {
        "/lastTimestamp"
    } else {
        "/eventTime"
    };
    event.text(pointer).parse().ok()
}

/// Time of an event; with the count and the first time if it is repeated.
pub(crate) fn interval(event: &Value, now: Timestamp) -> String {
    let first = since(now, event.text_or("/eventTime", event.text("/firstTimestamp")));
    let repeated = |last: &str, count: i64| format!("{} (x{count} over {first})", since(now, last));
    if event.has("/series") {
        repeated(event.text("/series/lastObservedTime"), event.int("/series/count"))
    } else if event.int("/count") > 1 {
        repeated(event.text("/lastTimestamp"), event.int("/count"))
    } else {
        first
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn repeated_events_show_their_count() {
        let now = "2026-11-16T02:00:00Z".parse().unwrap();
        let event = json!({ "type": "Warning", "reason": "BackOff", "message": "Back-off\n", "count": 4,
            "involvedObject": { "kind": "Pod", "name": "web" },
            "firstTimestamp": "2026-11-16T01:00:00Z", "lastTimestamp": "2026-11-16T01:58:00Z" });
        assert_eq!(
            event_cells(&event, now),
            ["2m (x4 over 60m)", "Warning", "BackOff", "Pod/web", "Back-off"]
        );
        assert_eq!(event_time(&event), Some("2026-11-16T01:58:00Z".parse().unwrap()));
        let once = json!({ "eventTime": "2026-11-16T01:30:00Z" });
        assert_eq!(event_cells(&once, now)[0], "30m");
        assert_eq!(event_time(&json!({})), None);
    }
}
