//! An account whose caching panics. No input is known that makes it panic, so the test brings a task of its own.

use std::{future::pending, pin::Pin};

use futures::{Stream, StreamExt, stream};
use prometheus_client::registry::Registry;
use spindrift_model::{AgentId, CacheKinds, HubId, Incarnation, SessionId};
use spindrift_protocol::{
    Assembler, ChannelToken, ChannelTokens, EventsUp, Pacing, Verdict,
    v1::{self, hub_server},
};
use tokio::{net::TcpListener, sync::watch};
use tokio_stream::wrappers::TcpListenerStream;
use tonic::{Request, Response, Streaming, transport::Server};

use super::*;
use crate::{
    accounts::Accounts,
    config::{AgentConfig, Clouddriver},
    metrics::Metrics,
    operate::Executor,
    status::{AccountState, AgentStatus},
    testing,
    uplink::{Bearer, Dialer, Link},
};

/// A hub that accepts every account, and passes on the messages it receives.
struct Hub {
    received_tx: mpsc::UnboundedSender<Received>,
}

#[derive(Debug, PartialEq)]
enum Received {
    Withdraw(String),
    Announce(Vec<String>),
    Attach(String),
}

type Down<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

#[tonic::async_trait]
impl hub_server::Hub for Hub {
    async fn register(
        &self,
        _: Request<v1::RegisterRequest>,
    ) -> Result<Response<v1::RegisterResponse>, Status> {
        let token = || ChannelToken::new([7; 32]);
        let welcome = Welcome {
            session: SessionId::parse("session").unwrap(),
            protocol: 1,
            hub: HubId::parse("hub").unwrap(),
            hub_version: "0".into(),
            tokens: ChannelTokens { control: token(), events: token(), results: token() },
            kinds: CacheKinds::default(),
            pacing: Pacing { heartbeat: Duration::from_secs(1), batch_bytes: 1000 },
            accounts: Vec::new(),
            takes_unavailable: false,
        };
        Ok(Response::new(welcome.into()))
    }

    type ControlStream = Down<v1::ControlDown>;
    async fn control(
        &self,
        request: Request<Streaming<v1::ControlUp>>,
    ) -> Result<Response<Down<v1::ControlDown>>, Status> {
        let received_tx = self.received_tx.clone();
        let answers = request.into_inner().flat_map(move |message| {
            let answers = match ControlUp::try_from(message.unwrap()).unwrap() {
                ControlUp::Ping { nonce } => vec![ControlDown::Pong { nonce }],
                ControlUp::Withdraw(name) => {
                    received_tx.send(Received::Withdraw(name.to_string())).unwrap();
                    Vec::new()
                }
                ControlUp::Unavailable(_) => Vec::new(),
                ControlUp::Announce(accounts) => {
                    let names = accounts.iter().map(|account| account.name.to_string());
                    received_tx.send(Received::Announce(names.collect())).unwrap();
                    let accept =
                        |account: AccountName| Verdict { account, refused: None, only_managed: false };
                    accounts.into_iter().map(|account| ControlDown::Verdict(accept(account.name))).collect()
                }
            };
            stream::iter(answers.into_iter().map(|answer| Ok(answer.into())))
        });
        Ok(Response::new(answers.boxed()))
    }

    type EventsStream = Down<v1::EventsDown>;
    async fn events(
        &self,
        request: Request<Streaming<v1::EventsUp>>,
    ) -> Result<Response<Down<v1::EventsDown>>, Status> {
        let (received_tx, mut assembler) = (self.received_tx.clone(), Assembler::new(None));
        let no_answer = request.into_inner().filter_map(move |frame| {
            let message = assembler.push(frame.unwrap()).unwrap();
            if let Some(Ok(EventsUp::Attach(name))) = message.map(EventsUp::try_from) {
                received_tx.send(Received::Attach(name.to_string())).unwrap();
            }
            std::future::ready(None)
        });
        Ok(Response::new(no_answer.boxed()))
    }

    type ResultsStream = Down<v1::ResultsDown>;
    async fn results(
        &self,
        _: Request<Streaming<v1::ResultsUp>>,
    ) -> Result<Response<Down<v1::ResultsDown>>, Status> {
        Ok(Response::new(stream::pending().boxed()))
    }
}

/// An uplink with these accounts, and the messages that its hub receives.
async fn uplink(names: &[&str]) -> (Uplink, mpsc::UnboundedReceiver<Received>, tokio::task::JoinSet<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (received_tx, received_rx) = mpsc::unbounded_channel();
    let mut tasks = tokio::task::JoinSet::new();
    let server = Server::builder().add_service(hub_server::HubServer::new(Hub { received_tx }));
    tasks.spawn(async move { server.serve_with_incoming(TcpListenerStream::new(listener)).await.unwrap() });
    let status = AgentStatus::default();
    let mut accounts = Accounts::new();
    for name in names {
        status.configured(name);
        let account = testing::account(name).await;
        accounts.insert(account.description.name.clone(), Arc::new(account));
    }
    let ready_rx = watch::channel(accounts).1;
    let metrics = Arc::new(Metrics::register(&mut Registry::default(), status.clone()));
    let uplink = Uplink {
        dialer: Dialer::new(address.to_string(), None),
        bearer: Bearer::default(),
        config: Clouddriver::default(),
        min_pause: None,
        agent: AgentId::parse("agent").unwrap(),
        incarnation: Incarnation::fresh(),
        zone: String::new(),
        executor: Executor::new(&AgentConfig::default(), ready_rx.clone(), metrics.clone(), &Shutdown::new()),
        attached_tx: mpsc::channel(1).0,
        ready_rx,
        metrics,
        status,
        link_tx: watch::channel(Link::default()).0,
    };
    (uplink, received_rx, tasks)
}

#[tokio::test]
async fn an_account_whose_caching_panics_is_withdrawn_and_announced_again_and_the_session_continues() {
    let (uplink, mut received_rx, _tasks) = uplink(&["bad", "steady"]).await;
    let registration = Registration {
        agent: uplink.agent.clone(),
        incarnation: uplink.incarnation,
        version: String::new(),
        protocol: SUPPORTED,
        zone: String::new(),
        accounts: Vec::new(),
        verbs: Vec::new(),
    };
    let (welcome, channels) = Channels::open(&uplink, registration).await.unwrap();
    let mut session = Session {
        uplink: &uplink,
        welcome,
        channels,
        control_queue: VecDeque::new(),
        pinged: (0, Instant::now()),
        announced: uplink.ready_rx.borrow().clone().into_iter().collect(),
        refused: HashMap::new(),
        accounts: HashMap::new(),
        caching: Supervisor::new(),
        namespaces: mpsc::channel(NAMESPACE_UPDATES),
        operations: Operations::default(),
        last_received: Instant::now(),
    };
    for name in ["bad", "steady"].map(|name| AccountName::parse(name).unwrap()) {
        let served = ServedAccount { down_tx: mpsc::unbounded_channel().0, stop: CancellationToken::new() };
        session.accounts.insert(name.clone(), served);
        session.caching.start(name.clone(), async move {
            assert!(name.as_str() != "bad", "a bug");
            pending::<()>().await;
        });
    }

    let state = |index: usize| uplink.status.accounts().remove(index).state;
    let expected = async {
        assert_eq!(received_rx.recv().await, Some(Received::Withdraw("bad".into())));
        let shown = state(0);
        assert_eq!(shown.name, AccountState::DiscoveryError);
        assert_eq!(shown.error.unwrap(), "caching panicked and is restarted: a bug");
        assert_eq!(received_rx.recv().await, Some(Received::Announce(vec!["bad".into()])));
        assert_eq!(
            received_rx.recv().await,
            Some(Received::Attach("bad".into())),
            "it is served by a task of its own"
        );
        assert_eq!(state(0).name, AccountState::Healthy);
    };
    let shutdown = Shutdown::new();
    tokio::select! {
        ended = session.serve(&shutdown) => panic!("{}", ended.reason),
        () = expected => {}
    }
    assert_eq!(session.accounts.len(), 2, "the other account is not affected");
}
