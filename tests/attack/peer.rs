//! An agent that an attacker plays: registers, and opens channels as it likes.

use futures::Stream;
use spindrift_model::Incarnation;
use spindrift_protocol::{
    ChannelToken, DICTIONARY_METADATA, Dictionary, SESSION_METADATA, TOKEN_METADATA, Welcome,
    v1::{self, hub_client::HubClient},
};
use spindrift_testkit::HubProcess;
use tonic::{Request, Status, Streaming, transport::Channel};

/// A registered agent.
pub(crate) struct Peer {
    pub(crate) client: HubClient<Channel>,
    pub(crate) welcome: Welcome,
}

/// A registration of this agent, with accounts of these names.
pub(crate) fn registration(agent: &str, accounts: impl IntoIterator<Item = String>) -> v1::RegisterRequest {
    let account = |name| v1::Account { name, host: "nowhere".into(), ..v1::Account::default() };
    v1::RegisterRequest {
        agent_id: agent.into(),
        incarnation: Incarnation::fresh().to_string(),
        version: "attacker".into(),
        protocol_min: 1,
        protocol_max: 1,
        accounts: accounts.into_iter().map(account).collect(),
        ..v1::RegisterRequest::default()
    }
}

// === impl Peer ===

impl Peer {
    /// Registers on a connection of its own.
    pub(crate) async fn register(hub: &HubProcess, request: v1::RegisterRequest) -> Result<Self, Status> {
        let client = HubClient::connect(format!("http://{}", hub.grpc())).await;
        let mut client = client.map_err(|error| Status::unavailable(error.to_string()))?;
        let answer = client.register(request).await?.into_inner();
        let welcome = Welcome::try_from(answer).map_err(|invalid| Status::internal(invalid.to_string()))?;
        Ok(Self { client, welcome })
    }

    /// Opens the Events channel, compressed.
    pub(crate) async fn events(
        &mut self,
        chunks: impl Stream<Item = v1::EventsUp> + Send + 'static,
    ) -> Result<Streaming<v1::EventsDown>, Status> {
        let mut request = self.request(chunks, &self.welcome.tokens.events);
        request.metadata_mut().insert(DICTIONARY_METADATA, Dictionary::offer().parse().unwrap());
        Ok(self.client.events(request).await?.into_inner())
    }

    /// Opens the Control channel.
    pub(crate) async fn control(
        &mut self,
        messages: impl Stream<Item = v1::ControlUp> + Send + 'static,
    ) -> Result<Streaming<v1::ControlDown>, Status> {
        let request = self.request(messages, &self.welcome.tokens.control);
        Ok(self.client.control(request).await?.into_inner())
    }

    fn request<T>(&self, messages: T, token: &ChannelToken) -> Request<T> {
        let mut request = Request::new(messages);
        let metadata = request.metadata_mut();
        metadata.insert(SESSION_METADATA, self.welcome.session.as_str().parse().unwrap());
        metadata.insert(TOKEN_METADATA, token.to_metadata().parse().unwrap());
        request
    }
}
