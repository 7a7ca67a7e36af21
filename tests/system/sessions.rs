//! A session as the agent keeps it: one for each registration, alive by pings.

use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures::{Stream, StreamExt, future, stream};
use serde_json::json;
use spindrift_model::{CacheKinds, HubId, SessionId};
use spindrift_protocol::{
    Assembler, ChannelToken, ChannelTokens, ControlDown, ControlUp, EventsUp, Pacing, Registration, Verdict,
    Welcome,
    v1::{self, hub_server},
};
use spindrift_testkit::{AgentProcess, Cluster, Database, HubProcess, eventually};
use tokio::{net::TcpListener, task::JoinSet};
use tokio_stream::wrappers::TcpListenerStream;
use tonic::{Request, Response, Status, Streaming, transport::Server};

use crate::support::{LONG, account};

/// A hub that says everything twice, and never answers an attach.
#[derive(Clone, Default)]
struct Stutterer {
    registrations: Arc<AtomicUsize>,
    pings: Arc<AtomicUsize>,
    attaches: Arc<AtomicUsize>,
}

type Down<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

// === impl Stutterer ===

impl Stutterer {
    fn verdicts(registration: &Registration) -> Vec<Verdict> {
        let accounts = registration.accounts.iter();
        accounts.map(|account| Verdict { account: account.name.clone(), refused: None }).collect()
    }
}

#[tonic::async_trait]
impl hub_server::Hub for Stutterer {
    async fn register(
        &self,
        request: Request<v1::RegisterRequest>,
    ) -> Result<Response<v1::RegisterResponse>, Status> {
        self.registrations.fetch_add(1, Ordering::Relaxed);
        let verdicts = Self::verdicts(&Registration::try_from(request.into_inner()).unwrap());
        let token = || ChannelToken::new(std::array::from_fn(|_| fastrand::u8(..)));
        let welcome = Welcome {
            session: SessionId::parse("stutter").unwrap(),
            protocol: 1,
            hub: HubId::parse("stutterer").unwrap(),
            hub_version: "0".into(),
            tokens: ChannelTokens { control: token(), events: token(), results: token() },
            kinds: CacheKinds::default(),
            pacing: Pacing { heartbeat: Duration::from_millis(100), batch_bytes: 1000 },
            accounts: [verdicts.clone(), verdicts].concat(),
        };
        Ok(Response::new(welcome.into()))
    }

    type ControlStream = Down<v1::ControlDown>;
    async fn control(
        &self,
        request: Request<Streaming<v1::ControlUp>>,
    ) -> Result<Response<Down<v1::ControlDown>>, Status> {
        let pings = self.pings.clone();
        let answers = request.into_inner().flat_map(move |message| {
            let ControlUp::Ping { nonce } = ControlUp::try_from(message.unwrap()).unwrap() else {
                panic!("nothing has changed")
            };
            pings.fetch_add(1, Ordering::Relaxed);
            let account = crate::by_hand::name("main");
            let again = ControlDown::Verdict(Verdict { account, refused: None });
            stream::iter([ControlDown::Pong { nonce }, again.clone(), again].map(|down| Ok(down.into())))
        });
        Ok(Response::new(answers.boxed()))
    }

    type EventsStream = Down<v1::EventsDown>;
    async fn events(
        &self,
        request: Request<Streaming<v1::EventsUp>>,
    ) -> Result<Response<Down<v1::EventsDown>>, Status> {
        let (mut assembler, attaches) = (Assembler::new(None), self.attaches.clone());
        let silence = request.into_inner().filter_map(move |frame| {
            let message = assembler.push(frame.unwrap()).unwrap();
            if let Some(Ok(EventsUp::Attach(_))) = message.map(EventsUp::try_from) {
                attaches.fetch_add(1, Ordering::Relaxed);
            }
            future::ready(None)
        });
        Ok(Response::new(silence.boxed()))
    }

    type ResultsStream = Down<v1::ResultsDown>;
    async fn results(
        &self,
        _: Request<Streaming<v1::ResultsUp>>,
    ) -> Result<Response<Down<v1::ResultsDown>>, Status> {
        Ok(Response::new(stream::pending().boxed()))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn several_answers_to_one_registration_start_an_account_once() {
    let cluster = Cluster::shared().await.unwrap();
    let hub = Stutterer::default();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let mut tasks = JoinSet::new();
    let service = Server::builder().add_service(hub_server::HubServer::new(hub.clone()));
    tasks.spawn(service.serve_with_incoming(TcpListenerStream::new(listener)));
    let agent = AgentProcess::start("agent-a", address, &json!([account("main", cluster)])).unwrap();
    let of = |counter: &AtomicUsize| counter.load(Ordering::Relaxed);
    eventually!("the account is attached", LONG, of(&hub.attaches) > 0);
    let pings = of(&hub.pings);
    eventually!("the session lives", LONG, of(&hub.pings) >= pings + 10);
    assert_eq!((of(&hub.registrations), of(&hub.attaches)), (1, 1));
    assert_eq!(agent.daemon().log().matches("starting agentCreator main").count(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_keep_alive_of_zero_leaves_the_pace_of_pings_to_the_hub() {
    let cluster = Cluster::shared().await.unwrap();
    let database = Database::sqlite().unwrap();
    let hub = HubProcess::start("hub-a", &database, &[]).await.unwrap();
    let settings = json!({
        "clouddriver": { "grpc": hub.grpc(), "keepAliveHeartbeatSeconds": 0, "keepAliveTimeOutSeconds": 0 },
        "kubernetes": { "accounts": [account("main", cluster)] },
        "logging": { "level": "debug" },
    });
    let agent = AgentProcess::with_settings("agent-a", settings).unwrap();
    // More than the three whose absence would end the session.
    eventually!("pings go on", LONG, agent.daemon().log().matches("msg=pong").count() > 4);
    let connections = agent.metric("kubesvc_connection_count").await.unwrap();
    assert_eq!(connections, 1, "the session is the first one");
}
