//! Objects of a list, one by one, page by page, namespace by namespace.

use std::collections::VecDeque;

use http::Method;
use serde_json::Value;
use spindrift_kubernetes::{
    ApiError, Call, Event, Malformed, PageEnd, PageSplitter, Pieces, RawObject, ScrubRules, View,
};
use spindrift_model::{ErrorKind, OperationError, Resource, ResourceVersion};
use tokio::time::Instant;

use crate::operate::{OperationContext, errors, target::is_namespace};

/// Page size, as kubectl's.
const PAGE_SIZE: &str = "500";

/// List request.
pub(in super::super) struct Listing<'a> {
    pub(in super::super) context: &'a OperationContext,
    pub(in super::super) resource: &'a Resource,
    /// Namespace; all that the account allows if absent.
    pub(in super::super) namespace: Option<&'a str>,
    pub(in super::super) label_selector: Option<&'a str>,
    pub(in super::super) field_selector: Option<&'a str>,
}

/// List that is being read.
pub(in super::super) struct Objects<'a> {
    listing: Listing<'a>,
    /// Calls that are left, the current one first.
    scopes: VecDeque<Option<&'a str>>,
    token: Option<String>,
    page: Option<Page>,
    version: Option<ResourceVersion>,
}

/// Page that is arriving.
struct Page {
    call: Call,
    pieces: Pieces,
    splitter: PageSplitter,
}

// === impl Listing ===

impl<'a> Listing<'a> {
    /// Makes no call before the first object is requested.
    pub(in super::super) fn begin(self) -> Objects<'a> {
        let scopes = self.scopes();
        Objects { listing: self, scopes, token: None, page: None, version: None }
    }

    /// Namespaces to list, one after the other; none means all at once.
    pub(in super::super) fn scopes(&self) -> VecDeque<Option<&'a str>> {
        let given = self.namespace.filter(|namespace| !namespace.is_empty() && self.resource.namespaced);
        let is_limited = !self.context.account.config.namespaces.is_empty() && self.resource.namespaced;
        if given.is_none() && is_limited {
            self.context.namespaces().map(Some).collect()
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
            // The API server leaves out the omitted namespaces.
            let omitted = self.context.account.config.omit_namespaces.iter();
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
    /// Next object, scrubbed; none at the end.
    pub(in super::super) async fn next(&mut self) -> Result<Option<RawObject>, OperationError> {
        while let Some(namespace) = self.scopes.front().copied() {
            let Some(page) = &mut self.page else {
                self.page = self.open(namespace).await?;
                continue;
            };
            let Listing { context, resource, .. } = &self.listing;
            if let Some(object) = page.next(context).await? {
                // Namespaces that the account does not allow are left out.
                if is_namespace(resource) && !context.reaches(&object.name) {
                    continue;
                }
                return Ok(Some(object));
            }
            match page.splitter.end().map_err(|malformed| errors::unreadable(&page.call, &malformed))? {
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

    /// Resource version of the list.
    pub(in super::super) fn version(&self) -> Option<&ResourceVersion> {
        self.version.as_ref()
    }

    /// None if it has to be requested in another way.
    async fn open(&mut self, namespace: Option<&str>) -> Result<Option<Page>, OperationError> {
        let Listing { context, resource, .. } = self.listing;
        let call = self.listing.call(namespace, self.token.as_deref());
        let mut attempts = context.attempts();
        loop {
            context.metrics.kubernetes_requests.inc();
            match context.api().pieces(&call, context.deadline).await {
                Ok(pieces) => {
                    let rules = ScrubRules::new(resource, View::Full, context.redactions());
                    return Ok(Some(Page { call, pieces, splitter: PageSplitter::new(rules) }));
                }
                Err(error) if self.token.is_some() && error.is_gone() => {
                    // Continues with the current version of the list.
                    let token = newer_token(&error).ok_or_else(|| errors::of_read(&error))?;
                    self.token = Some(token);
                    return Ok(None);
                }
                Err(error) => attempts.after(error).await.map_err(|error| errors::of_read(&error))?,
            }
        }
    }
}

// === impl Page ===

impl Page {
    async fn next(&mut self, context: &OperationContext) -> Result<Option<RawObject>, OperationError> {
        let unreadable = |call: &Call, malformed: Malformed| errors::unreadable(call, &malformed);
        loop {
            match self.splitter.next_event().map_err(|malformed| unreadable(&self.call, malformed))? {
                Some(Event::Object(object)) => return Ok(Some(object)),
                Some(Event::Unparseable { error, .. }) => {
                    let message = format!("an object in the answer to {} cannot be read: {error}", self.call);
                    return Err(OperationError::agent(ErrorKind::BadAnswer, message));
                }
                Some(_) => continue,
                None => {}
            }
            let patience = context.deadline.saturating_duration_since(Instant::now());
            match self.pieces.next(patience).await.map_err(|error| errors::of_read(&error))? {
                Some(piece) => self.splitter.push(piece),
                None => return Ok(None),
            }
        }
    }
}

/// Token with which the API server continues an expired list at a newer version.
fn newer_token(error: &ApiError) -> Option<String> {
    let document: Value = serde_json::from_slice(&error.status()?.document).ok()?;
    let token = document.pointer("/metadata/continue")?.as_str()?;
    (!token.is_empty()).then(|| token.to_owned())
}
