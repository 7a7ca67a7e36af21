//! Access to a channel: the token decides, and over mTLS the certificate before it.

mod mtls;
mod services;

use std::any::Any;

use serde_json::json;
use spindrift_model::Incarnation;
use spindrift_protocol::{
    Channel, ChannelToken, ControlDown, SESSION_METADATA, TOKEN_METADATA, Welcome,
    v1::{self, hub_client::HubClient},
};
use spindrift_testkit::{Database, HubProcess, PATIENCE};
use tokio::time::timeout;
use tonic::{Code, Request, Status, Streaming, transport};

const CHANNELS: [Channel; 3] = [Channel::Control, Channel::Events, Channel::Results];

/// A client that sends an agent's messages one by one.
pub(crate) struct Caller {
    client: HubClient<transport::Channel>,
}

/// A channel that is open until this is dropped.
type Open = Box<dyn Any + Send>;

// === impl Caller ===

impl Caller {
    pub(crate) async fn dial(hub: &HubProcess) -> Self {
        let endpoint = transport::Endpoint::from_shared(format!("http://{}", hub.grpc())).unwrap();
        Self::new(endpoint.connect().await.unwrap())
    }

    pub(crate) fn new(transport: transport::Channel) -> Self {
        Self { client: HubClient::new(transport) }
    }

    pub(crate) async fn register(&mut self, request: v1::RegisterRequest) -> Result<Welcome, Status> {
        let answer = self.client.register(request).await?.into_inner();
        Ok(Welcome::try_from(answer).unwrap())
    }

    async fn open(&mut self, channel: Channel, session: &str, token: &str) -> Result<Open, Status> {
        Ok(match channel {
            Channel::Control => Box::new(self.control(session, token).await?),
            Channel::Events => Box::new(self.client.events(request(session, token)).await?),
            Channel::Results => Box::new(self.client.results(request(session, token)).await?),
        })
    }

    async fn control(&mut self, session: &str, token: &str) -> Result<Streaming<v1::ControlDown>, Status> {
        Ok(self.client.control(request(session, token)).await?.into_inner())
    }

    /// Opens a channel with the token that it was given for it.
    async fn open_rightly(&mut self, channel: Channel, welcome: &Welcome) -> Result<Open, Status> {
        self.open(channel, welcome.session.as_str(), &token(channel, welcome)).await
    }

    /// Message of the hub's refusal.
    async fn refused(&mut self, channel: Channel, session: &str, token: &str) -> String {
        let status = self.open(channel, session, token).await.expect_err("the channel is refused");
        assert_eq!(status.code(), Code::Unauthenticated, "{status}");
        status.message().to_owned()
    }
}

/// A registration without accounts.
pub(crate) fn registration(agent: &str) -> v1::RegisterRequest {
    v1::RegisterRequest {
        agent_id: agent.into(),
        incarnation: Incarnation::fresh().to_string(),
        version: "7.8.9".into(),
        protocol_min: 1,
        protocol_max: 1,
        zone: "here".into(),
        accounts: vec![],
        verbs: Vec::new(),
    }
}

/// Opens a channel on which the agent never sends anything; empty metadata is left out.
fn request<T: Send + 'static>(session: &str, token: &str) -> Request<tokio_stream::Pending<T>> {
    let mut request = Request::new(tokio_stream::pending());
    for (name, value) in [(SESSION_METADATA, session), (TOKEN_METADATA, token)] {
        if !value.is_empty() {
            request.metadata_mut().insert(name, value.parse().unwrap());
        }
    }
    request
}

fn token(channel: Channel, welcome: &Welcome) -> String {
    let tokens = &welcome.tokens;
    let token = match channel {
        Channel::Control => &tokens.control,
        Channel::Events => &tokens.events,
        Channel::Results => &tokens.results,
    };
    token.to_metadata()
}

async fn hub() -> (Database, HubProcess) {
    let database = Database::sqlite().unwrap();
    let hub = HubProcess::start("hub-a", &database, &[]).await.unwrap();
    (database, hub)
}

#[tokio::test]
async fn a_token_opens_its_channel_once() {
    let (_database, hub) = hub().await;
    let mut caller = Caller::dial(&hub).await;
    let welcome = caller.register(registration("agent-a")).await.unwrap();
    let session = welcome.session.as_str();
    let mut open = Vec::new();
    for channel in CHANNELS {
        open.push(caller.open_rightly(channel, &welcome).await.unwrap());
    }
    for channel in CHANNELS {
        let message = caller.refused(channel, session, &token(channel, &welcome)).await;
        let expected = format!("the {channel} token of session {session} was used before: register again");
        assert_eq!(message, expected);
    }
    let metrics = hub.text("/metrics").await.unwrap();
    assert!(metrics.contains("spindrift_hub_refusals_total 3\n"), "{metrics}");
    let log = hub.daemon().log();
    assert_eq!(log.matches("a channel was refused").count(), 3);
}

#[tokio::test]
async fn of_two_that_come_at_once_with_one_token_one_is_let_in() {
    let database = Database::postgres().await.unwrap();
    let hub = HubProcess::start("hub-a", &database, &[]).await.unwrap();
    let mut caller = Caller::dial(&hub).await;
    let mut other = Caller::dial(&hub).await;
    let welcome = caller.register(registration("agent-a")).await.unwrap();
    let mut open = Vec::new();
    for channel in CHANNELS {
        let both =
            tokio::join!(caller.open_rightly(channel, &welcome), other.open_rightly(channel, &welcome));
        let (one, refused) = match both {
            (Ok(one), Err(refused)) | (Err(refused), Ok(one)) => (one, refused),
            (Ok(_), Ok(_)) => panic!("{channel} was opened twice on {}", database.engine()),
            (Err(one), Err(other)) => panic!("{channel} was not opened: {one}, {other}"),
        };
        assert_eq!(refused.code(), Code::Unauthenticated, "{refused}");
        assert!(refused.message().contains("was used before"), "{refused}");
        open.push(one);
    }
}

#[tokio::test]
async fn a_wrong_token_opens_no_channel_and_uses_nothing_up() {
    let (_database, hub) = hub().await;
    let mut caller = Caller::dial(&hub).await;
    let welcome = caller.register(registration("agent-a")).await.unwrap();
    let session = welcome.session.as_str();
    let random = ChannelToken::new(std::array::from_fn(|_| fastrand::u8(..))).to_metadata();
    for channel in CHANNELS {
        let not_its_own = format!("this is not the {channel} token of session {session}");
        assert_eq!(caller.refused(channel, session, &random).await, not_its_own);
        for other in CHANNELS.into_iter().filter(|other| *other != channel) {
            let theirs = token(other, &welcome);
            assert_eq!(caller.refused(channel, session, &theirs).await, not_its_own, "{other}");
        }
        let mine = token(channel, &welcome);
        for (session, token, says) in [
            (session, "0123", "spindrift-token: expected 64 hexadecimal digits"),
            (session, "", "metadata spindrift-token is missing"),
            ("", &*mine, "metadata spindrift-session is missing"),
            ("nobody", &*mine, "session nobody is not known: register again"),
        ] {
            assert_eq!(caller.refused(channel, session, token).await, says);
        }
    }
    let mut open = Vec::new();
    for channel in CHANNELS {
        open.push(caller.open_rightly(channel, &welcome).await.unwrap());
    }
}

#[tokio::test]
async fn an_expired_token_opens_no_channel() {
    let database = Database::mariadb().await.unwrap();
    let hub = HubProcess::start("hub-a", &database, &[]).await.unwrap();
    let mut caller = Caller::dial(&hub).await;
    let welcome = caller.register(registration("agent-a")).await.unwrap();
    let session = welcome.session.as_str();
    database.execute("UPDATE spindrift_session SET tokens_expire_at = 1").await.unwrap();
    for channel in CHANNELS {
        let message = caller.refused(channel, session, &token(channel, &welcome)).await;
        let expected = format!("the {channel} token of session {session} has expired: register again");
        assert_eq!(message, expected, "{}", database.engine());
    }
}

#[tokio::test]
async fn another_sessions_token_opens_no_channel() {
    let (_database, hub) = hub().await;
    let mut caller = Caller::dial(&hub).await;
    let mine = caller.register(registration("agent-a")).await.unwrap();
    let theirs = caller.register(registration("agent-b")).await.unwrap();
    let mut open = Vec::new();
    for channel in CHANNELS {
        let message = caller.refused(channel, mine.session.as_str(), &token(channel, &theirs)).await;
        assert_eq!(message, format!("this is not the {channel} token of session {}", mine.session));
        open.push(caller.open_rightly(channel, &theirs).await.unwrap());
    }
}

#[tokio::test]
async fn a_new_session_of_an_agent_ends_its_old_one() {
    let (_database, hub) = hub().await;
    let mut caller = Caller::dial(&hub).await;
    let old = caller.register(registration("agent-a")).await.unwrap();
    let mut control = caller.control(old.session.as_str(), &token(Channel::Control, &old)).await.unwrap();
    let bystander = caller.register(registration("agent-b")).await.unwrap();
    let new = caller.register(registration("agent-a")).await.unwrap();

    let told = timeout(PATIENCE, control.message()).await.expect("it is told").unwrap().unwrap();
    let ControlDown::Disconnect { reason, .. } = ControlDown::try_from(told).unwrap() else {
        panic!("a Disconnect was expected");
    };
    assert!(!reason.is_empty());
    let end = timeout(PATIENCE, control.message()).await.expect("the channel ends").unwrap();
    assert_eq!(end, None);
    for channel in CHANNELS {
        let message = caller.refused(channel, old.session.as_str(), &token(channel, &old)).await;
        assert_eq!(message, format!("session {} is over: register again", old.session));
    }
    let mut open = Vec::new();
    for welcome in [&new, &bystander] {
        for channel in CHANNELS {
            open.push(caller.open_rightly(channel, welcome).await.unwrap());
        }
    }
}

#[tokio::test]
async fn channels_without_a_control_channel_end() {
    let (_database, hub) = hub().await;
    let mut caller = Caller::dial(&hub).await;
    let welcome = caller.register(registration("agent-a")).await.unwrap();
    let session = welcome.session.as_str();
    let events: Request<tokio_stream::Pending<v1::EventsUp>> =
        request(session, &token(Channel::Events, &welcome));
    let mut events = caller.client.events(events).await.unwrap().into_inner();
    // Three missed heartbeats, seen three times.
    let end = timeout(2 * PATIENCE, events.message()).await.expect("the channel ends").unwrap();
    assert_eq!(end, None);
    let message = caller.refused(Channel::Control, session, &token(Channel::Control, &welcome)).await;
    assert!(message.contains("register again"), "{message}");
}

#[tokio::test]
async fn a_registration_without_a_common_version_is_refused_by_naming_both() {
    let (_database, hub) = hub().await;
    let mut caller = Caller::dial(&hub).await;
    let future = v1::RegisterRequest { protocol_min: 3, protocol_max: 4, ..registration("agent-a") };
    let status = caller.register(future).await.unwrap_err();
    assert_eq!(status.code(), Code::FailedPrecondition);
    for part in ["agent (7.8.9) speaks 3 to 4", "hub (0.1.0) speaks 1 to 1"] {
        assert!(status.message().contains(part), "{status}");
    }
    let newer = v1::RegisterRequest { protocol_max: 4, ..registration("agent-a") };
    assert_eq!(caller.register(newer).await.unwrap().protocol, 1);
}

#[tokio::test]
async fn an_invalid_registration_names_the_field() {
    let (_database, hub) = hub().await;
    let mut caller = Caller::dial(&hub).await;
    let account = |name: &str, host: &str| v1::Account {
        name: name.into(),
        host: host.into(),
        properties: json!({}).to_string(),
        ..v1::Account::default()
    };
    let good = registration("agent-a");
    let cases = [
        ("agent_id: ", v1::RegisterRequest { agent_id: String::new(), ..good.clone() }),
        ("incarnation: ", v1::RegisterRequest { incarnation: "second".into(), ..good.clone() }),
        ("protocol_min: ", v1::RegisterRequest { protocol_min: 2, ..good.clone() }),
        (
            "accounts[1].name: ",
            v1::RegisterRequest { accounts: vec![account("a", "h"), account("b\n", "h")], ..good.clone() },
        ),
        ("accounts[0].host: ", v1::RegisterRequest { accounts: vec![account("a", "")], ..good.clone() }),
    ];
    for (field, request) in cases {
        let status = caller.register(request).await.unwrap_err();
        assert_eq!(status.code(), Code::InvalidArgument, "{status}");
        assert!(status.message().starts_with(field), "{field} is not named: {status}");
    }
    let welcome = caller.register(good).await.unwrap();
    assert_eq!(welcome.hub.as_str(), "hub-a");
    assert_eq!(hub.get("/v1/accounts").await.unwrap(), json!([]), "nothing of the refused ones was kept");
}
