//! `GET /health` all the time, as a load balancer sends it.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    sync::{
        Arc,
        mpsc::{self, RecvTimeoutError},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use parking_lot::Mutex;
use spindrift_testkit::HubProcess;
use tokio::time::Instant;

const INTERVAL: Duration = Duration::from_millis(100);

/// Longer than any answer that a load balancer would wait for.
const PATIENCE: Duration = Duration::from_mins(2);

/// A thread of its own with blocking sockets, so that the attack's own load on the test's runtime is not measured.
pub(crate) struct HealthProbe {
    longest: Arc<Mutex<Duration>>,
    /// Dropped to stop the thread.
    stop_tx: Option<mpsc::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

// === impl HealthProbe ===

impl HealthProbe {
    pub(crate) fn start(hub: &HubProcess) -> Self {
        let rest: SocketAddr = hub.url().trim_start_matches("http://").parse().unwrap();
        let longest = Arc::default();
        let (stop_tx, stop_rx) = mpsc::channel();
        let thread = {
            let longest = Arc::clone(&longest);
            thread::spawn(move || probe(rest, &longest, &stop_rx))
        };
        Self { longest, stop_tx: Some(stop_tx), thread: Some(thread) }
    }

    /// Stops probing; returns the longest time without an answer.
    pub(crate) fn longest_gap(&mut self) -> Duration {
        self.stop_tx.take();
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
        *self.longest.lock()
    }
}

fn probe(rest: SocketAddr, longest: &Mutex<Duration>, stop_rx: &mpsc::Receiver<()>) {
    let mut last_answer = Instant::now();
    while stop_rx.recv_timeout(INTERVAL) == Err(RecvTimeoutError::Timeout) {
        let answered = ask(rest).is_ok();
        {
            let mut longest = longest.lock();
            *longest = last_answer.elapsed().max(*longest);
        }
        if answered {
            last_answer = Instant::now();
        }
    }
}

/// Any HTTP response counts: a hub that reports itself as down is alive.
fn ask(rest: SocketAddr) -> std::io::Result<()> {
    let mut stream = TcpStream::connect_timeout(&rest, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    write!(stream, "GET /health HTTP/1.1\r\nHost: {rest}\r\nConnection: close\r\n\r\n")?;
    let mut head = [0; 9];
    stream.read_exact(&mut head)
}
