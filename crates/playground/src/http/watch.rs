//! Watches: changes of a collection as lines of JSON, until the client disconnects.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{HeaderValue, Response};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::list::{self, refuse_options};
use super::negotiate::{self, ObjectCount, ResponseFormat};
use super::request::ApiRequest;
use super::respond;
use super::route::RequestTarget;
use super::table;
use crate::catalogue::Resource;
use crate::cluster::{Body, BodyError};
use crate::convert::{self, ObjectWriter};
use crate::selector::Selector;
use crate::status::{Cause, Status};
use crate::storage::collection::{Change, Collection, SnapshotItem};
use crate::storage::{ChangeKind, ChangesError};

/// Interval between bookmarks, if the client requests them.
const BOOKMARKS: Duration = Duration::from_mins(1);

/// Approximate size of a chunk of the initial list.
const PIECE: usize = 64 << 10;

/// Number of changes per poll, after which other tasks get the thread.
const BATCH: usize = 16;

/// Maximum duration of a watch, whatever the client requests.
const LONGEST: Duration = Duration::from_hours(24);

/// Maximum wait of a streaming list for a resource version in the future.
const PATIENCE: Duration = Duration::from_secs(3);

/// One watch.
struct Watcher {
    collection: Arc<dyn Collection>,
    prefix: String,
    selector: Selector,
    format: EventFormat,
    /// Objects that are sent before the first change.
    initial: Option<Box<dyn Iterator<Item = SnapshotItem> + Send>>,
    /// Set if a bookmark marks the end of the initial objects.
    announces_end: bool,
    bookmarks: bool,
    position: u64,
    next_bookmark: Instant,
    deadline: Instant,
    /// Set after the end of the stream was written.
    ended: bool,
}

/// Events that are ready to be sent.
struct PendingEvents {
    /// None if no change concerns this watch.
    piece: Option<Bytes>,
    more: bool,
}

/// Format of events.
struct EventFormat {
    resource: Arc<Resource>,
    writer: ObjectWriter,
    view: ResponseFormat,
    include: table::IncludeObject,
    /// Columns are sent with the first row only.
    columns_sent: bool,
}

pub(crate) fn watch(call: &ApiRequest, target: &RequestTarget) -> Result<Response<Body>, Status> {
    let view = negotiate::view(call, ObjectCount::One)?;
    let initial_events = call.query.flag("sendInitialEvents");
    check_options(call, initial_events)?;
    let mut selector = list::selector(call, &target.resource)?;
    if !target.name.is_empty() {
        let field = format!("metadata.name={}", target.name);
        selector.fields = crate::selector::FieldSelector::parse(&target.resource, &field)?;
    }
    let version = match call.query.get("resourceVersion") {
        None => 0,
        Some(text) => text.parse::<u64>().map_err(|_| {
            let why = format!("strconv.ParseUint: parsing {text:?}: invalid syntax");
            Status::new(500, "", format!("resourceVersion: Invalid value: {text:?}: {why}"))
        })?,
    };
    let seconds = call.query.number::<i64>("timeoutSeconds")?.and_then(|seconds| u64::try_from(seconds).ok());
    // The real server ends watches after half an hour to an hour, spread so that not all clients reconnect at once.
    let seconds = seconds.filter(|&seconds| seconds > 0).unwrap_or_else(|| fastrand::u64(1_800..3_600));
    let lifetime = Duration::from_secs(seconds).min(LONGEST);
    let now = Instant::now();
    let mut watcher = Watcher {
        collection: call.cluster.collection(&target.resource),
        prefix: target.prefix(),
        selector,
        format: EventFormat {
            resource: Arc::clone(&target.resource),
            writer: ObjectWriter::new(&target.resource),
            view,
            include: table::IncludeObject::parse(call)?,
            columns_sent: false,
        },
        initial: None,
        announces_end: false,
        bookmarks: call.query.flag("allowWatchBookmarks") == Some(true),
        position: version,
        next_bookmark: now + BOOKMARKS,
        deadline: now + lifetime,
        ended: false,
    };
    let mut early = VecDeque::new();
    match initial_events {
        Some(true) => {
            let current = watcher.collection.revision();
            if version > current {
                early.push_back(watcher.refusal(&Status::too_large(version, current)));
            } else {
                watcher.begin_with_all()?;
                watcher.announces_end = watcher.bookmarks;
            }
        }
        Some(false) if version == 0 => watcher.position = watcher.collection.revision(),
        None if version == 0 => watcher.begin_with_all()?,
        _ => {}
    }
    let wait = if early.is_empty() { Duration::ZERO } else { PATIENCE };
    Ok(respond::stream(HeaderValue::from_static("application/json"), watcher.into_body(early, wait)))
}

fn check_options(call: &ApiRequest, initial_events: Option<bool>) -> Result<(), Status> {
    let rule = call.query.get("resourceVersionMatch");
    let field = "resourceVersionMatch";
    let mut causes = Vec::new();
    if call.query.get("continue").is_some() {
        causes.push(Cause::forbidden(field, "resourceVersionMatch is forbidden when continue is provided"));
    }
    match (initial_events, rule) {
        (None, Some(_)) => {
            let why = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided";
            causes.push(Cause::forbidden(field, why));
        }
        (Some(_), rule) if rule != Some("NotOlderThan") => {
            let why = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
            causes.push(Cause::forbidden(field, why));
        }
        _ => {}
    }
    refuse_options("ListOptions", &causes)
}

// === impl Watcher ===

impl Watcher {
    /// Sends all objects as added before the first change.
    fn begin_with_all(&mut self) -> Result<(), Status> {
        let snapshot = self.collection.snapshot(&self.prefix, None, None);
        let snapshot = snapshot.map_err(|gone| Status::too_old(0, gone.oldest))?;
        self.position = snapshot.revision;
        self.initial = Some(snapshot.items);
        Ok(())
    }

    fn into_body(self, early: VecDeque<Bytes>, wait: Duration) -> Body {
        let stream = futures::stream::unfold((self, early, wait), async |(mut watcher, mut early, wait)| {
            if !wait.is_zero() {
                tokio::time::sleep(wait).await;
            }
            let piece = match early.pop_front() {
                Some(piece) => piece,
                None => watcher.next().await?,
            };
            Some((Ok::<_, BodyError>(Frame::data(piece)), (watcher, early, Duration::ZERO)))
        });
        StreamBody::new(stream).boxed_unsync()
    }

    /// Waits for the next lines.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            // Also ends a watch whose reader is always behind.
            if self.ended || Instant::now() >= self.deadline {
                return None;
            }
            if let Some(piece) = self.initial_piece() {
                return Some(piece);
            }
            let notify = self.collection.changed();
            // Registered before the check, so that a change in between is not missed.
            let changed = async {
                match &notify {
                    Some(notify) => notify.notified().await,
                    None => std::future::pending().await,
                }
            };
            tokio::pin!(changed);
            // The first poll registers; it cannot be ready yet.
            let registered = futures::poll!(changed.as_mut()).is_ready();
            let PendingEvents { piece, more } = self.pending();
            if piece.is_some() {
                return piece;
            }
            if more {
                tokio::task::yield_now().await;
                continue;
            }
            if self.ended {
                return None;
            }
            if registered {
                continue;
            }
            let wake = if self.bookmarks { self.deadline.min(self.next_bookmark) } else { self.deadline };
            tokio::select! {
                biased;
                () = changed => {}
                () = tokio::time::sleep_until(wake) => {
                    if wake >= self.deadline {
                        return None;
                    }
                    // Checks once more, so that the bookmark is as new as possible.
                    let pending = self.pending();
                    return pending.piece.or_else(|| Some(self.bookmark(None)));
                }
            }
        }
    }

    fn initial_piece(&mut self) -> Option<Bytes> {
        let items = self.initial.as_mut()?;
        let mut out = BytesMut::new();
        while out.len() < PIECE {
            let Some(item) = items.next() else {
                self.initial = None;
                if self.announces_end {
                    out.extend_from_slice(&self.bookmark(Some("k8s.io/initial-events-end")));
                }
                break;
            };
            if self.selector.matches(&item.object) {
                self.format.event("ADDED", &item.object, &mut out);
            }
        }
        (!out.is_empty()).then(|| out.freeze())
    }

    /// Returns some of the changes that exist already.
    fn pending(&mut self) -> PendingEvents {
        if self.position > self.collection.revision() {
            // A resource version in the future: the real server sends nothing until it is reached.
            return PendingEvents { piece: None, more: false };
        }
        let mut out = BytesMut::new();
        let mut more = false;
        match self.collection.changes(self.position, BATCH) {
            Ok(changes) => {
                for change in &changes.changes {
                    self.tell(change, &mut out);
                }
                self.position = changes.position.max(self.position);
                more = changes.changes.len() == BATCH;
            }
            Err(ChangesError::Closed) => self.ended = true,
            Err(ChangesError::Gone(gone)) => {
                out = self.refusal(&Status::too_old(self.position, gone.oldest)).into();
            }
        }
        PendingEvents { piece: (!out.is_empty()).then(|| out.freeze()), more }
    }

    fn tell(&mut self, change: &Change, out: &mut BytesMut) {
        if !change.path.starts_with(&self.prefix) {
            return;
        }
        let everything = self.selector.is_everything();
        let is = everything || self.selector.matches(&change.object);
        let was = match (&change.previous, change.kind) {
            _ if everything => true,
            (Some(previous), _) => self.selector.matches(previous),
            (None, ChangeKind::Added) => false,
            (None, _) => is,
        };
        match (change.kind, was, is) {
            (ChangeKind::Added, _, true) | (ChangeKind::Modified, false, true) => {
                self.format.event("ADDED", &change.object, out);
            }
            (ChangeKind::Modified, true, true) => self.format.event("MODIFIED", &change.object, out),
            // No longer selected: send the last selected state with the revision of the change.
            (ChangeKind::Modified, true, false) => {
                let last = change.previous.as_ref().unwrap_or(&change.object);
                self.format.event("DELETED", &at_version(last, change.revision), out);
            }
            (ChangeKind::Deleted, true, _) => self.format.event("DELETED", &change.object, out),
            _ => {}
        }
    }

    fn bookmark(&mut self, annotation: Option<&str>) -> Bytes {
        self.next_bookmark = Instant::now() + BOOKMARKS;
        let position = self.position.max(1);
        let mut meta = json!({"resourceVersion": position.to_string()});
        if let Some(annotation) = annotation {
            crate::object::fields(&mut meta).insert("annotations".into(), json!({annotation: "true"}));
        }
        let body = Bytes::from(json!({"metadata": meta}).to_string());
        let mut out = BytesMut::new();
        self.format.event("BOOKMARK", &body, &mut out);
        out.freeze()
    }

    /// Error as the last event.
    fn refusal(&mut self, status: &Status) -> Bytes {
        self.ended = true;
        format!("{{\"type\":\"ERROR\",\"object\":{}}}\n", status.to_value()).into()
    }
}

fn at_version(bytes: &Bytes, revision: u64) -> Bytes {
    let Ok(mut object) = serde_json::from_slice::<Value>(bytes) else { return bytes.clone() };
    crate::object::metadata(&mut object).insert("resourceVersion".into(), revision.to_string().into());
    object.to_string().into()
}

// === impl EventFormat ===

impl EventFormat {
    fn event(&mut self, kind: &str, bytes: &Bytes, out: &mut BytesMut) {
        out.extend_from_slice(b"{\"type\":\"");
        out.extend_from_slice(kind.as_bytes());
        out.extend_from_slice(b"\",\"object\":");
        match self.view {
            ResponseFormat::Object | ResponseFormat::Yaml => self.writer.write(bytes, out),
            ResponseFormat::Metadata => list::write_metadata(bytes, out),
            ResponseFormat::Table => {
                let object = convert::present(&self.resource, bytes).unwrap_or_default();
                let mut table = table::of_object(&self.resource, &object, self.include);
                if self.columns_sent {
                    crate::object::fields(&mut table).insert("columnDefinitions".into(), Value::Null);
                }
                self.columns_sent = true;
                out.extend_from_slice(table.to_string().as_bytes());
            }
        }
        out.extend_from_slice(b"}\n");
    }
}
