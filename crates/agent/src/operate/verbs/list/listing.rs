//! The objects of a list, one by one, page by page, namespace by namespace.

use std::collections::VecDeque;

use http::Method;
use serde_json::Value;
use spindrift_kubernetes::{
    ApiError, Call, Event, Malformed, PageEnd, PageSplitter, Pieces, RawObject, ScrubRules, View,
};
use spindrift_model::{Resource, ResourceVersion};
use tokio::time::Instant;

use crate::operate::{Failure, Hand, subject::is_namespace};

/// As kubectl asks.
const PAGE_SIZE: &str = "500";

/// What is listed.
pub(in super::super) struct Listing<'a> {
    pub(in super::super) hand: &'a Hand,
    pub(in super::super) resource: &'a Resource,
    /// All that the account may see if left out.
    pub(in super::super) namespace: Option<&'a str>,
    pub(in super::super) label_selector: Option<&'a str>,
    pub(in super::super) field_selector: Option<&'a str>,
}

/// A list that is being read.
pub(in super::super) struct Objects<'a> {
    listing: Listing<'a>,
    /// What is still to be listed, the current one first.
    scopes: VecDeque<Option<&'a str>>,
    token: Option<String>,
    page: Option<Page>,
    version: Option<ResourceVersion>,
}

/// A page that is arriving.
struct Page {
    call: Call,
    pieces: Pieces,
    splitter: PageSplitter,
}

// === impl Listing ===

impl<'a> Listing<'a> {
    /// Nothing is asked for before the first object is.
    pub(in super::super) fn begin(self) -> Objects<'a> {
        let scopes = self.scopes();
        Objects { listing: self, scopes, token: None, page: None, version: None }
    }

    /// The namespaces to ask for, one after the other; none is all of them.
    pub(in super::super) fn scopes(&self) -> VecDeque<Option<&'a str>> {
        let given = self.namespace.filter(|namespace| !namespace.is_empty() && self.resource.namespaced);
        let is_limited = !self.hand.account.config.namespaces.is_empty() && self.resource.namespaced;
        if given.is_none() && is_limited {
            self.hand.namespaces().map(Some).collect()
        } else {
            [given].into()
        }
    }

    fn call(&self, namespace: Option<&str>, token: Option<&str>) -> Call {
        let mut call = Call::about(Method::GET, self.resource, namespace, None).query("limit", PAGE_SIZE);
        if let Some(selector) = self.label_selector.filter(|selector| !selector.is_empty()) {
            call = call.query("labelSelector", selector);
        }
        let mut fields: Vec<_> = self
            .field_selector
            .filter(|selector| !selector.is_empty())
            .map(str::to_owned)
            .into_iter()
            .collect();
        if self.resource.namespaced && namespace.is_none() {
            // What the account leaves out is left out by the API server.
            let omitted = self.hand.account.config.omit_namespaces.iter();
            fields.extend(omitted.map(|namespace| format!("metadata.namespace!={namespace}")));
        }
        if !fields.is_empty() {
            call = call.query("fieldSelector", &fields.join(","));
        }
        match token {
            Some(token) => call.query("continue", token),
            None => call,
        }
    }
}

// === impl Objects ===

impl Objects<'_> {
    /// The next object, scrubbed; none is the end.
    pub(in super::super) async fn next(&mut self) -> Result<Option<RawObject>, Failure> {
        while let Some(namespace) = self.scopes.front().copied() {
            let Some(page) = &mut self.page else {
                self.page = self.open(namespace).await?;
                continue;
            };
            let Listing { hand, resource, .. } = &self.listing;
            if let Some(object) = page.next(hand).await? {
                // Of namespaces themselves, those that the account has nothing to look for in.
                if is_namespace(resource) && !hand.reaches(&object.name) {
                    continue;
                }
                return Ok(Some(object));
            }
            match page.splitter.end().map_err(|malformed| Failure::unreadable(&page.call, &malformed))? {
                PageEnd::Continue(token) => self.token = Some(token),
                PageEnd::Complete(version) => {
                    self.scopes.pop_front();
                    self.token = None;
                    self.version = Some(version);
                }
            }
            self.page = None;
        }
        Ok(None)
    }

    /// The version of the list.
    pub(in super::super) fn version(&self) -> Option<&ResourceVersion> {
        self.version.as_ref()
    }

    /// None if it has to be asked for in another way.
    async fn open(&mut self, namespace: Option<&str>) -> Result<Option<Page>, Failure> {
        let Listing { hand, resource, .. } = self.listing;
        let call = self.listing.call(namespace, self.token.as_deref());
        let mut attempts = hand.attempts();
        loop {
            hand.metrics.kubernetes_requests.inc();
            match hand.api().pieces(&call, hand.deadline).await {
                Ok(pieces) => {
                    let rules = ScrubRules::new(resource, View::Full, hand.redactions());
                    return Ok(Some(Page { call, pieces, splitter: PageSplitter::new(rules) }));
                }
                Err(error) if self.token.is_some() && error.is_gone() => {
                    // The rest of the list as it is now, rather than none.
                    let token = newer_token(&error).ok_or_else(|| Failure::of_read(&error))?;
                    self.token = Some(token);
                    return Ok(None);
                }
                Err(error) => attempts.after(error).await.map_err(|error| Failure::of_read(&error))?,
            }
        }
    }
}

// === impl Page ===

impl Page {
    async fn next(&mut self, hand: &Hand) -> Result<Option<RawObject>, Failure> {
        let unreadable = |call: &Call, malformed: Malformed| Failure::unreadable(call, &malformed);
        loop {
            match self.splitter.next_event().map_err(|malformed| unreadable(&self.call, malformed))? {
                Some(Event::Object(object)) => return Ok(Some(object)),
                Some(Event::Unparseable { error, .. }) => {
                    let message = format!("an object in the answer to {} cannot be read: {error}", self.call);
                    return Err(Failure::ours(502, "BadGateway", message));
                }
                Some(_) => continue,
                None => {}
            }
            let patience = hand.deadline.saturating_duration_since(Instant::now());
            match self.pieces.next(patience).await.map_err(|error| Failure::of_read(&error))? {
                Some(piece) => self.splitter.push(piece),
                None => return Ok(None),
            }
        }
    }
}

/// An API server that has forgotten the list that was begun says how to go on with a newer one.
fn newer_token(error: &ApiError) -> Option<String> {
    let document: Value = serde_json::from_slice(&error.status()?.document).ok()?;
    let token = document.pointer("/metadata/continue")?.as_str()?;
    (!token.is_empty()).then(|| token.to_owned())
}
