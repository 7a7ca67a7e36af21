//! Watches: a body that does not end, cut into events as its bytes arrive.

use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use futures::{Stream, StreamExt, stream, stream::BoxStream};
use spindrift_model::ResourceVersion;
use tokio::time::Instant;

use crate::{
    client::{api::Api, error::ApiError, incoming::Incoming},
    stream::{event::Event, splitter::EventSplitter, target::WatchTarget},
};

/// Where a watch begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WatchStart {
    /// After this version.
    Resume(ResourceVersion),
    /// With every object there is, then a bookmark that says so, then what changes.
    InitialEvents {
        /// Nothing older than this version may be told.
        not_older_than: Option<ResourceVersion>,
    },
}

/// The events of a watch, or of a listing; nothing is read unless the next event is asked for.
///
/// It ends when the API server ends it, which it does when the watch's time is over. After an error nothing follows.
pub struct EventStream {
    events: BoxStream<'static, Result<Event, ApiError>>,
    held_back: Arc<AtomicU64>,
}

/// How much longer than asked an API server may take to end a watch before the connection is taken for dead.
const GRACE: Duration = Duration::from_secs(15);

struct Watch {
    incoming: Incoming,
    splitter: EventSplitter,
    limit: Duration,
    deadline: Instant,
    held_back: Arc<AtomicU64>,
}

impl Api {
    /// Watches for as long as `timeout`; then the API server ends the stream.
    pub async fn watch(
        &self,
        target: &WatchTarget,
        start: WatchStart,
        timeout: Duration,
    ) -> Result<EventStream, ApiError> {
        let mut get = target
            .watch_request()
            .query("watch", "1")
            .query("allowWatchBookmarks", "true")
            .query("timeoutSeconds", &timeout.as_secs().max(1).to_string());
        get = match start {
            WatchStart::Resume(version) => get.query("resourceVersion", version.as_str()),
            WatchStart::InitialEvents { not_older_than } => get
                .query("sendInitialEvents", "true")
                .query("resourceVersionMatch", "NotOlderThan")
                .query("resourceVersion", not_older_than.as_ref().map_or("", ResourceVersion::as_str)),
        };
        let limit = timeout + GRACE;
        let deadline = Instant::now() + limit;
        let held_back = Arc::new(AtomicU64::new(0));
        let watch = Watch {
            incoming: Incoming::new(get.title(), self.open(&get).await?),
            splitter: EventSplitter::new(target.scrub_rules()),
            limit,
            deadline,
            held_back: held_back.clone(),
        };
        let events = stream::try_unfold(watch, |mut watch| async move {
            Ok(watch.next().await?.map(|event| (event, watch)))
        });
        Ok(EventStream::new(events, held_back))
    }
}

// === impl Watch ===

impl Watch {
    async fn next(&mut self) -> Result<Option<Event>, ApiError> {
        loop {
            if let Some(event) = self.splitter.next_event() {
                return Ok(Some(event));
            }
            self.held_back.store(self.splitter.held_back(), Ordering::Relaxed);
            // A line that the end of the body cut off is lost; a resumed watch brings it whole.
            let Some(chunk) = self.incoming.chunk(self.deadline, self.limit).await? else {
                return Ok(None);
            };
            self.splitter.push(chunk);
        }
    }
}

// === impl EventStream ===

impl EventStream {
    pub(crate) fn new(
        events: impl Stream<Item = Result<Event, ApiError>> + Send + 'static,
        held_back: Arc<AtomicU64>,
    ) -> Self {
        Self { events: events.boxed(), held_back }
    }

    /// How many values were cut or redacted so far, to be counted.
    pub fn held_back(&self) -> u64 {
        self.held_back.load(Ordering::Relaxed)
    }
}

impl Stream for EventStream {
    type Item = Result<Event, ApiError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.events.poll_next_unpin(context)
    }
}
