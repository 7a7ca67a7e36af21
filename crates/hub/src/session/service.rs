//! The gRPC service: wire types in, rooms called, wire types out.

use std::{collections::HashMap, sync::Arc};

use futures::stream::FuturesUnordered;
use spindrift_protocol::{
    Channel, LARGEST_MESSAGE_BYTES, Registration,
    v1::{self, hub_server},
};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status, Streaming};
use tracing::warn;

use super::{
    Context, SessionConfig, Sessions, control::ControlChannel, events::EventsChannel, results,
    succession::Succession,
};
use crate::{cache::Committer, metrics::Metrics, store::Store};

/// Messages down that may wait for one agent's channel: small ones (acks, pongs), and a slow agent must not hold many.
const DOWN_QUEUE: usize = 64;

/// The service that agents call.
#[derive(Debug, Clone)]
pub struct HubService {
    context: Arc<Context>,
}

// === impl HubService ===

impl HubService {
    /// A service over the hub's rooms.
    pub fn new(
        config: SessionConfig,
        store: Store,
        committer: Committer,
        sessions: Sessions,
        metrics: Arc<Metrics>,
    ) -> Self {
        Self { context: Arc::new(Context { config, store, committer, sessions, metrics }) }
    }

    /// As tonic serves it. A registration names all accounts and namespaces of an agent; all else is in small chunks.
    pub fn into_server(self) -> hub_server::HubServer<Self> {
        hub_server::HubServer::new(self).max_decoding_message_size(LARGEST_MESSAGE_BYTES)
    }
}

#[tonic::async_trait]
impl hub_server::Hub for HubService {
    type ControlStream = ReceiverStream<Result<v1::ControlDown, Status>>;
    type EventsStream = ReceiverStream<Result<v1::EventsDown, Status>>;
    type ResultsStream = ReceiverStream<Result<v1::ResultsDown, Status>>;

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
        let live = self.context.sessions.join(&session, &info.agent);
        let (down_tx, down_rx) = mpsc::channel(DOWN_QUEUE);
        let channel =
            ControlChannel { context: self.context.clone(), session, info, live: live.clone(), down_tx };
        live.tasks().spawn("control", channel.run(request.into_inner()));
        Ok(Response::new(ReceiverStream::new(down_rx)))
    }

    async fn events(
        &self,
        request: Request<Streaming<v1::EventsUp>>,
    ) -> Result<Response<Self::EventsStream>, Status> {
        let (session, info) = self.context.open(Channel::Events, &request).await?;
        let live = self.context.sessions.join(&session, &info.agent);
        let (down_tx, down_rx) = mpsc::channel(DOWN_QUEUE);
        let grace = self.context.config.succession_grace;
        let channel = EventsChannel {
            succession: Succession::new(info.tenant.clone(), info.agent.clone(), grace),
            context: self.context.clone(),
            session,
            info,
            live: live.clone(),
            down_tx,
            attachments: HashMap::new(),
            commits: FuturesUnordered::new(),
        };
        live.tasks().spawn("events", channel.run(request.into_inner()));
        Ok(Response::new(ReceiverStream::new(down_rx)))
    }

    async fn results(
        &self,
        request: Request<Streaming<v1::ResultsUp>>,
    ) -> Result<Response<Self::ResultsStream>, Status> {
        let (session, info) = self.context.open(Channel::Results, &request).await?;
        let live = self.context.sessions.join(&session, &info.agent);
        let (down_tx, down_rx) = mpsc::channel(DOWN_QUEUE);
        live.tasks().spawn("results", results::run(info, live.clone(), request.into_inner(), down_tx));
        Ok(Response::new(ReceiverStream::new(down_rx)))
    }
}
