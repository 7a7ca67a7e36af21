//! An agent that sends invalid messages about one account among others.

use spindrift_model::{AccountName, Batch, Cursor, Declaration, Item};
use spindrift_protocol::{
    Cutter, EventsDown, EventsUp, SESSION_METADATA, TOKEN_METADATA,
    v1::{self, hub_client::HubClient},
};
use spindrift_testkit::{Database, HubProcess, PATIENCE};
use tokio::{sync::mpsc, time::timeout};
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Streaming};

use crate::channels::{Caller, registration};

/// An Events channel whose messages the test sends.
struct Speaker {
    up_tx: mpsc::Sender<v1::EventsUp>,
    down: Streaming<v1::EventsDown>,
}

// === impl Speaker ===

impl Speaker {
    async fn open(hub: &HubProcess, accounts: &[&str]) -> Self {
        let account = |name: &&str| v1::Account {
            name: (*name).into(),
            host: "nowhere".into(),
            ..v1::Account::default()
        };
        let accounts = accounts.iter().map(account).collect();
        let request = v1::RegisterRequest { accounts, ..registration("speaker") };
        let welcome = Caller::dial(hub).await.register(request).await.unwrap();
        let mut client = HubClient::connect(format!("http://{}", hub.grpc())).await.unwrap();
        let (up_tx, up_rx) = mpsc::channel(8);
        let mut request = Request::new(ReceiverStream::new(up_rx));
        let token = welcome.tokens.events.to_metadata();
        for (name, value) in [(SESSION_METADATA, welcome.session.as_str()), (TOKEN_METADATA, &token)] {
            request.metadata_mut().insert(name, value.parse().unwrap());
        }
        Self { up_tx, down: client.events(request).await.unwrap().into_inner() }
    }

    async fn ask(&mut self, message: v1::EventsMessage) -> EventsDown {
        for frame in Cutter::new(None).cut(&message) {
            self.up_tx.send(frame).await.unwrap();
        }
        let answer = timeout(PATIENCE, self.down.message()).await.expect("an answer");
        EventsDown::try_from(answer.expect("the channel is open").unwrap()).unwrap()
    }

    async fn attach(&mut self, account: &str) -> Cursor {
        let account = AccountName::parse(account).unwrap();
        match self.ask(EventsUp::Attach(account).into()).await {
            EventsDown::Attached { attachment, .. } => attachment.cursor,
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn a_batch_that_makes_no_sense_detaches_its_account_and_no_other() {
    let database = Database::sqlite().unwrap();
    let hub = HubProcess::start("hub-a", &database, &[]).await.unwrap();
    let mut agent = Speaker::open(&hub, &["odd", "even"]).await;
    let (odd, even) = (agent.attach("odd").await, agent.attach("even").await);

    let nameless =
        v1::Delete { scope: 1, name: "x".into(), resource_version: "1".into(), ..v1::Delete::default() };
    let items = vec![v1::Item { item: Some(v1::item::Item::Delete(nameless)) }];
    let batch = v1::Batch { account: "odd".into(), epoch: odd.epoch.0, seq: odd.seq.0, items };
    let message = v1::EventsMessage { message: Some(v1::events_message::Message::Batch(batch)) };
    let EventsDown::Detached { account, reason, .. } = agent.ask(message).await else { panic!("detached") };
    assert_eq!((account.as_str(), &*reason), ("odd", "batch.items[0].delete.uid: is missing"));

    let account = AccountName::parse("even").unwrap();
    let items = vec![Item::Declare(Declaration::default())];
    let answer = agent.ask(EventsUp::Batch(Batch { account, cursor: even, items }).into()).await;
    assert!(matches!(answer, EventsDown::Ack { cursor, .. } if cursor == even), "{answer:?}");
    assert!(agent.attach("odd").await.epoch > odd.epoch, "it may begin again");
}
