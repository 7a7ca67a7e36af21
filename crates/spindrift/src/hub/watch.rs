//! Watch that reconnects and continues from its last position.

use std::time::Duration;

use futures::{Stream, StreamExt, stream, stream::BoxStream};
use reqwest::header::CONTENT_TYPE;
use serde::Deserialize;
use spindrift_process::backoff::{Backoff, BackoffConfig};
use tokio::time::Instant;

use super::{
    Client, HubError, Selection,
    responses::{DeletedObject, Object},
    sse::{Event, Parser},
};

/// Event of a watch.
#[derive(Debug)]
pub(crate) enum WatchEvent {
    /// An object was created or changed.
    Upsert(Object),
    /// An object was deleted, or no longer matches the selection.
    Delete(DeletedObject),
    /// All objects of the account follow again; discard the known ones.
    Reset { account: String },
    /// All objects that existed at the start have been sent.
    Synced,
    /// The connection is lost; the watch reconnects.
    Lost(HubError),
    /// The watch has reconnected; no changes were missed.
    Back,
}

struct Watcher {
    client: Client,
    selection: Selection,
    /// Position of the last event.
    position: Option<String>,
    link: Option<Link>,
    /// Set once the hub has been reached.
    reached: bool,
    backoff: Backoff,
}

struct Link {
    body: BoxStream<'static, reqwest::Result<Vec<u8>>>,
    parser: Parser,
    since: Instant,
}

#[derive(Deserialize)]
struct Reset {
    account: String,
}

/// Short delays, since a user waits.
const RECONNECT: BackoffConfig = BackoffConfig {
    base: Duration::from_millis(300),
    multiplier: 1.6,
    jitter: 0.2,
    max: Duration::from_secs(5),
};

pub(super) fn open(
    client: Client,
    mut selection: Selection,
    position: Option<String>,
) -> impl Stream<Item = Result<WatchEvent, HubError>> + Send + Unpin + 'static {
    // Only pages have a limit, or are read live.
    (selection.limit, selection.live) = (None, None);
    let backoff = Backoff::new(RECONNECT);
    let watcher = Watcher { client, selection, position, link: None, reached: false, backoff };
    Box::pin(stream::try_unfold(watcher, async |mut watcher| {
        let event = watcher.next().await?;
        Ok(Some((event, watcher)))
    }))
}

// === impl Watcher ===

impl Watcher {
    async fn next(&mut self) -> Result<WatchEvent, HubError> {
        loop {
            let Some(link) = &mut self.link else {
                if self.connect().await? {
                    return Ok(WatchEvent::Back);
                }
                continue;
            };
            match link.next(&self.client).await {
                Ok(Event { name, data, id }) => {
                    let event = self.parse_event(&name, &data)?;
                    self.position = id.or(self.position.take());
                    if let Some(event) = event {
                        return Ok(event);
                    }
                }
                Err(error) => {
                    self.backoff.ended_after(link.since.elapsed());
                    self.link = None;
                    return Ok(WatchEvent::Lost(error));
                }
            }
        }
    }

    /// Opens the stream; returns true if it was open before.
    async fn connect(&mut self) -> Result<bool, HubError> {
        let again = self.reached;
        if again {
            tokio::time::sleep(self.backoff.next()).await;
        }
        let mut request = self.client.get("v1/objects/watch").query(&self.selection);
        if let Some(position) = &self.position {
            request = request.header("Last-Event-ID", position);
        }
        match self.client.send(request).await {
            Ok(response) => {
                let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
                if !kind.is_some_and(|kind| kind.starts_with("text/event-stream")) {
                    let body = response.bytes().await;
                    let body = body.map_err(|error| HubError::request(&self.client.base, &error))?;
                    return Err(HubError::not_a_hub(&self.client.base, &body));
                }
                let body = response.bytes_stream().map(|bytes| bytes.map(|bytes| bytes.to_vec()));
                self.link =
                    Some(Link { body: body.boxed(), parser: Parser::default(), since: Instant::now() });
                self.reached = true;
                Ok(again)
            }
            Err(error) if again && error.is_retryable() => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn parse_event(&self, event: &str, data: &str) -> Result<Option<WatchEvent>, HubError> {
        let event = match event {
            "upsert" => serde_json::from_str(data).map(WatchEvent::Upsert),
            "delete" => serde_json::from_str(data).map(WatchEvent::Delete),
            "reset" => serde_json::from_str(data).map(|Reset { account }| WatchEvent::Reset { account }),
            "synced" => Ok(WatchEvent::Synced),
            // An event of a later release.
            _ => return Ok(None),
        };
        event.map(Some).map_err(|_| HubError::not_a_hub(&self.client.base, data.as_bytes()))
    }
}

// === impl Link ===

impl Link {
    async fn next(&mut self, client: &Client) -> Result<Event, HubError> {
        loop {
            match self.parser.next() {
                Ok(Some(event)) => return Ok(event),
                Ok(None) => {}
                Err(error) => return Err(HubError::not_a_hub(&client.base, error.to_string().as_bytes())),
            }
            match self.body.next().await {
                Some(Ok(bytes)) => self.parser.push(&bytes),
                Some(Err(error)) => return Err(HubError::request(&client.base, &error)),
                None => return Err(HubError::ended(&client.base)),
            }
        }
    }
}
