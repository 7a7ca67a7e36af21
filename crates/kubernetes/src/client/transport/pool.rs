//! The connections of one lane: as few as the server's limit of streams allows.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use parking_lot::Mutex;
use tokio::{sync::watch, time::timeout};

use super::{
    connection::{Connection, Slot},
    dial::{Dialled, dial},
    error::TransportError,
    server::Server,
    stats::Counters,
};

/// An unused connection is kept for so long: a burst of questions shares one, and a silent account costs nothing.
pub(super) const IDLE: Duration = Duration::from_secs(30);

pub(super) struct Pool {
    /// The oldest first. What is not here may still have streams, but gets no new ones.
    connections: Mutex<Vec<Arc<Connection>>>,
    /// Held while a connection is made that others may share.
    dialling: tokio::sync::Mutex<()>,
    idle: Duration,
    counters: Arc<Counters>,
}

// === impl Pool ===

impl Pool {
    pub(super) fn new(idle: Duration, counters: Arc<Counters>) -> Self {
        Self { connections: Mutex::default(), dialling: tokio::sync::Mutex::default(), idle, counters }
    }

    /// A stream to this server, on a connection that has room or on a new one.
    pub(super) async fn slot(self: &Arc<Self>, server: &Arc<Server>) -> Result<Slot, TransportError> {
        if let Some(slot) = self.vacant(server) {
            return Ok(slot);
        }
        let turn = self.dialling.lock().await;
        // Others may have dialled meanwhile.
        if let Some(slot) = self.vacant(server) {
            return Ok(slot);
        }
        if server.is_http1() {
            // Nobody could share the connection, so nobody has to wait for it.
            drop(turn);
            return Ok(self.add(server, dial(server).await?));
        }
        Ok(self.add(server, dial(server).await?))
    }

    /// A stream on the oldest connection that has room, so that the younger ones fall idle.
    fn vacant(&self, server: &Arc<Server>) -> Option<Slot> {
        let mut connections = self.connections.lock();
        // Connections to where the server was before, or with the certificate of before, get no new streams.
        connections.retain(|connection| connection.leads_to(server) && !connection.is_closed());
        connections.iter().find_map(Connection::slot)
    }

    fn add(self: &Arc<Self>, server: &Arc<Server>, dialled: Dialled) -> Slot {
        let Dialled { sender, most_streams, driver, tasks } = dialled;
        let connection = Arc::new(Connection::new(
            Arc::clone(server),
            sender,
            most_streams,
            tasks.clone(),
            Arc::clone(&self.counters),
        ));
        let unused =
            unused(Arc::downgrade(self), Arc::downgrade(&connection), connection.streams(), self.idle);
        let (pool, ended) = (Arc::downgrade(self), Arc::downgrade(&connection));
        let ending = connection.ending();
        let slot = connection.first_slot();
        self.connections.lock().push(connection);
        tasks.spawn(async move {
            tokio::select! {
                driven = driver => *ending.lock() = driven.err(),
                () = unused => {}
            }
            if let Some((pool, ended)) = pool.upgrade().zip(ended.upgrade()) {
                pool.remove(&ended);
            }
        });
        slot
    }

    fn remove(&self, ended: &Arc<Connection>) {
        self.connections.lock().retain(|connection| !Arc::ptr_eq(connection, ended));
    }

    /// Takes an unused connection out, unless somebody was quicker.
    fn retire(&self, idle: &Arc<Connection>) -> bool {
        let mut connections = self.connections.lock();
        if !idle.is_unused() {
            return false;
        }
        connections.retain(|connection| !Arc::ptr_eq(connection, idle));
        true
    }
}

/// Ends when the connection was unused for long enough, and is not offered any more.
async fn unused(
    pool: Weak<Pool>,
    connection: Weak<Connection>,
    mut streams_rx: watch::Receiver<usize>,
    idle: Duration,
) {
    loop {
        if streams_rx.wait_for(|streams| *streams == 0).await.is_err() {
            return;
        }
        if timeout(idle, streams_rx.wait_for(|streams| *streams > 0)).await.is_ok() {
            continue;
        }
        let Some((pool, connection)) = pool.upgrade().zip(connection.upgrade()) else { return };
        if pool.retire(&connection) {
            return;
        }
    }
}
