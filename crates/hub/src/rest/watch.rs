//! The change feed as server-sent events.
//!
//! ```text
//! upsert {object}   state of an object                  id: positions, on the last event of a burst
//! delete {key}      an object is deleted (or no longer matches)
//! reset  {account}  drop all objects of the account; they follow again, as upserts
//! synced {}         all objects from the beginning, or after a reset, have been sent
//! ```
//!
//! A reader that reconnects with its `Last-Event-ID` gets the changes since; without one, all objects first. An account
//! that is sent from the beginning always follows a `reset`: the reader may have received a part of it before the
//! connection broke.
//!
//! A reader that takes nothing for too long is disconnected: the last line of the stream is a comment with the reason.

mod event;

use std::{
    collections::{BTreeMap, VecDeque},
    convert::Infallible,
    time::Duration,
};

use axum::{
    body::Body,
    extract::State,
    http::{HeaderMap, header},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use futures::stream;
use prometheus_client::metrics::gauge::Gauge;
use serde::{Deserialize, Serialize};
use spindrift_model::{AccountName, ObjectKey, Seq};
use spindrift_process::report;
use tokio::{sync::watch, time::Instant};
use tracing::{info, warn};
use utoipa::IntoParams;

use super::{
    RestState,
    error::{Both, Error, Query},
    objects::ObjectText,
    position::Positions,
    read_buffer::{CHUNK_BYTES, NextPiece, ReaderBuffer},
    selection::{Filter, Selection},
};
use crate::store::{
    AccountFeed, Change, ChangeChunk, FeedPoint, ObjectChunk, StoreError, StoredObject, UnreadableObject,
};
use event::{KeepAlive, SILENCE, add_id, event};

/// Rows read at a time, if their objects are small.
const PAGE: u32 = 200;
/// A position of many accounts is long, so it is sent at most this often.
const LONG_POSITION_INTERVAL: Duration = Duration::from_secs(1);
/// A reader that did not read for this long is looked after.
const STUCK: Duration = Duration::from_mins(1);
/// A position up to this many bytes goes with every burst.
const SHORT_POSITION: usize = 512;

/// One reader.
struct Watcher {
    state: RestState,
    selection: Selection,
    tick_rx: watch::Receiver<u64>,
    /// Position of each account.
    read: BTreeMap<AccountName, FeedPoint>,
    /// Steps before the live feed is read.
    snapshots: VecDeque<Snapshot>,
    synced: bool,
    buffer: ReaderBuffer,
    /// Set once the stream has ended.
    ended: bool,
    position_sent: Option<Instant>,
    /// When the feed was last read.
    followed: Instant,
    _counted: Counted,
}

/// An account that is sent from the beginning.
struct Snapshot {
    account: AccountName,
    /// Read before the rows, so that the feed from here on misses nothing.
    seq: Seq,
    after: Option<(AccountName, ObjectKey)>,
}

/// Counts a reader while it lives.
struct Counted(Gauge);

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Deleted<'a> {
    account: &'a str,
    group: &'a str,
    kind: &'a str,
    namespace: &'a str,
    name: &'a str,
    uid: &'a str,
}

#[derive(Serialize)]
struct Reset<'a> {
    account: &'a str,
}

/// Parameter that a watch does not take.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct LiveWatch {
    #[serde(default)]
    live: bool,
}

/// Changes of all clusters as they happen.
#[utoipa::path(
    get,
    path = "/v1/objects/watch",
    params(Filter, ("Last-Event-ID" = Option<String>, Header, description = "Where to go on: the last id received, or a page's `position`")),
    responses((status = 200, content_type = "text/event-stream", body = String), (status = 400, body = super::error::ErrorBody))
)]
pub(super) async fn watch(
    State(state): State<RestState>,
    Query(Both(filter, LiveWatch { live })): Query<Both<Filter, LiveWatch>>,
    headers: HeaderMap,
) -> Result<Response, Error> {
    if live {
        let expected = "kinds that are not cached cannot be watched; read /v1/objects with live=true again";
        return Err(Error::bad_request("live", expected));
    }
    let since = match headers.get("last-event-id") {
        None => None,
        Some(value) => {
            let text = value.to_str().map_err(|_| Error::bad_request("Last-Event-ID", "expected ASCII"))?;
            let since: Positions =
                text.parse().map_err(|invalid| Error::bad_request("Last-Event-ID", invalid))?;
            Some(since).filter(|since| !since.0.is_empty())
        }
    };
    let selection = filter.select(&state).await?;
    let watcher = Watcher::open(state, selection, since).await?;
    let pieces = stream::unfold(watcher, async |mut watcher| {
        let piece = watcher.next().await?;
        Some((Ok::<_, Infallible>(piece), watcher))
    });
    let headers = [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-cache")];
    Ok((headers, Body::from_stream(KeepAlive::new(pieces, SILENCE))).into_response())
}

// === impl Watcher ===

impl Watcher {
    async fn open(state: RestState, selection: Selection, since: Option<Positions>) -> Result<Self, Error> {
        // Subscribed before anything is read: changes from here on wake this reader.
        let mut tick_rx = state.feed.subscribe();
        tick_rx.mark_changed();
        state.metrics.watchers.inc();
        let counted = Counted(state.metrics.watchers.clone());
        let mut watcher = Self {
            buffer: state.read_buffers.reader(),
            state,
            selection,
            tick_rx,
            read: BTreeMap::new(),
            snapshots: VecDeque::new(),
            synced: false,
            ended: false,
            position_sent: None,
            followed: Instant::now(),
            _counted: counted,
        };
        watcher.place(since).await?;
        Ok(watcher)
    }

    /// Decides for each account whether its feed continues where the reader stopped, or starts again.
    async fn place(&mut self, since: Option<Positions>) -> Result<(), StoreError> {
        let accounts = self.selection.query.accounts.as_deref();
        let positions = self.state.store.positions(&self.state.tenant, accounts).await?;
        let mut since = since.map(|since| since.0).unwrap_or_default();
        for (account, position) in positions {
            match since.remove(&account) {
                // Beyond the newest: another database, or one restored from a backup.
                Some(seq) if seq >= position.floor && seq <= position.seq => {
                    self.read.insert(account, FeedPoint { seq, key: None });
                }
                _ => self.restart(account, position.seq),
            }
        }
        for account in since.keys() {
            self.push("reset", &Reset { account: account.as_str() });
        }
        Ok(())
    }

    /// Sends an account from the beginning.
    fn restart(&mut self, account: AccountName, seq: Seq) {
        self.push("reset", &Reset { account: account.as_str() });
        // Objects that are not sent again are deleted; the reader sees that at the next `synced`.
        self.synced = false;
        self.read.remove(&account);
        self.snapshots.push_back(Snapshot { account, seq, after: None });
    }

    /// A reader that was stuck for long may have been overtaken by the sweep of tombstones.
    async fn check_floor(&mut self) -> Result<(), StoreError> {
        let accounts = self.selection.query.accounts.as_deref();
        for (account, position) in self.state.store.positions(&self.state.tenant, accounts).await? {
            if self.read.get(&account).is_some_and(|read| read.seq < position.floor) {
                self.restart(account, position.seq);
            }
        }
        Ok(())
    }

    /// Returns the next piece of the stream; none at its end.
    async fn next(&mut self) -> Option<Bytes> {
        let shutdown = self.state.shutdown.clone();
        loop {
            match self.buffer.next_piece() {
                _ if self.ended => return None,
                NextPiece::Piece(piece) => return Some(piece),
                NextPiece::Empty => {}
                NextPiece::Cut => {
                    info!("a watch ended: its reader took nothing for too long");
                    self.ended = true;
                    return Some(event::too_slow(self.buffer.is_within_text()));
                }
            }
            let step = async {
                if let Some(snapshot) = self.snapshots.pop_front() {
                    return self.tell(snapshot).await;
                }
                if !self.synced {
                    self.synced = true;
                    self.push("synced", &serde_json::Map::new());
                    self.mark_position();
                    return Ok(());
                }
                self.tick_rx.changed().await.ok();
                self.follow().await
            };
            tokio::select! {
                biased;
                () = shutdown.cancelled() => return None,
                done = step => if let Err(error) = done {
                    // The reader comes back with its last position and misses nothing.
                    warn!(error = report(&error), "a watch ended");
                    return None;
                }
            }
        }
    }

    /// Sends one page of an account that is sent from the beginning.
    async fn tell(&mut self, mut snapshot: Snapshot) -> Result<(), StoreError> {
        let mut query = self.selection.query.clone();
        query.accounts = Some(vec![snapshot.account.clone()]);
        query.after = snapshot.after.take();
        query.limit = PAGE;
        self.buffer.reserve().await;
        let chunk = self.state.store.objects_within(&query, CHUNK_BYTES).await?;
        let ObjectChunk { objects, unreadable, last, more } = chunk;
        self.unreadable(&unreadable);
        let more = more && last.is_some();
        snapshot.after = last;
        for row in objects {
            if self.selection.matches(&row) {
                self.upsert(&row);
            }
        }
        if more {
            self.snapshots.push_front(snapshot);
        } else {
            self.read.insert(snapshot.account, FeedPoint { seq: snapshot.seq, key: None });
        }
        Ok(())
    }

    /// Sends one page of changes of one account, and the next one at once if there is more.
    async fn follow(&mut self) -> Result<(), StoreError> {
        if self.followed.elapsed() > STUCK {
            self.check_floor().await?;
        }
        self.followed = Instant::now();
        if !self.snapshots.is_empty() {
            return Ok(());
        }
        let moved: Vec<_> = self
            .state
            .feed
            .positions()
            .into_iter()
            .filter(|(account, seq)| {
                self.wants(account)
                    && self.read.get(account).is_none_or(|read| read.seq < *seq || read.key.is_some())
            })
            .collect();
        for (account, newest) in moved {
            let from = self.read.get(&account).cloned().unwrap_or_default();
            self.buffer.reserve().await;
            let feed = AccountFeed { tenant: &self.state.tenant, account: &account, after: &from };
            let chunk = self.state.store.changes_within(&feed, PAGE, CHUNK_BYTES).await?;
            let ChangeChunk { changes, unreadable, last, more } = chunk;
            self.unreadable(&unreadable);
            self.selection.refresh(&self.state, changes.iter().map(Change::key)).await?;
            let reached = match last {
                Some(last) if more => {
                    self.tick_rx.mark_changed();
                    last
                }
                // A batch becomes visible as a whole, so the page reaches to the end of its newest one.
                last => FeedPoint { seq: last.map_or(newest, |last| last.seq.max(newest)), key: None },
            };
            for change in changes {
                self.change(&account, change);
            }
            self.read.insert(account, reached);
            // One reader holds one page; the other accounts follow when it is sent.
            if !self.buffer.is_empty() {
                self.tick_rx.mark_changed();
                break;
            }
        }
        self.mark_position();
        Ok(())
    }

    fn wants(&self, account: &AccountName) -> bool {
        self.selection.query.accounts.as_ref().is_none_or(|accounts| accounts.contains(account))
    }

    fn change(&mut self, account: &AccountName, change: Change) {
        if !self.selection.covers(&change) {
            return;
        }
        match change {
            Change::Upserted(row) if self.selection.matches(&row) => self.upsert(&row),
            // An object that no longer matches is deleted for this reader; a delete of an unknown object does no harm.
            Change::Upserted(row) => self.delete(account, &row.key, row.uid.as_str()),
            Change::Deleted { key, uid, .. } => self.delete(account, &key, uid.as_str()),
        }
    }

    fn upsert(&mut self, row: &StoredObject) {
        match ObjectText::of(row) {
            Ok(object) => self.push("upsert", &object),
            Err(unreadable) => self.unreadable(&[unreadable]),
        }
    }

    fn unreadable(&self, objects: &[UnreadableObject]) {
        for object in objects {
            self.state.metrics.unreadable(object);
        }
    }

    fn delete(&mut self, account: &AccountName, key: &ObjectKey, uid: &str) {
        let ObjectKey { group, kind, namespace, name } = key;
        let account = account.as_str();
        self.push("delete", &Deleted { account, group, kind, namespace, name, uid });
    }

    fn push(&mut self, name: &str, data: &impl Serialize) {
        match event(name, data) {
            Ok(text) => self.buffer.push(text),
            Err(error) => warn!(%error, "an event could not be written"),
        }
    }

    /// Puts the position on the last event of a burst; ids that are long are sent rarely.
    fn mark_position(&mut self) {
        if self.buffer.is_empty() {
            return;
        }
        // A position within a batch cannot be expressed; the reader then gets that batch again, which does no harm.
        let whole = |point: &FeedPoint| {
            if point.key.is_some() { Seq(point.seq.0.saturating_sub(1)) } else { point.seq }
        };
        let positions = self.read.iter().map(|(account, point)| (account.clone(), whole(point))).collect();
        let id = Positions(positions).to_string();
        let due = self.position_sent.is_none_or(|sent| sent.elapsed() >= LONG_POSITION_INTERVAL);
        if id.len() <= SHORT_POSITION || due {
            self.position_sent = Some(Instant::now());
            self.buffer.amend_last(|last| add_id(last, &id));
        }
    }
}

// === impl Counted ===

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.dec();
    }
}
