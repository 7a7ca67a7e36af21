//! Registration, and the three channels of the session, each opened with its token.

use std::{error::Error, sync::Arc, time::Duration};

use spindrift_model::SessionId;
use spindrift_process::report;
use spindrift_protocol::{
    Channel, ChannelToken, DICTIONARY_METADATA, Dictionary, FINGERPRINTS_METADATA, HEARTBEATS_METADATA,
    InvalidMessage, Registration, SESSION_METADATA, TOKEN_METADATA, Welcome,
    v1::{self, hub_client::HubClient},
};
use tokio::{
    sync::{mpsc, oneshot},
    time::timeout,
};
use tokio_stream::wrappers::ReceiverStream;
use tonic::{
    Code, Request, Response, Status, Streaming,
    metadata::{MetadataMap, MetadataValue},
};
use tracing::debug;

use super::{
    BearerError, DialError, Uplink,
    flow::Credit,
    frames::{Agreed, Frames},
    heartbeat::Heartbeat,
};

/// Heartbeat of the connection until the hub has sent its own.
const FIRST_HEARTBEAT: Duration = Duration::from_secs(5);
/// Deadline of a registration: the hub may have to store some thousand accounts.
const REGISTER_TIMEOUT: Duration = Duration::from_mins(1);
/// Messages of events that wait for the connection, beside the one that is being cut: with batches of about 128 KB, a
/// ping or a result waits behind little, and one large object is cut into chunks, between which others get their turn.
const EVENTS_QUEUE: usize = 1;
/// Bytes that all accounts together may have read and not sent: some batches, so that the next one is full when it can
/// be sent.
const SEND_BUDGET_BYTES: usize = 1024 * 1024;
/// Pieces of results that wait for the connection: 64 KB at most.
const RESULTS_QUEUE: usize = 1;
/// Pings and announcements; the hub answers each.
const CONTROL_QUEUE: usize = 16;

/// The open channels of a session.
#[derive(Debug)]
pub(super) struct Channels {
    pub(super) control_tx: mpsc::Sender<v1::ControlUp>,
    pub(super) control_down: Streaming<v1::ControlDown>,
    pub(super) events_tx: EventsSender,
    pub(super) events_down: Streaming<v1::EventsDown>,
    pub(super) results_tx: mpsc::Sender<v1::ResultsUp>,
    pub(super) results_down: Streaming<v1::ResultsDown>,
    /// Heartbeats of the Results channel, if the hub answers them.
    pub(super) results_heartbeat: Option<Heartbeat>,
}

/// Sender of the Events channel, which the accounts of a session share.
#[derive(Debug, Clone)]
pub(super) struct EventsSender {
    /// Whole messages: accounts share the channel, and chunks of two messages must not mix.
    pub(super) messages_tx: mpsc::Sender<v1::EventsMessage>,
    /// Bytes that all accounts together may have read and not sent.
    pub(super) send_budget: Arc<Credit>,
    /// Set if the hub sends fingerprints of its objects when a list begins.
    pub(super) fingerprints: bool,
}

/// Error for a session that could not be opened.
#[derive(Debug, thiserror::Error)]
pub(super) enum OpenError {
    #[error(transparent)]
    Dial(#[from] DialError),
    #[error(transparent)]
    Bearer(#[from] BearerError),
    #[error("register: the hub did not respond within {REGISTER_TIMEOUT:?}")]
    Slow,
    #[error("register: {}", words(.0))]
    Register(Status),
    #[error("register: the connection ended before the hub answered{hint}: {cause}")]
    Unanswered { hint: &'static str, cause: String },
    #[error("register: the hub sent an invalid response")]
    Response(#[from] InvalidMessage),
    #[error("open the {channel} channel: metadata {name} is not valid in a gRPC header")]
    Metadata { channel: Channel, name: &'static str },
    #[error("open the {channel} channel: {}", words(status))]
    Channel { channel: Channel, status: Status },
}

// === impl Channels ===

impl Channels {
    /// Dials, registers, and opens every channel with its own token.
    pub(super) async fn open(
        uplink: &Uplink,
        registration: Registration,
    ) -> Result<(Welcome, Self), OpenError> {
        let opening = Self::register(uplink, registration);
        timeout(REGISTER_TIMEOUT, opening).await.map_err(|_| OpenError::Slow)?
    }

    async fn register(uplink: &Uplink, registration: Registration) -> Result<(Welcome, Self), OpenError> {
        let Uplink { dialer, bearer, metrics, .. } = uplink;
        let authorization = bearer.authorization().await?;
        let mut client = HubClient::with_interceptor(dialer.dial(FIRST_HEARTBEAT).await?, authorization);
        let answer = client.register(v1::RegisterRequest::from(registration)).await;
        if answer.as_ref().is_err_and(|status| status.code() == Code::Unauthenticated) {
            bearer.refused();
        }
        let answer = answer.map_err(|status| match status.source() {
            Some(cause) => OpenError::Unanswered { hint: dialer.unanswered_hint(), cause: report(cause) },
            None => OpenError::Register(status),
        })?;
        let welcome = Welcome::try_from(answer.into_inner())?;
        let session = &welcome.session;
        let heartbeat = uplink.config.heartbeat(welcome.pacing.heartbeat);

        let (control_tx, control_rx) = mpsc::channel(CONTROL_QUEUE);
        let token = &welcome.tokens.control;
        let request = channel_request(Channel::Control, session, token, ReceiverStream::new(control_rx))?;
        let control_down = client.control(request).await.map_err(at(Channel::Control))?.into_inner();

        let (messages_tx, messages_rx) = mpsc::channel(EVENTS_QUEUE);
        let (agreed_tx, agreed_rx) = oneshot::channel();
        let frames = Frames::new(agreed_rx, messages_rx, metrics.clone());
        let token = &welcome.tokens.events;
        let mut request = channel_request(Channel::Events, session, token, frames.into_stream())?;
        if dialer.compresses() {
            insert(Channel::Events, request.metadata_mut(), DICTIONARY_METADATA, Dictionary::offer())?;
        }
        insert(Channel::Events, request.metadata_mut(), FINGERPRINTS_METADATA, "yes".into())?;
        insert(Channel::Events, request.metadata_mut(), HEARTBEATS_METADATA, "yes".into())?;
        let answer = client.events(request).await.map_err(at(Channel::Events))?;
        // A feature that the hub which serves this channel does not repeat is not supported by it.
        let dictionary = offered(&answer, DICTIONARY_METADATA).and_then(Dictionary::choose);
        let fingerprints = offered(&answer, FINGERPRINTS_METADATA) == Some("yes");
        let heartbeats = offered(&answer, HEARTBEATS_METADATA) == Some("yes");
        debug!(?dictionary, fingerprints, heartbeats, "Events channel opened");
        let heartbeats = heartbeats.then(|| Heartbeat::new(heartbeat));
        // The receiver is dropped only with the request, of which the response has just arrived.
        agreed_tx.send(Agreed { dictionary, heartbeat: heartbeats }).ok();
        let events_down = answer.into_inner();
        let send_budget = Credit::new(SEND_BUDGET_BYTES, metrics.queue.clone());
        let events_tx = EventsSender { messages_tx, send_budget, fingerprints };

        let (results_tx, results_rx) = mpsc::channel(RESULTS_QUEUE);
        let token = &welcome.tokens.results;
        let mut request = channel_request(Channel::Results, session, token, ReceiverStream::new(results_rx))?;
        insert(Channel::Results, request.metadata_mut(), HEARTBEATS_METADATA, "yes".into())?;
        let answer = client.results(request).await.map_err(at(Channel::Results))?;
        let heartbeats = offered(&answer, HEARTBEATS_METADATA) == Some("yes");

        let channels = Self {
            control_tx,
            control_down,
            events_tx,
            events_down,
            results_tx,
            results_down: answer.into_inner(),
            results_heartbeat: heartbeats.then(|| Heartbeat::new(heartbeat)),
        };
        Ok((welcome, channels))
    }
}

/// Returns the metadata of this name in the hub's answer to the opening of a channel.
fn offered<'a, T>(answer: &'a Response<T>, name: &str) -> Option<&'a str> {
    answer.metadata().get(name)?.to_str().ok()
}

/// Returns the message of a status, or the meaning of its code: proxies send no message.
fn words(status: &Status) -> &str {
    match status.message() {
        "" => status.code().description(),
        message => message,
    }
}

fn at(channel: Channel) -> impl Fn(Status) -> OpenError {
    move |status| OpenError::Channel { channel, status }
}

fn channel_request<S>(
    channel: Channel,
    session: &SessionId,
    token: &ChannelToken,
    up: S,
) -> Result<Request<S>, OpenError> {
    let mut request = Request::new(up);
    insert(channel, request.metadata_mut(), SESSION_METADATA, session.to_string())?;
    insert(channel, request.metadata_mut(), TOKEN_METADATA, token.to_metadata())?;
    Ok(request)
}

fn insert(
    channel: Channel,
    metadata: &mut MetadataMap,
    name: &'static str,
    value: String,
) -> Result<(), OpenError> {
    let value = MetadataValue::try_from(value).map_err(|_| OpenError::Metadata { channel, name })?;
    metadata.insert(name, value);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_that_is_no_header_value_is_an_error() {
        let mut metadata = MetadataMap::new();
        insert(Channel::Events, &mut metadata, SESSION_METADATA, "a".into()).unwrap();
        let error = insert(Channel::Events, &mut metadata, TOKEN_METADATA, "a\nb".into()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "open the Events channel: metadata spindrift-token is not valid in a gRPC header"
        );
        assert_eq!(metadata.len(), 1);
    }

    #[test]
    fn a_refusal_without_a_message_names_its_code() {
        let error = OpenError::Register(Status::unimplemented(""));
        assert_eq!(error.to_string(), "register: Operation is not implemented or not supported");
        let error = OpenError::Register(Status::unimplemented("no such service"));
        assert_eq!(error.to_string(), "register: no such service");
    }
}
