//! An agent that is played by the test, message by message.

use std::{collections::HashMap, time::Duration};

use spindrift_model::{
    AccountDescription, AccountName, Attachment, Batch, ClusterIdentity, Cursor, Declaration, Generation,
    Item, Resource, ScopeDeclaration, ScopeId, ScrubRevision, Upsert,
};
use spindrift_protocol::{
    ControlDown, ControlUp, Cutter, EventsDown, EventsUp, SESSION_METADATA, TOKEN_METADATA, Welcome,
    v1::{self, hub_client::HubClient},
};
use spindrift_testkit::{HubProcess, PATIENCE};
use tokio::{sync::mpsc, task::JoinSet, time::timeout};
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status, Streaming, transport};

use crate::channels::{Caller, registration};

/// The scope that [`ScriptedAgent::declare`] declares.
pub(crate) const SCOPE: ScopeId = ScopeId(1);

/// The one listing of a scope.
pub(crate) const LISTING: Generation = Generation(1);

/// A session with both channels open; it sends nothing but pings by itself.
pub(crate) struct ScriptedAgent {
    control_tx: mpsc::Sender<v1::ControlUp>,
    control: Streaming<v1::ControlDown>,
    up_tx: mpsc::Sender<v1::EventsUp>,
    answer: Response<Streaming<v1::EventsDown>>,
    /// Where the next batch of each account goes.
    cursors: HashMap<AccountName, Cursor>,
    _pings: JoinSet<()>,
}

// === impl ScriptedAgent ===

impl ScriptedAgent {
    /// Registers with these accounts and opens the channels.
    pub(crate) async fn open(
        hub: &HubProcess,
        agent: &str,
        accounts: &[&str],
        metadata: &[(&'static str, &str)],
    ) -> Self {
        let account = |name: &&str| v1::Account {
            name: (*name).into(),
            host: "nowhere".into(),
            ..v1::Account::default()
        };
        let accounts = accounts.iter().map(account).collect();
        let request = v1::RegisterRequest { accounts, ..registration(agent) };
        let welcome = Caller::dial(hub).await.register(request).await.unwrap();
        let mut client = HubClient::connect(format!("http://{}", hub.grpc())).await.unwrap();
        let (control_tx, control) = Self::control(&mut client, &welcome).await;
        let (up_tx, up_rx) = mpsc::channel(8);
        let token = welcome.tokens.events.to_metadata();
        let request = request_of(up_rx, &welcome, &token, metadata);
        let answer = client.events(request).await.unwrap();
        let mut pings = JoinSet::new();
        pings.spawn(ping(control_tx.clone()));
        Self { control_tx, control, up_tx, answer, cursors: HashMap::new(), _pings: pings }
    }

    async fn control(
        client: &mut HubClient<transport::Channel>,
        welcome: &Welcome,
    ) -> (mpsc::Sender<v1::ControlUp>, Streaming<v1::ControlDown>) {
        let (control_tx, control_rx) = mpsc::channel(8);
        let token = welcome.tokens.control.to_metadata();
        let request = request_of(control_rx, welcome, &token, &[]);
        (control_tx, client.control(request).await.unwrap().into_inner())
    }

    /// Metadata of the hub's answer when the Events channel was opened.
    pub(crate) fn metadata_of_answer(&self, name: &str) -> Option<&str> {
        self.answer.metadata().get(name).map(|value| value.to_str().unwrap())
    }

    /// Sends one frame as it is.
    pub(crate) async fn frame(&mut self, frame: v1::EventsUp) -> Result<Option<v1::EventsDown>, Status> {
        self.up_tx.send(frame).await.unwrap();
        timeout(PATIENCE, self.answer.get_mut().message()).await.expect("an answer")
    }

    pub(crate) async fn say(&mut self, message: EventsUp) {
        for frame in Cutter::new(None).cut(&message.into()) {
            self.up_tx.send(frame).await.unwrap();
        }
    }

    pub(crate) async fn hear(&mut self) -> EventsDown {
        let message = timeout(PATIENCE, self.answer.get_mut().message()).await.expect("an answer");
        EventsDown::try_from(message.unwrap().unwrap()).unwrap()
    }

    /// Attaches an account; returns the attachment and its credit, or why there is none. Messages about an attachment
    /// that is over are skipped.
    pub(crate) async fn attach(&mut self, account: &str) -> Result<(Attachment, u32), String> {
        self.say(EventsUp::Attach(name(account))).await;
        loop {
            match self.hear().await {
                EventsDown::Attached { account, attachment, credit_bytes } => {
                    self.cursors.insert(account, attachment.cursor);
                    return Ok((attachment, credit_bytes));
                }
                EventsDown::NotAttached { reason, .. } => return Err(reason),
                EventsDown::Ack { .. }
                | EventsDown::Detached { .. }
                | EventsDown::Fingerprints { .. }
                | EventsDown::Heartbeat => {}
            }
        }
    }

    /// Sends the account's next batch.
    pub(crate) async fn batch(&mut self, account: &str, items: Vec<Item>) {
        let account = name(account);
        let next = self.cursors.get_mut(&account).unwrap();
        let cursor = *next;
        next.seq = next.seq.next();
        self.say(EventsUp::Batch(Batch { account, cursor, items })).await;
    }

    pub(crate) async fn detach(&mut self, account: &str) {
        self.say(EventsUp::Detach(name(account))).await;
    }

    pub(crate) async fn withdraw(&mut self, account: &str) {
        self.control_tx.send(ControlUp::Withdraw(name(account)).into()).await.unwrap();
    }

    /// Announces an account; gives why it is refused, if so.
    pub(crate) async fn announce(&mut self, account: &str) -> Option<String> {
        let description = AccountDescription {
            name: name(account),
            cluster: ClusterIdentity { uid: None, ca_fingerprint: None, host: "nowhere".into() },
            kubernetes_version: String::new(),
            namespaces: Vec::new(),
            properties: String::new(),
            max_resumable_age: Duration::ZERO,
        };
        self.control_tx.send(ControlUp::Announce(vec![description]).into()).await.unwrap();
        loop {
            let message = timeout(PATIENCE, self.control.message()).await.expect("an answer");
            match ControlDown::try_from(message.unwrap().unwrap()).unwrap() {
                ControlDown::Verdict(verdict) => return verdict.refused,
                ControlDown::Pong { .. } => {}
                other => panic!("{other:?}"),
            }
        }
    }
}

/// A session lives as long as its pings come.
async fn ping(control_tx: mpsc::Sender<v1::ControlUp>) {
    for nonce in 0.. {
        if control_tx.send(ControlUp::Ping { nonce }.into()).await.is_err() {
            return;
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

fn request_of<T: Send + 'static>(
    messages_rx: mpsc::Receiver<T>,
    welcome: &Welcome,
    token: &str,
    metadata: &[(&'static str, &str)],
) -> Request<ReceiverStream<T>> {
    let mut request = Request::new(ReceiverStream::new(messages_rx));
    let own = [(SESSION_METADATA, welcome.session.as_str()), (TOKEN_METADATA, token)];
    for (name, value) in own.iter().chain(metadata) {
        request.metadata_mut().insert(*name, value.parse().unwrap());
    }
    request
}

pub(crate) fn name(account: &str) -> AccountName {
    AccountName::parse(account).unwrap()
}

/// Declares ConfigMaps of all namespaces and begins to list them.
pub(crate) fn beginning() -> Vec<Item> {
    let resource = Resource {
        group: "".into(),
        version: "v1".into(),
        kind: "ConfigMap".into(),
        plural: "configmaps".into(),
        namespaced: true,
    };
    let declared =
        ScopeDeclaration { id: SCOPE, resource, namespace: None, scrub_revision: ScrubRevision(0) };
    let declaration = Declaration { scopes: vec![declared], ..Declaration::default() };
    vec![Item::Declare(declaration), Item::Begin { scope: SCOPE, generation: LISTING }]
}

/// A ConfigMap of about so many bytes.
pub(crate) fn config_map(name: &str, bytes: usize) -> Item {
    let body = format!("{{\"data\":{{\"x\":\"{}\"}}}}", "x".repeat(bytes));
    Item::Upsert(Upsert {
        scope: SCOPE,
        namespace: "default".into(),
        name: name.into(),
        uid: name.into(),
        resource_version: "1".into(),
        body: body.into_bytes().into(),
    })
}
