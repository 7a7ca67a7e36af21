//! Listings in pages, for API servers that cannot send a list through a watch.
//!
//! A page is split while it arrives and is never held whole; it is only read as fast as its objects are asked for.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use futures::{TryStreamExt, stream};
use spindrift_model::{Resource, ResourceVersion};
use tokio::time::Instant;

use crate::{
    client::{api::Api, error::ApiError, incoming::Incoming, request::Get},
    json::Malformed,
    scrub::view::View,
    stream::{
        event::Event,
        page::{PageEnd, PageSplitter},
        target::WatchTarget,
        unpack::Unpacker,
        watch::EventStream,
    },
};

/// How a listing is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListStart {
    /// Nothing older than this version may be told; without it, the newest state.
    pub not_older_than: Option<ResourceVersion>,
    /// How many objects to ask for at once; an API server may give more when it answers from its cache.
    pub page_size: u32,
}

/// Namespaces are small.
const NAMESPACES_PER_PAGE: u32 = 1000;

struct Listing {
    api: Api,
    target: WatchTarget,
    start: ListStart,
    state: State,
    held_back: Arc<AtomicU64>,
}

enum State {
    First,
    Continue(String),
    Reading(Box<Page>),
    End(ResourceVersion),
    Ended,
}

/// A page that is arriving.
struct Page {
    request: String,
    incoming: Incoming,
    unpacker: Unpacker,
    splitter: PageSplitter,
}

impl Api {
    /// Lists page by page, in the words of [`Api::watch`]: the objects, and a bookmark that says that these were all.
    ///
    /// When a page is asked for too late, the error says [`ApiError::is_gone`] and the listing must begin again.
    pub fn list(&self, target: &WatchTarget, start: ListStart) -> EventStream {
        let held_back = Arc::new(AtomicU64::new(0));
        let listing = Listing {
            api: self.clone(),
            target: target.clone(),
            start,
            state: State::First,
            held_back: held_back.clone(),
        };
        let events = stream::try_unfold(listing, |mut listing| async move {
            Ok(listing.next().await?.map(|event| (event, listing)))
        });
        EventStream::new(events, held_back)
    }

    /// The names of all namespaces.
    pub async fn namespaces(&self) -> Result<Vec<String>, ApiError> {
        let resource = Resource::namespaces();
        let target = WatchTarget { view: View::MetadataOnly, ..WatchTarget::new(resource, None) };
        let start = ListStart { not_older_than: None, page_size: NAMESPACES_PER_PAGE };
        let names = self.list(&target, start).try_filter_map(async |event| match event {
            Event::Object(namespace) => Ok(Some(namespace.name.as_ref().into())),
            _ => Ok(None),
        });
        names.try_collect().await
    }

    /// Whether the collection is at this version or beyond it.
    ///
    /// To be asked before an old version is resumed: if the store was restored from a backup, a watch from a version of
    /// the future is not refused, it is silent, and changes are missed until that version comes.
    pub async fn has_reached(
        &self,
        target: &WatchTarget,
        version: &ResourceVersion,
    ) -> Result<bool, ApiError> {
        let target = WatchTarget { view: View::MetadataOnly, ..target.clone() };
        let get = target
            .list_request()
            .query("limit", "1")
            .query("resourceVersion", version.as_str())
            .query("resourceVersionMatch", "NotOlderThan");
        match self.read(&get).await {
            Ok(_) => Ok(true),
            Err(error) if error.is_too_large_resource_version() => Ok(false),
            Err(error) => Err(error),
        }
    }
}

// === impl Listing ===

impl Listing {
    async fn next(&mut self) -> Result<Option<Event>, ApiError> {
        loop {
            match std::mem::replace(&mut self.state, State::Ended) {
                State::First => {
                    let get = self.page_request();
                    let get = match &self.start.not_older_than {
                        Some(version) => get
                            .query("resourceVersion", version.as_str())
                            .query("resourceVersionMatch", "NotOlderThan"),
                        None => get,
                    };
                    self.state = State::Reading(Page::open(&self.api, &self.target, &get).await?.into());
                }
                State::Continue(token) => {
                    let get = self.page_request().query("continue", &token);
                    self.state = State::Reading(Page::open(&self.api, &self.target, &get).await?.into());
                }
                State::Reading(mut page) => {
                    if let Some(event) = page.next(&self.api).await? {
                        self.state = State::Reading(page);
                        return Ok(Some(event));
                    }
                    self.held_back.fetch_add(page.splitter.held_back(), Ordering::Relaxed);
                    self.state = match page.splitter.end().map_err(|source| page.malformed(source))? {
                        PageEnd::Continue(token) => State::Continue(token),
                        PageEnd::Complete(version) => State::End(version),
                    };
                }
                State::End(resource_version) => {
                    return Ok(Some(Event::Bookmark { resource_version, initial_events_end: true }));
                }
                State::Ended => return Ok(None),
            }
        }
    }

    fn page_request(&self) -> Get {
        let get = self.target.list_request().query("limit", &self.start.page_size.to_string());
        // What a decompressor has seen stays in its window, out of our reach.
        if self.target.scrub_rules().keep_secrets() { get } else { get.accept_gzip() }
    }
}

// === impl Page ===

impl Page {
    async fn open(api: &Api, target: &WatchTarget, get: &Get) -> Result<Self, ApiError> {
        let body = api.open(get).await?;
        Ok(Self {
            request: get.title().to_owned(),
            incoming: Incoming::new(get.title(), body),
            unpacker: Unpacker::default(),
            splitter: PageSplitter::new(target.scrub_rules()),
        })
    }

    async fn next(&mut self, api: &Api) -> Result<Option<Event>, ApiError> {
        // For each chunk anew: a page may take as long as its objects need to find their way.
        let silence = api.request_timeout();
        loop {
            if let Some(event) = self.splitter.next_event().map_err(|source| self.malformed(source))? {
                return Ok(Some(event));
            }
            match self.unpacker.next_piece() {
                Ok(Some(piece)) => self.splitter.push(piece),
                Ok(None) => match self.incoming.chunk(Instant::now() + silence, silence).await? {
                    Some(chunk) => self.unpacker.push(chunk),
                    None => return Ok(None),
                },
                Err(error) => {
                    return Err(ApiError::Read { request: self.request.clone(), source: error.into() });
                }
            }
        }
    }

    fn malformed(&self, source: Malformed) -> ApiError {
        ApiError::Malformed { request: self.request.clone(), source }
    }
}
