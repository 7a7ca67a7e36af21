//! Connections between the machine and the network of a node, which has no link to it.
//!
//! A socket belongs to the network of the thread that made it. Plain threads copy the bytes; they end with their
//! connection, and those that accept end with the test process.

use std::fs::File;
use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

use nix::sched::{CloneFlags, setns};

use crate::port::{free_port, loopback};

/// Network of a process.
#[derive(Clone)]
pub(super) struct Network(Arc<File>);

// === impl Network ===

impl Network {
    /// Network that a process is in now.
    pub(super) fn of(pid: u32) -> io::Result<Self> {
        Ok(Self(Arc::new(File::open(format!("/proc/{pid}/ns/net"))?)))
    }

    /// Runs a function on a thread in this network.
    fn within<T: Send>(&self, work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
        thread::scope(|scope| {
            let thread = scope.spawn(|| {
                setns(&*self.0, CloneFlags::CLONE_NEWNET)?;
                work()
            });
            thread.join().unwrap_or_else(|_| Err(io::Error::other("the thread in the network panicked")))
        })
    }

    /// Listens on the machine, and connects to an address of this network; returns the address of the machine.
    pub(super) fn reach(&self, target: SocketAddr) -> io::Result<SocketAddr> {
        let listener = TcpListener::bind(loopback(free_port()))?;
        let address = listener.local_addr()?;
        let network = self.clone();
        forward(listener, move || network.within(|| TcpStream::connect(target)));
        Ok(address)
    }

    /// Listens in this network, at any port of an address, and connects to an address of the machine.
    pub(super) fn expose(&self, target: SocketAddr, at: SocketAddr) -> io::Result<SocketAddr> {
        let listener = self.within(|| TcpListener::bind(at))?;
        let address = listener.local_addr()?;
        forward(listener, move || TcpStream::connect(target));
        Ok(address)
    }
}

/// Accepts connections until the test process ends, and joins each to one of the other side.
fn forward(listener: TcpListener, connect: impl Fn() -> io::Result<TcpStream> + Send + 'static) {
    thread::spawn(move || {
        for accepted in listener.incoming().flatten() {
            // Without the other side, the connection is closed.
            let Ok(connected) = connect() else { continue };
            let Ok(pairs) = both_ways(accepted, connected) else { continue };
            for (from, to) in pairs {
                thread::spawn(move || copy(from, to));
            }
        }
    });
}

fn both_ways(one: TcpStream, other: TcpStream) -> io::Result<[(TcpStream, TcpStream); 2]> {
    one.set_nodelay(true)?;
    other.set_nodelay(true)?;
    Ok([(one.try_clone()?, other.try_clone()?), (other, one)])
}

fn copy(mut from: TcpStream, mut to: TcpStream) {
    // The end, or an error, is passed on as the end.
    io::copy(&mut from, &mut to).ok();
    to.shutdown(Shutdown::Write).ok();
}
