//! Lists in pages, for API servers that cannot send a list through a watch.
//!
//! A page is split while it arrives and is never held whole. It is read only as fast as its objects are consumed.

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
        unpack::Decompressor,
        watch::EventStream,
    },
};

/// Start of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListStart {
    /// Oldest acceptable resource version; without it, the newest state is read.
    pub not_older_than: Option<ResourceVersion>,
    /// Objects per page; an API server that responds from its cache may send more.
    pub page_size: u32,
}

/// Namespaces are small.
const NAMESPACES_PER_PAGE: u32 = 1000;

struct PagedList {
    api: Api,
    target: WatchTarget,
    start: ListStart,
    state: ListState,
    removed_values: Arc<AtomicU64>,
}

enum ListState {
    First,
    Continue(String),
    Reading(Box<ArrivingPage>),
    End(ResourceVersion),
    Ended,
}

/// Page that is arriving.
struct ArrivingPage {
    request: String,
    incoming: Incoming,
    decompressor: Decompressor,
    splitter: PageSplitter,
}

impl Api {
    /// Lists page by page, with the events of [`Api::watch`]: the objects, then a bookmark that ends the list.
    ///
    /// If a page is requested too late, the error is [`ApiError::is_gone`], and the list must start again.
    pub fn list(&self, target: &WatchTarget, start: ListStart) -> EventStream {
        let removed_values = Arc::new(AtomicU64::new(0));
        let list = PagedList {
            api: self.clone(),
            target: target.clone(),
            start,
            state: ListState::First,
            removed_values: removed_values.clone(),
        };
        let events =
            stream::try_unfold(
                list,
                |mut list| async move { Ok(list.next().await?.map(|event| (event, list))) },
            );
        EventStream::new(events, removed_values)
    }

    /// Returns the names of all namespaces.
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

    /// Whether the collection is at this version or a later one.
    ///
    /// To be checked before a watch is resumed from an old version: after a restore from a backup, the API server does not
    /// refuse a watch from a future version; it sends no events, and changes are missed until that version is reached.
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

// === impl PagedList ===

impl PagedList {
    async fn next(&mut self) -> Result<Option<Event>, ApiError> {
        loop {
            match std::mem::replace(&mut self.state, ListState::Ended) {
                ListState::First => {
                    let get = self.page_request();
                    let get = match &self.start.not_older_than {
                        Some(version) => get
                            .query("resourceVersion", version.as_str())
                            .query("resourceVersionMatch", "NotOlderThan"),
                        None => get,
                    };
                    self.state =
                        ListState::Reading(ArrivingPage::open(&self.api, &self.target, &get).await?.into());
                }
                ListState::Continue(token) => {
                    let get = self.page_request().query("continue", &token);
                    self.state =
                        ListState::Reading(ArrivingPage::open(&self.api, &self.target, &get).await?.into());
                }
                ListState::Reading(mut page) => {
                    if let Some(event) = page.next(&self.api).await? {
                        self.state = ListState::Reading(page);
                        return Ok(Some(event));
                    }
                    self.removed_values.fetch_add(page.splitter.removed_values(), Ordering::Relaxed);
                    self.state = match page.splitter.end().map_err(|source| page.malformed(source))? {
                        PageEnd::Continue(token) => ListState::Continue(token),
                        PageEnd::Complete(version) => ListState::End(version),
                    };
                }
                ListState::End(resource_version) => {
                    return Ok(Some(Event::Bookmark { resource_version, initial_events_end: true }));
                }
                ListState::Ended => return Ok(None),
            }
        }
    }

    fn page_request(&self) -> Get {
        let get = self.target.list_request().query("limit", &self.start.page_size.to_string());
        // The window of a decompressor keeps its data and cannot be wiped.
        if self.target.scrub_rules().cuts_secrets() { get } else { get.accept_gzip() }
    }
}

// === impl ArrivingPage ===

impl ArrivingPage {
    async fn open(api: &Api, target: &WatchTarget, get: &Get) -> Result<Self, ApiError> {
        let body = api.open(get).await?;
        Ok(Self {
            request: get.title().to_owned(),
            incoming: Incoming::new(get.title(), body),
            decompressor: Decompressor::default(),
            splitter: PageSplitter::new(target.scrub_rules()),
        })
    }

    async fn next(&mut self, api: &Api) -> Result<Option<Event>, ApiError> {
        // The timeout holds for each chunk: a page may take as long as the consumer of its objects.
        let chunk_timeout = api.request_timeout();
        loop {
            if let Some(event) = self.splitter.next_event().map_err(|source| self.malformed(source))? {
                return Ok(Some(event));
            }
            match self.decompressor.next_piece() {
                Ok(Some(piece)) => self.splitter.push(piece),
                Ok(None) => match self.incoming.chunk(Instant::now() + chunk_timeout, chunk_timeout).await? {
                    Some(chunk) => self.decompressor.push(chunk),
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
