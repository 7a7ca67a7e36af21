//! Watches: a body that does not end, cut into events as its bytes arrive.

use std::{
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use futures::{Stream, StreamExt, stream, stream::BoxStream};
use http_body_util::BodyExt;
use spindrift_model::ResourceVersion;
use tokio::time::{Instant, timeout_at};

use crate::{
    api::Api,
    error::ApiError,
    event::Event,
    scrub::ScrubRules,
    splitter::{Line, LineSplitter},
    target::WatchTarget,
    transport::Body,
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
pub struct EventStream(BoxStream<'static, Result<Event, ApiError>>);

/// The longest event: etcd takes objects of 1.5 MiB by default, and some operators allow it ten times that.
const LONGEST_LINE: usize = 16 * 1024 * 1024;

/// How much longer than asked an API server may take to end a watch before the connection is taken for dead.
const GRACE: Duration = Duration::from_secs(15);

struct Watch {
    path: String,
    body: Body,
    splitter: LineSplitter,
    rules: ScrubRules,
    limit: Duration,
    deadline: Instant,
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
        let watch = Watch {
            body: self.open(&get).await?,
            path: get.path().to_owned(),
            splitter: LineSplitter::new(LONGEST_LINE),
            rules: ScrubRules::new(&target.resource, target.view),
            limit,
            deadline,
        };
        Ok(EventStream::new(stream::try_unfold(watch, |mut watch| async move {
            Ok(watch.next().await?.map(|event| (event, watch)))
        })))
    }
}

// === impl Watch ===

impl Watch {
    async fn next(&mut self) -> Result<Option<Event>, ApiError> {
        loop {
            if let Some(line) = self.splitter.next_line() {
                return Ok(Some(self.read(&line)));
            }
            // A line that the end of the body cut off is lost; a resumed watch brings it whole.
            let Some(chunk) = self.chunk().await? else {
                return Ok(None);
            };
            self.splitter.push(chunk);
        }
    }

    fn read(&self, line: &Line) -> Event {
        match line {
            Line::Whole(line) => Event::of_line(line, &self.rules),
            Line::TooLong { bytes } => Event::unparseable("longer than an event may be", *bytes),
        }
    }

    async fn chunk(&mut self) -> Result<Option<Bytes>, ApiError> {
        loop {
            let frame = timeout_at(self.deadline, self.body.frame())
                .await
                .map_err(|_| ApiError::TimedOut { path: self.path.clone(), limit: self.limit })?;
            let Some(frame) = frame else { return Ok(None) };
            let frame =
                frame.map_err(|source| ApiError::Read { path: self.path.clone(), source: source.into() })?;
            // What is not data is trailers.
            if let Ok(data) = frame.into_data() {
                return Ok(Some(data));
            }
        }
    }
}

// === impl EventStream ===

impl EventStream {
    pub(crate) fn new(events: impl Stream<Item = Result<Event, ApiError>> + Send + 'static) -> Self {
        Self(events.boxed())
    }
}

impl Stream for EventStream {
    type Item = Result<Event, ApiError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_next_unpin(context)
    }
}
