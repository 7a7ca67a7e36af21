//! An account whose caching panics. No input is known that makes it panic, so the test brings a task of its own.

use std::future::pending;

use prometheus_client::registry::Registry;
use spindrift_model::{AgentId, Incarnation};
use spindrift_testkit::{AgentMessage, HubScript, ScriptedHub};
use tokio::sync::watch;

use super::*;
use crate::{
    accounts::Accounts,
    config::{AgentConfig, Clouddriver},
    metrics::Metrics,
    operate::Executor,
    status::{AccountState, AgentStatus},
    testing,
    uplink::{Bearer, Dialer},
};

/// An uplink with these accounts to a hub.
async fn uplink(hub: &ScriptedHub, names: &[&str]) -> Uplink {
    let status = AgentStatus::default();
    let mut accounts = Accounts::new();
    for name in names {
        status.configured(name);
        let account = testing::account(name).await;
        accounts.insert(account.description.name.clone(), Arc::new(account));
    }
    let ready_rx = watch::channel(accounts).1;
    let metrics = Arc::new(Metrics::register(&mut Registry::default(), status.clone()));
    Uplink {
        dialer: Dialer::new(hub.addr().to_string(), None),
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
    }
}

#[tokio::test]
async fn an_account_whose_caching_panics_is_withdrawn_and_announced_again_and_the_session_continues() {
    let mut hub = ScriptedHub::start(HubScript::default()).await.unwrap();
    let uplink = uplink(&hub, &["bad", "steady"]).await;
    let [bad, steady] = ["bad", "steady"].map(|name| AccountName::parse(name).unwrap());
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
    assert_eq!(hub.next().await, Some(AgentMessage::Register(Vec::new())));
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
    for name in [bad.clone(), steady] {
        let served = ServedAccount { down_tx: mpsc::unbounded_channel().0, stop: CancellationToken::new() };
        session.accounts.insert(name.clone(), served);
        session.caching.start(name.clone(), async move {
            assert!(name.as_str() != "bad", "a bug");
            pending::<()>().await;
        });
    }

    let state = |index: usize| uplink.status.accounts().remove(index).state;
    let expected = async {
        assert_eq!(hub.next().await, Some(AgentMessage::Withdraw(bad.clone())));
        let shown = state(0);
        assert_eq!(shown.name, AccountState::DiscoveryError);
        assert_eq!(shown.error.unwrap(), "caching panicked and is restarted: a bug");
        assert_eq!(hub.next().await, Some(AgentMessage::Announce(vec![bad.clone()])));
        assert_eq!(hub.next().await, Some(AgentMessage::Attach(bad)), "it is served by a task of its own");
        assert_eq!(state(0).name, AccountState::Healthy);
    };
    let shutdown = Shutdown::new();
    tokio::select! {
        ended = session.serve(&shutdown) => panic!("{}", ended.reason),
        () = expected => {}
    }
    assert_eq!(session.accounts.len(), 2, "the other account is not affected");
}
