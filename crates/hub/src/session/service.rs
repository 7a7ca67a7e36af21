//! The gRPC service: wire types in, rooms called, wire types out.

use std::sync::Arc;

use futures::{
    StreamExt,
    stream::{BoxStream, PollNext, select_with_strategy},
};
use spindrift_model::SessionId;
use spindrift_protocol::{
    Assembler, Channel, DICTIONARY_METADATA, Dictionary, FINGERPRINTS_METADATA, HEARTBEATS_METADATA,
    Registration,
    v1::{self, hub_server},
};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status, Streaming, metadata::MetadataValue};
use tracing::warn;

use super::{
    Context,
    control::ControlChannel,
    guard::{GuardedServer, address_of},
    results::{self, ResultsChannel},
    sessions::LiveSession,
};
use crate::{
    dispatch::Link,
    ingest::{EventsChannel, EventsOptions},
    store::{Seat, SessionInfo},
};

/// Messages down that may wait for one agent's channel: small ones (acks, pongs), and a slow agent must not hold many.
const DOWN_QUEUE: usize = 64;

/// The service that agents call.
#[derive(Debug, Clone)]
pub struct HubService {
    context: Arc<Context>,
}

// === impl HubService ===

impl HubService {
    /// Serves the channels of all sessions.
    pub fn new(context: Context) -> Self {
        Self { context: Arc::new(context) }
    }

    /// As tonic serves it, with limits on unfinished messages.
    pub fn into_server(self) -> GuardedServer {
        let unfinished = self.context.unfinished.clone();
        GuardedServer::new(self, unfinished)
    }

    /// Adds a channel to its session, which ends if its Control channel is nowhere.
    fn join(&self, session: &SessionId, info: &SessionInfo) -> Arc<LiveSession> {
        let live = self.context.sessions.join(session, info);
        if live.needs_watching() {
            let watching = Arc::clone(&self.context).watch_liveness(session.clone(), Arc::clone(&live));
            live.tasks().spawn("liveness", watching);
        }
        live
    }
}

#[tonic::async_trait]
impl hub_server::Hub for HubService {
    type ControlStream = BoxStream<'static, Result<v1::ControlDown, Status>>;
    type EventsStream = ReceiverStream<Result<v1::EventsDown, Status>>;
    type ResultsStream = results::DownStream;

    async fn register(
        &self,
        request: Request<v1::RegisterRequest>,
    ) -> Result<Response<v1::RegisterResponse>, Status> {
        let context = &self.context;
        let registered = async {
            context.config.subjects.check(&request)?;
            let registration = Registration::try_from(request.into_inner()).map_err(|invalid| {
                warn!(%invalid, "registration refused");
                Status::invalid_argument(invalid.to_string())
            })?;
            context.register(registration).await
        };
        match registered.await {
            Ok(welcome) => Ok(Response::new(welcome.into())),
            Err(status) => {
                context.metrics.refusals.inc();
                Err(status)
            }
        }
    }

    async fn control(
        &self,
        request: Request<Streaming<v1::ControlUp>>,
    ) -> Result<Response<Self::ControlStream>, Status> {
        let (session, info) = self.context.open(Channel::Control, &request).await?;
        let live = self.context.sessions.join(&session, &info);
        live.control_opened();
        let (down_tx, down_rx) = mpsc::channel(DOWN_QUEUE);
        let (parts_tx, parts_rx) = mpsc::channel(1);
        let gone = live.tasks().token();
        let seat = Seat { agent: info.agent.clone(), incarnation: info.incarnation };
        let link = Link::new(session.clone(), seat, parts_tx, gone.clone());
        let joined = self.context.dispatch.links().join(link);
        let queued = self.context.unfinished.hold(address_of(request.extensions()));
        let channel = ControlChannel::new(self.context.clone(), session, info, live.clone(), down_tx, queued);
        live.tasks().spawn("control", async move {
            let ended = channel.run(request.into_inner()).await;
            drop(joined);
            ended
        });
        // Other messages are sent before the parts of operations, which take turns.
        let parts = ReceiverStream::new(parts_rx).take_until(gone.cancelled_owned());
        let first = |(): &mut ()| PollNext::Left;
        Ok(Response::new(select_with_strategy(ReceiverStream::new(down_rx), parts, first).boxed()))
    }

    async fn events(
        &self,
        request: Request<Streaming<v1::EventsUp>>,
    ) -> Result<Response<Self::EventsStream>, Status> {
        let (session, info) = self.context.open(Channel::Events, &request).await?;
        let live = self.join(&session, &info);
        let (down_tx, down_rx) = mpsc::channel(DOWN_QUEUE);
        // Capabilities that both sides have; an agent that sends none gets none.
        let said = |name| request.metadata().get(name).and_then(|value| value.to_str().ok());
        let dictionary = said(DICTIONARY_METADATA).and_then(Dictionary::choose);
        let fingerprints = said(FINGERPRINTS_METADATA) == Some("yes");
        let mut response = Response::new(ReceiverStream::new(down_rx));
        if let Some(dictionary) = dictionary {
            response.metadata_mut().insert(DICTIONARY_METADATA, MetadataValue::from(dictionary.id()));
        }
        if fingerprints {
            response.metadata_mut().insert(FINGERPRINTS_METADATA, MetadataValue::from_static("yes"));
        }
        offer_heartbeats(&mut response);
        let channel = EventsChannel::new(EventsOptions {
            ingest: Arc::clone(&self.context.ingest),
            session,
            info,
            session_token: live.tasks().token(),
            down_tx,
            assembler: Assembler::new(dictionary),
            unfinished: self.context.unfinished.hold(address_of(request.extensions())),
            fingerprints,
        });
        live.tasks().spawn("events", channel.run(request.into_inner()));
        Ok(response)
    }

    async fn results(
        &self,
        request: Request<Streaming<v1::ResultsUp>>,
    ) -> Result<Response<Self::ResultsStream>, Status> {
        let (session, info) = self.context.open(Channel::Results, &request).await?;
        let live = self.join(&session, &info);
        let (channel, words) = ResultsChannel::open(self.context.clone(), info, live.clone());
        live.tasks().spawn("results", channel.run(request.into_inner()));
        let mut response = Response::new(words);
        offer_heartbeats(&mut response);
        Ok(response)
    }
}

/// An agent that does not know of heartbeats sends none, and none are sent but as answers.
fn offer_heartbeats<T>(response: &mut Response<T>) {
    response.metadata_mut().insert(HEARTBEATS_METADATA, MetadataValue::from_static("yes"));
}
