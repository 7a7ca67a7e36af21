//! A hub that follows a script, for tests of the agent's side of a session.
//!
//! It accepts every account that is registered or announced, answers pings, and never answers an attach. The test
//! receives the agent's messages. Like hubs of 0.1 it has no heartbeats but those of the Control channel, and ends a
//! channel on which it receives one.

use std::net::SocketAddr;
use std::pin::Pin;
use std::time::Duration;

use anyhow::Context;
use futures::{Stream, StreamExt, future, stream};
use spindrift_model::{AccountName, CacheKinds, HubId, SessionId};
use spindrift_protocol::v1::{self, hub_server};
use spindrift_protocol::{
    Assembler, ChannelToken, ChannelTokens, ControlDown, ControlUp, EventsUp, Pacing, Registration, Verdict,
    Welcome,
};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::transport::Server;
use tonic::{Request, Response, Status, Streaming};

/// A running scripted hub; dropping it closes everything.
pub struct ScriptedHub {
    addr: SocketAddr,
    received_rx: mpsc::UnboundedReceiver<AgentMessage>,
    _server: JoinSet<()>,
}

/// The choices that a script has.
#[derive(Debug, Clone)]
pub struct HubScript {
    /// Interval of pings that the agent is given.
    pub heartbeat: Duration,
    /// Number of times that the hub accepts each account of a registration: in its answer, and after every ping.
    pub repeats: usize,
}

/// A message of the agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentMessage {
    Register(Vec<AccountName>),
    Ping,
    Withdraw(AccountName),
    Announce(Vec<AccountName>),
    Attach(AccountName),
}

struct Service {
    script: HubScript,
    registered: parking_lot::Mutex<Vec<AccountName>>,
    received_tx: mpsc::UnboundedSender<AgentMessage>,
}

type Down<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

// === impl HubScript ===

impl Default for HubScript {
    fn default() -> Self {
        Self { heartbeat: Duration::from_secs(1), repeats: 1 }
    }
}

// === impl ScriptedHub ===

impl ScriptedHub {
    /// Starts the hub on a free port.
    pub async fn start(script: HubScript) -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await.context("listen for the scripted hub")?;
        let addr = listener.local_addr().context("address of the scripted hub")?;
        let (received_tx, received_rx) = mpsc::unbounded_channel();
        let service = Service { script, registered: parking_lot::Mutex::default(), received_tx };
        let server = Server::builder().add_service(hub_server::HubServer::new(service));
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            server
                .serve_with_incoming(TcpListenerStream::new(listener))
                .await
                .expect("a bound listener serves");
        });
        Ok(Self { addr, received_rx, _server: tasks })
    }

    /// Address for agents.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Waits for the next message of the agent, pings excepted.
    pub async fn next(&mut self) -> Option<AgentMessage> {
        loop {
            match self.received_rx.recv().await? {
                AgentMessage::Ping => {}
                message => return Some(message),
            }
        }
    }

    /// Waits for the next message of the agent.
    pub async fn next_or_ping(&mut self) -> Option<AgentMessage> {
        self.received_rx.recv().await
    }
}

// === impl Service ===

impl Service {
    fn received(&self, message: AgentMessage) {
        // A test that has ended receives nothing.
        self.received_tx.send(message).ok();
    }

    fn verdicts(&self) -> Vec<Verdict> {
        let registered = self.registered.lock().clone();
        let verdicts = registered.into_iter().map(accepted);
        std::iter::repeat_n(verdicts.collect::<Vec<_>>(), self.script.repeats).flatten().collect()
    }
}

fn accepted(account: AccountName) -> Verdict {
    Verdict { account, refused: None, only_managed: false }
}

fn unexpected_heartbeat() -> Status {
    Status::invalid_argument("this hub has not offered to answer heartbeats")
}

fn invalid(error: impl std::fmt::Display) -> Status {
    Status::invalid_argument(error.to_string())
}

#[tonic::async_trait]
impl hub_server::Hub for Service {
    async fn register(
        &self,
        request: Request<v1::RegisterRequest>,
    ) -> Result<Response<v1::RegisterResponse>, Status> {
        let registration = Registration::try_from(request.into_inner()).map_err(invalid)?;
        let names: Vec<_> = registration.accounts.into_iter().map(|account| account.name).collect();
        self.registered.lock().clone_from(&names);
        self.received(AgentMessage::Register(names));
        let token = || ChannelToken::new(std::array::from_fn(|_| fastrand::u8(..)));
        let welcome = Welcome {
            session: SessionId::parse("scripted").map_err(invalid)?,
            protocol: 1,
            hub: HubId::parse("scripted").map_err(invalid)?,
            hub_version: "0".into(),
            tokens: ChannelTokens { control: token(), events: token(), results: token() },
            kinds: CacheKinds::default(),
            pacing: Pacing { heartbeat: self.script.heartbeat, batch_bytes: 1000 },
            accounts: self.verdicts(),
            takes_unavailable: false,
        };
        Ok(Response::new(welcome.into()))
    }

    type ControlStream = Down<v1::ControlDown>;
    async fn control(
        &self,
        request: Request<Streaming<v1::ControlUp>>,
    ) -> Result<Response<Down<v1::ControlDown>>, Status> {
        let (received_tx, verdicts) = (self.received_tx.clone(), self.verdicts());
        let answers = request.into_inner().flat_map(move |message| {
            let message = message.and_then(|message| ControlUp::try_from(message).map_err(invalid));
            let (received, answers) = match message {
                Err(status) => return stream::iter(vec![Err(status)]),
                Ok(ControlUp::Ping { nonce }) => {
                    let again = verdicts.iter().cloned().map(ControlDown::Verdict);
                    let answers = std::iter::once(ControlDown::Pong { nonce }).chain(again).collect();
                    (AgentMessage::Ping, answers)
                }
                Ok(ControlUp::Withdraw(name)) => (AgentMessage::Withdraw(name), Vec::new()),
                // It is sent only to hubs that take it.
                Ok(ControlUp::Unavailable(_)) => return stream::iter(vec![]),
                Ok(ControlUp::Announce(accounts)) => {
                    let names: Vec<_> = accounts.into_iter().map(|account| account.name).collect();
                    let accepted = names.iter().cloned().map(accepted).map(ControlDown::Verdict).collect();
                    (AgentMessage::Announce(names), accepted)
                }
            };
            received_tx.send(received).ok();
            stream::iter(answers.into_iter().map(|answer| Ok(answer.into())).collect::<Vec<_>>())
        });
        Ok(Response::new(answers.boxed()))
    }

    type EventsStream = Down<v1::EventsDown>;
    async fn events(
        &self,
        request: Request<Streaming<v1::EventsUp>>,
    ) -> Result<Response<Down<v1::EventsDown>>, Status> {
        let (received_tx, mut assembler) = (self.received_tx.clone(), Assembler::new(None));
        let faults = request.into_inner().filter_map(move |frame| {
            let message = frame
                .and_then(|frame| if frame.heartbeat { Err(unexpected_heartbeat()) } else { Ok(frame) })
                .and_then(|frame| assembler.push(frame).map_err(invalid))
                .and_then(|message| message.map(EventsUp::try_from).transpose().map_err(invalid));
            future::ready(match message {
                Ok(Some(EventsUp::Attach(name))) => {
                    received_tx.send(AgentMessage::Attach(name)).ok();
                    None
                }
                Ok(_) => None,
                Err(status) => Some(Err(status)),
            })
        });
        Ok(Response::new(faults.boxed()))
    }

    type ResultsStream = Down<v1::ResultsDown>;
    async fn results(
        &self,
        request: Request<Streaming<v1::ResultsUp>>,
    ) -> Result<Response<Down<v1::ResultsDown>>, Status> {
        let faults = request.into_inner().filter_map(|piece| {
            let is_heartbeat = piece.is_ok_and(|piece| piece.heartbeat);
            future::ready(is_heartbeat.then(|| Err(unexpected_heartbeat())))
        });
        Ok(Response::new(faults.boxed()))
    }
}
