//! One connection: its streams, the tasks that drive it, and its end.

use std::sync::{Arc, Weak};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper::{
    body::Incoming,
    client::conn::{http1, http2},
};
use parking_lot::Mutex;
use tokio::{sync::watch, task::JoinSet};

use super::{server::Server, stats::Counters};

/// A connection. It lives as long as the pool offers it or a stream is open on it; its tasks end with it.
pub(super) struct Connection {
    server: Arc<Server>,
    sender: Sender,
    /// How many streams may be open at once.
    most_streams: usize,
    streams_tx: watch::Sender<usize>,
    ending: Ending,
    counters: Arc<Counters>,
    _tasks: Tasks,
}

/// The hand that requests are given to.
pub(super) enum Sender {
    Http1(Mutex<http1::SendRequest<Full<Bytes>>>),
    Http2(http2::SendRequest<Full<Bytes>>),
}

/// The right to have one stream open on a connection.
pub(super) struct Slot {
    connection: Arc<Connection>,
    reused: Reused,
}

/// How a connection ended, if it broke. Who has a stream on it hears of it; who comes a moment too late does not.
pub(super) type Ending = Arc<Mutex<Option<hyper::Error>>>;

/// Whether a connection was there before somebody asked for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reused {
    Yes,
    No,
}

/// The tasks of a connection.
#[derive(Clone, Default)]
pub(super) struct Tasks(Arc<Mutex<JoinSet<()>>>);

/// Where hyper starts what a connection needs. Weak, since what it starts holds it.
#[derive(Clone)]
pub(super) struct Executor(Weak<Mutex<JoinSet<()>>>);

// === impl Connection ===

impl Connection {
    pub(super) fn new(
        server: Arc<Server>,
        sender: Sender,
        most_streams: usize,
        tasks: Tasks,
        counters: Arc<Counters>,
    ) -> Self {
        counters.connected();
        let (streams_tx, ending) = (watch::Sender::new(0), Ending::default());
        Self { server, sender, most_streams, streams_tx, ending, counters, _tasks: tasks }
    }

    pub(super) fn leads_to(&self, server: &Arc<Server>) -> bool {
        Arc::ptr_eq(&self.server, server)
    }

    pub(super) fn is_closed(&self) -> bool {
        match &self.sender {
            Sender::Http1(sender) => sender.lock().is_closed(),
            // Also after the server has said that it takes no more streams.
            Sender::Http2(sender) => sender.is_closed(),
        }
    }

    pub(super) fn is_unused(&self) -> bool {
        *self.streams_tx.borrow() == 0
    }

    pub(super) fn ending(&self) -> Ending {
        Arc::clone(&self.ending)
    }

    pub(super) fn streams(&self) -> watch::Receiver<usize> {
        self.streams_tx.subscribe()
    }

    /// A stream, if there is room for one. To be called by one at a time.
    pub(super) fn slot(self: &Arc<Self>) -> Option<Slot> {
        let has_room = match &self.sender {
            Sender::Http1(sender) => self.is_unused() && sender.lock().is_ready(),
            Sender::Http2(_) => *self.streams_tx.borrow() < self.most_streams,
        };
        has_room.then(|| self.open(Reused::Yes))
    }

    /// The first stream of a new connection, for which there always is room.
    pub(super) fn first_slot(self: &Arc<Self>) -> Slot {
        self.open(Reused::No)
    }

    fn open(self: &Arc<Self>, reused: Reused) -> Slot {
        self.streams_tx.send_modify(|streams| *streams += 1);
        self.counters.stream_opened();
        Slot { connection: Arc::clone(self), reused }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.counters.disconnected();
    }
}

// === impl Slot ===

impl Slot {
    pub(super) fn was_used_before(&self) -> bool {
        self.reused == Reused::Yes
    }

    pub(super) fn speaks_http2(&self) -> bool {
        matches!(self.connection.sender, Sender::Http2(_))
    }

    /// Why there is no connection any more; told once.
    pub(super) fn broke_by(&self) -> Option<hyper::Error> {
        self.connection.ending.lock().take()
    }

    pub(super) async fn send(&self, request: Request<Full<Bytes>>) -> hyper::Result<Response<Incoming>> {
        match &self.connection.sender {
            Sender::Http1(sender) => {
                let answer = sender.lock().send_request(request);
                answer.await
            }
            Sender::Http2(sender) => sender.clone().send_request(request).await,
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.connection.counters.stream_closed();
        self.connection.streams_tx.send_modify(|streams| *streams -= 1);
    }
}

// === impl Tasks ===

impl Tasks {
    pub(super) fn executor(&self) -> Executor {
        Executor(Arc::downgrade(&self.0))
    }

    pub(super) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let mut tasks = self.0.lock();
        // hyper starts one for each request: those that are over are forgotten here.
        while tasks.try_join_next().is_some() {}
        tasks.spawn(task);
    }
}

// === impl Executor ===

impl<F: Future<Output = ()> + Send + 'static> hyper::rt::Executor<F> for Executor {
    fn execute(&self, task: F) {
        // Without its connection there is nothing left to do.
        if let Some(tasks) = self.0.upgrade() {
            Tasks(tasks).spawn(task);
        }
    }
}
