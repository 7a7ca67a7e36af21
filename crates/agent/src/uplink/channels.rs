//! Registering, and opening the three channels of the session with their tokens.

use std::{error::Error, time::Duration};

use futures::{StreamExt, stream};
use spindrift_model::SessionId;
use spindrift_process::report;
use spindrift_protocol::{
    Channel, ChannelToken, InvalidMessage, Registration, SESSION_METADATA, TOKEN_METADATA, Welcome, chunks,
    v1::{self, hub_client::HubClient},
};
use tokio::{sync::mpsc, time::timeout};
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Status, Streaming, metadata::MetadataValue};

use super::{Bearer, BearerError, DialError, Dialer};

/// Until the hub has told its pace, a dead link is noticed at this one.
const FIRST_HEARTBEAT: Duration = Duration::from_secs(5);
/// The hub may have to store some thousand accounts.
const PATIENCE: Duration = Duration::from_mins(1);
/// Messages of events that wait for the connection: with batches of about 128 KB, a ping or a result waits behind
/// little, and one large object is cut into chunks, between which others get their turn.
const EVENTS_QUEUE: usize = 2;
/// Pings and announcements; the hub answers each.
const CONTROL_QUEUE: usize = 16;

/// The open channels of a session.
#[derive(Debug)]
pub(super) struct Channels {
    pub(super) control_tx: mpsc::Sender<v1::ControlUp>,
    pub(super) control_down: Streaming<v1::ControlDown>,
    /// Whole messages: accounts share the channel, and chunks of two messages must not mix.
    pub(super) events_tx: mpsc::Sender<v1::EventsMessage>,
    pub(super) events_down: Streaming<v1::EventsDown>,
    /// Kept open for operations, whose large answers will go there.
    _results_tx: mpsc::Sender<v1::ResultsUp>,
    pub(super) results_down: Streaming<v1::ResultsDown>,
}

/// A session that did not come about.
#[derive(Debug, thiserror::Error)]
pub(super) enum OpenError {
    #[error(transparent)]
    Dial(#[from] DialError),
    #[error(transparent)]
    Bearer(#[from] BearerError),
    #[error("register: the hub did not answer within {PATIENCE:?}")]
    Slow,
    #[error("register: {}", .0.message())]
    Register(Status),
    #[error("register: the connection ended before the hub answered{hint}: {cause}")]
    Unanswered { hint: &'static str, cause: String },
    #[error("register: the hub's answer makes no sense")]
    Answer(#[from] InvalidMessage),
    #[error("open the {channel} channel: {}", status.message())]
    Channel { channel: Channel, status: Status },
}

// === impl Channels ===

impl Channels {
    /// Dials, registers, and opens every channel with its own token.
    pub(super) async fn open(
        dialer: &Dialer,
        bearer: &Bearer,
        registration: Registration,
    ) -> Result<(Welcome, Self), OpenError> {
        timeout(PATIENCE, Self::register(dialer, bearer, registration)).await.map_err(|_| OpenError::Slow)?
    }

    async fn register(
        dialer: &Dialer,
        bearer: &Bearer,
        registration: Registration,
    ) -> Result<(Welcome, Self), OpenError> {
        let authorization = bearer.authorization().await?;
        let mut client = HubClient::with_interceptor(dialer.dial(FIRST_HEARTBEAT).await?, authorization);
        let answer = client.register(v1::RegisterRequest::from(registration)).await;
        let answer = answer.map_err(|status| match status.source() {
            Some(cause) => OpenError::Unanswered { hint: dialer.unanswered_hint(), cause: report(cause) },
            None => OpenError::Register(status),
        })?;
        let welcome = Welcome::try_from(answer.into_inner())?;
        let session = &welcome.session;

        let (control_tx, control_rx) = mpsc::channel(CONTROL_QUEUE);
        let request = opened_with(session, &welcome.tokens.control, ReceiverStream::new(control_rx));
        let control_down = client.control(request).await.map_err(at(Channel::Control))?.into_inner();

        let (events_tx, events_rx) = mpsc::channel(EVENTS_QUEUE);
        let frames = ReceiverStream::new(events_rx).flat_map(|message| stream::iter(chunks(&message)));
        let request = opened_with(session, &welcome.tokens.events, frames);
        let events_down = client.events(request).await.map_err(at(Channel::Events))?.into_inner();

        let (results_tx, results_rx) = mpsc::channel(1);
        let request = opened_with(session, &welcome.tokens.results, ReceiverStream::new(results_rx));
        let results_down = client.results(request).await.map_err(at(Channel::Results))?.into_inner();

        let channels =
            Self { control_tx, control_down, events_tx, events_down, _results_tx: results_tx, results_down };
        Ok((welcome, channels))
    }
}

fn at(channel: Channel) -> impl Fn(Status) -> OpenError {
    move |status| OpenError::Channel { channel, status }
}

fn opened_with<S>(session: &SessionId, token: &ChannelToken, up: S) -> Request<S> {
    let mut request = Request::new(up);
    for (name, value) in [(SESSION_METADATA, session.to_string()), (TOKEN_METADATA, token.to_metadata())] {
        // Both are ASCII by construction; the hub refuses what it cannot read.
        if let Ok(value) = MetadataValue::try_from(value) {
            request.metadata_mut().insert(name, value);
        }
    }
    request
}
