//! Listings in pages, for API servers that cannot send a list through a watch.

use std::collections::VecDeque;

use bytes::Bytes;
use futures::stream;
use serde::Deserialize;
use serde_json::value::RawValue;
use spindrift_model::ResourceVersion;

use crate::{
    api::Api,
    error::ApiError,
    event::Event,
    json::Malformed,
    request::Get,
    scrub::ScrubRules,
    target::{View, WatchTarget},
    watch::EventStream,
};

/// How a listing is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListStart {
    /// Nothing older than this version may be told; without it, the newest state.
    pub not_older_than: Option<ResourceVersion>,
    /// How many objects to ask for at once; an API server may give more when it answers from its cache.
    pub page_size: u32,
}

struct Listing {
    api: Api,
    target: WatchTarget,
    start: ListStart,
    rules: ScrubRules,
    items: VecDeque<Bytes>,
    next: Next,
}

enum Next {
    First,
    Continue(String),
    End(ResourceVersion),
    Ended,
}

#[derive(Deserialize)]
struct Page<'a> {
    metadata: PageMetadata,
    /// A Go list without items can be null.
    #[serde(borrow)]
    items: Option<Vec<&'a RawValue>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PageMetadata {
    #[serde(default)]
    resource_version: String,
    #[serde(default)]
    r#continue: String,
}

impl Api {
    /// Lists page by page, in the words of [`Api::watch`]: the objects, and a bookmark that says that these were all.
    ///
    /// When a page is asked for too late, the error says [`ApiError::is_gone`] and the listing must begin again.
    pub fn list(&self, target: &WatchTarget, start: ListStart) -> EventStream {
        let listing = Listing {
            api: self.clone(),
            target: target.clone(),
            start,
            rules: ScrubRules::new(&target.resource, target.view),
            items: VecDeque::new(),
            next: Next::First,
        };
        EventStream::new(stream::try_unfold(listing, |mut listing| async move {
            Ok(listing.next().await?.map(|event| (event, listing)))
        }))
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
            if let Some(item) = self.items.pop_front() {
                return Ok(Some(Event::of_item(&item, &self.rules)));
            }
            match std::mem::replace(&mut self.next, Next::Ended) {
                Next::First => {
                    let get = self.page_request();
                    let get = match &self.start.not_older_than {
                        Some(version) => get
                            .query("resourceVersion", version.as_str())
                            .query("resourceVersionMatch", "NotOlderThan"),
                        None => get,
                    };
                    self.fetch(&get).await?;
                }
                Next::Continue(token) => {
                    let get = self.page_request().query("continue", &token);
                    self.fetch(&get).await?;
                }
                Next::End(resource_version) => {
                    return Ok(Some(Event::Bookmark { resource_version, initial_events_end: true }));
                }
                Next::Ended => return Ok(None),
            }
        }
    }

    fn page_request(&self) -> Get {
        self.target.list_request().query("limit", &self.start.page_size.to_string())
    }

    async fn fetch(&mut self, get: &Get) -> Result<(), ApiError> {
        let body = self.api.read(get).await?;
        (self.items, self.next) = take_apart(&body)
            .map_err(|source| ApiError::Malformed { path: get.path().to_owned(), source })?;
        Ok(())
    }
}

/// The items of a page, which share its memory, and what comes after it.
fn take_apart(body: &Bytes) -> Result<(VecDeque<Bytes>, Next), Malformed> {
    let Page { metadata, items } = serde_json::from_slice(body)?;
    let items = items.unwrap_or_default();
    let items = items.iter().map(|item| body.slice_ref(item.get().as_bytes())).collect();
    let next = match metadata {
        PageMetadata { r#continue, .. } if !r#continue.is_empty() => Next::Continue(r#continue),
        PageMetadata { resource_version, .. } if resource_version.is_empty() => {
            return Err(Malformed::NotOnce("metadata.resourceVersion"));
        }
        PageMetadata { resource_version, .. } => Next::End(resource_version.into()),
    };
    Ok((items, next))
}
