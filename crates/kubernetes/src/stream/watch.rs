//! Watches: bodies without an end, split into events as their bytes arrive.

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

/// Start of a watch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WatchStart {
    /// After this version.
    Resume(ResourceVersion),
    /// Begins with every existing object, then a bookmark that ends them, then changes.
    InitialEvents {
        /// Oldest acceptable resource version.
        not_older_than: Option<ResourceVersion>,
    },
}

/// Events of a watch or a list. It reads only when polled.
///
/// It ends when the API server ends the watch, at its timeout. No event follows an error.
pub struct EventStream {
    events: BoxStream<'static, Result<Event, ApiError>>,
    removed_values: Arc<AtomicU64>,
}

/// Time beyond the timeout of a watch after which the connection counts as dead.
const GRACE: Duration = Duration::from_secs(15);

struct Watch {
    incoming: Incoming,
    splitter: EventSplitter,
    limit: Duration,
    deadline: Instant,
    removed_values: Arc<AtomicU64>,
}

impl Api {
    /// Watches for the duration of `timeout`; then the API server ends the stream.
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
        let removed_values = Arc::new(AtomicU64::new(0));
        let watch = Watch {
            incoming: Incoming::new(get.title(), self.open(&get).await?),
            splitter: EventSplitter::new(target.scrub_rules()),
            limit,
            deadline,
            removed_values: removed_values.clone(),
        };
        let events = stream::try_unfold(watch, |mut watch| async move {
            Ok(watch.next().await?.map(|event| (event, watch)))
        });
        Ok(EventStream::new(events, removed_values))
    }
}

// === impl Watch ===

impl Watch {
    async fn next(&mut self) -> Result<Option<Event>, ApiError> {
        loop {
            if let Some(event) = self.splitter.next_event() {
                return Ok(Some(event));
            }
            self.removed_values.store(self.splitter.removed_values(), Ordering::Relaxed);
            // An incomplete last line is dropped; a resumed watch sends it again.
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
        removed_values: Arc<AtomicU64>,
    ) -> Self {
        Self { events: events.boxed(), removed_values }
    }

    /// Number of values cut or redacted so far, for metrics.
    pub fn removed_values(&self) -> u64 {
        self.removed_values.load(Ordering::Relaxed)
    }
}

impl Stream for EventStream {
    type Item = Result<Event, ApiError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.events.poll_next_unpin(context)
    }
}
