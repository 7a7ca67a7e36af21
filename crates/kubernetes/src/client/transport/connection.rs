//! One connection: its streams, the tasks that drive it, and its error.

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

/// Connection. It is dropped, with its tasks, when it has left the pool and has no open streams.
pub(super) struct Connection {
    server: Arc<Server>,
    sender: Sender,
    /// Limit of concurrent streams.
    max_streams: usize,
    streams_tx: watch::Sender<usize>,
    ending: Ending,
    counters: Arc<Counters>,
    _tasks: Tasks,
}

/// Sender of requests, by HTTP version.
pub(super) enum Sender {
    Http1(Mutex<http1::SendRequest<Full<Bytes>>>),
    Http2(http2::SendRequest<Full<Bytes>>),
}

/// Permit for one stream on a connection.
pub(super) struct Slot {
    connection: Arc<Connection>,
    reused: Reused,
}

/// Error with which a connection broke. Holders of a stream can take it.
pub(super) type Ending = Arc<Mutex<Option<hyper::Error>>>;

/// Set if the connection existed before the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reused {
    Yes,
    No,
}

/// Tasks of a connection.
#[derive(Clone, Default)]
pub(super) struct Tasks(Arc<Mutex<JoinSet<()>>>);

/// Executor of hyper's tasks for a connection. Weak, since those tasks hold it.
#[derive(Clone)]
pub(super) struct Executor(Weak<Mutex<JoinSet<()>>>);

// === impl Connection ===

impl Connection {
    pub(super) fn new(
        server: Arc<Server>,
        sender: Sender,
        max_streams: usize,
        tasks: Tasks,
        counters: Arc<Counters>,
    ) -> Self {
        counters.connected();
        let (streams_tx, ending) = (watch::Sender::new(0), Ending::default());
        Self { server, sender, max_streams, streams_tx, ending, counters, _tasks: tasks }
    }

    pub(super) fn leads_to(&self, server: &Arc<Server>) -> bool {
        Arc::ptr_eq(&self.server, server)
    }

    pub(super) fn is_closed(&self) -> bool {
        match &self.sender {
            Sender::Http1(sender) => sender.lock().is_closed(),
            // Also after GOAWAY.
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

    /// Opens a stream, if the connection is below its limit. The caller holds the lock of the pool.
    pub(super) fn slot(self: &Arc<Self>) -> Option<Slot> {
        let is_vacant = match &self.sender {
            Sender::Http1(sender) => self.is_unused() && sender.lock().is_ready(),
            Sender::Http2(_) => *self.streams_tx.borrow() < self.max_streams,
        };
        is_vacant.then(|| self.open(Reused::Yes))
    }

    /// Opens the first stream of a new connection.
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

    /// Takes the error with which the connection broke; only the first caller gets it.
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
        // hyper starts one for each request; completed ones are removed here.
        while tasks.try_join_next().is_some() {}
        tasks.spawn(task);
    }
}

// === impl Executor ===

impl<F: Future<Output = ()> + Send + 'static> hyper::rt::Executor<F> for Executor {
    fn execute(&self, task: F) {
        // The connection is gone, and with it the need for the task.
        if let Some(tasks) = self.0.upgrade() {
            Tasks(tasks).spawn(task);
        }
    }
}
