//! A TCP proxy that misbehaves on demand.
//!
//! ```text
//! client ──▶ FaultProxy ──▶ target
//!              rules: cut, half open, delay, throttle, rewrite, record, count – for live connections too
//! ```

mod connection;
mod meter;
mod recording;
mod rewrite;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, ensure};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

use connection::Connection;
use meter::Meter;
pub use meter::Traffic;
use recording::Recording;
use rewrite::Rewrite;

use crate::port::{free_port, loopback};

/// A proxy between a client and one target; dropping it closes everything.
pub struct FaultProxy {
    addr: SocketAddr,
    rules: watch::Sender<Rules>,
    recording: Arc<Recording>,
    meter: Arc<Meter>,
    /// Dropping it ends the acceptor, who owns the connections.
    _acceptor: JoinSet<()>,
}

#[derive(Clone, Default)]
struct Rules {
    link: Link,
    delay: Duration,
    bytes_per_second: Option<u64>,
    rewrite: Option<Arc<Rewrite>>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Link {
    #[default]
    Up,
    /// No connections.
    Cut,
    /// Connections that carry nothing, as behind a router that lost its mind.
    HalfOpen,
}

// === impl FaultProxy ===

impl FaultProxy {
    /// Starts a proxy that forwards faithfully for now.
    pub async fn start(target: SocketAddr) -> anyhow::Result<Self> {
        let addr = loopback(free_port());
        let listener = TcpListener::bind(addr).await.context("listen for the proxy")?;
        let (rules, rules_rx) = watch::channel(Rules::default());
        let recording = Arc::new(Recording::default());
        let meter = Arc::new(Meter::default());
        let connect = {
            let (recording, meter) = (Arc::clone(&recording), Arc::clone(&meter));
            move |rules_rx| Connection::new(rules_rx, Arc::clone(&recording), Arc::clone(&meter))
        };
        let mut acceptor = JoinSet::new();
        acceptor.spawn(accept(addr, listener, target, rules_rx, connect));
        Ok(Self { addr, rules, recording, meter, _acceptor: acceptor })
    }

    /// Where clients connect to.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Resets all connections and refuses new ones. Nothing is forwarded after this call.
    pub fn cut(&self) {
        self.rules.send_modify(|rules| rules.link = Link::Cut);
    }

    /// Keeps and accepts connections, but swallows all they carry, their ends too.
    pub fn half_open(&self) {
        self.rules.send_modify(|rules| rules.link = Link::HalfOpen);
    }

    /// Forwards again, faithfully and at full speed. Connections that lost something are reset: no stream
    /// survives a hole in it.
    pub fn heal(&self) {
        self.rules.send_replace(Rules::default());
    }

    /// Holds back all that arrives for this long, in each direction.
    pub fn delay(&self, delay: Duration) {
        self.rules.send_modify(|rules| rules.delay = delay);
    }

    /// Limits each direction of each connection.
    pub fn throttle(&self, bytes_per_second: u64) {
        self.rules.send_modify(|rules| rules.bytes_per_second = Some(bytes_per_second.max(1)));
    }

    /// Replaces bytes of the target's answers (without TLS, that is) by as many others.
    pub fn rewrite(&self, from: &[u8], to: &[u8]) -> anyhow::Result<()> {
        ensure!(!from.is_empty() && from.len() == to.len(), "a rewrite must keep the length");
        let rewrite = Arc::new(Rewrite::new(from, to));
        self.rules.send_modify(|rules| rules.rewrite = Some(rewrite));
        Ok(())
    }

    /// Starts to record the forwarded bytes, in both directions.
    pub fn record(&self) {
        self.recording.start();
    }

    /// Bytes that were forwarded since [`FaultProxy::record`], stream by stream.
    pub fn recorded(&self) -> Vec<u8> {
        self.recording.bytes()
    }

    /// Number of bytes that were forwarded since the start.
    pub fn traffic(&self) -> Traffic {
        self.meter.read()
    }
}

/// Accepts and serves connections; while the link is cut there is no listener, so that the kernel refuses.
async fn accept(
    addr: SocketAddr,
    listener: TcpListener,
    target: SocketAddr,
    mut rules_rx: watch::Receiver<Rules>,
    connect: impl Fn(watch::Receiver<Rules>) -> Connection,
) {
    let mut listener = Some(listener);
    let mut connections = JoinSet::new();
    loop {
        let link = rules_rx.borrow_and_update().link;
        match (link, &listener) {
            (Link::Cut, _) => listener = None,
            // A failed bind is tried again below.
            (Link::Up | Link::HalfOpen, None) => listener = TcpListener::bind(addr).await.ok(),
            (Link::Up | Link::HalfOpen, Some(_)) => {}
        }
        tokio::select! {
            biased;
            changed = rules_rx.changed() => if changed.is_err() { return },
            Some(_) = connections.join_next() => {}
            accepted = accept_on(listener.as_ref()) => {
                if let Ok(client) = accepted {
                    connections.spawn(connect(rules_rx.clone()).serve(client, target));
                }
            }
        }
    }
}

/// Never ready without a listener.
async fn accept_on(listener: Option<&TcpListener>) -> io::Result<TcpStream> {
    match listener {
        Some(listener) => Ok(listener.accept().await?.0),
        None => std::future::pending().await,
    }
}
