//! Connections of one request class: as few as the stream limit of the server allows.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use parking_lot::Mutex;
use tokio::{sync::watch, time::timeout};

use super::{
    connection::{Connection, Slot},
    dial::{NewConnection, dial},
    error::TransportError,
    server::Server,
    stats::Counters,
};

/// Lifetime of an unused connection: a burst of requests shares one, and an idle account costs nothing.
pub(super) const IDLE: Duration = Duration::from_secs(30);

pub(super) struct Pool {
    /// Oldest first. Connections that were removed may still have streams, but get no new ones.
    connections: Mutex<Vec<Arc<Connection>>>,
    /// Held while a connection is made that other requests may share.
    dialling: tokio::sync::Mutex<()>,
    idle: Duration,
    counters: Arc<Counters>,
}

// === impl Pool ===

impl Pool {
    pub(super) fn new(idle: Duration, counters: Arc<Counters>) -> Self {
        Self { connections: Mutex::default(), dialling: tokio::sync::Mutex::default(), idle, counters }
    }

    /// Opens a stream to this server, on a connection below its limit or on a new one.
    pub(super) async fn slot(self: &Arc<Self>, server: &Arc<Server>) -> Result<Slot, TransportError> {
        if let Some(slot) = self.vacant(server) {
            return Ok(slot);
        }
        let turn = self.dialling.lock().await;
        // Another request may have connected meanwhile.
        if let Some(slot) = self.vacant(server) {
            return Ok(slot);
        }
        if server.is_http1() {
            // HTTP/1 connections are not shared, so others need not wait for this one.
            drop(turn);
            return Ok(self.add(server, dial(server).await?));
        }
        Ok(self.add(server, dial(server).await?))
    }

    /// Opens a stream on the oldest connection below its limit, so that newer ones become idle.
    fn vacant(&self, server: &Arc<Server>) -> Option<Slot> {
        let mut connections = self.connections.lock();
        // Connections to a former address, or with a former certificate, get no new streams.
        connections.retain(|connection| connection.leads_to(server) && !connection.is_closed());
        connections.iter().find_map(Connection::slot)
    }

    fn add(self: &Arc<Self>, server: &Arc<Server>, new: NewConnection) -> Slot {
        let NewConnection { sender, max_streams, driver, tasks } = new;
        let connection = Arc::new(Connection::new(
            Arc::clone(server),
            sender,
            max_streams,
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

    /// Removes a connection if it is still unused.
    fn retire(&self, idle: &Arc<Connection>) -> bool {
        let mut connections = self.connections.lock();
        if !idle.is_unused() {
            return false;
        }
        connections.retain(|connection| !Arc::ptr_eq(connection, idle));
        true
    }
}

/// Waits until the connection was unused for long enough and is removed from the pool.
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
