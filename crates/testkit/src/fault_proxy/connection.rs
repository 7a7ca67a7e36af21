//! One connection through a proxy: two pumps that obey the rules as they change.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until};

use super::meter::{Direction, Meter};
use super::recording::Recording;
use super::rewrite::Rewriter;
use super::{Link, Rules};

const CHUNK: usize = 16 * 1024;

/// A throttled stream flows in this many steps per second.
const STEPS_PER_SECOND: u64 = 20;

/// Time for which the possible beginning of a match is kept: short, since the peer may be waiting for it.
const REWRITE_PATIENCE: Duration = Duration::from_millis(100);

pub(super) struct Connection {
    rules_rx: watch::Receiver<Rules>,
    recording: Arc<Recording>,
    meter: Arc<Meter>,
}

struct Pump<'a> {
    read: ReadHalf<'a>,
    write: WriteHalf<'a>,
    rules_rx: watch::Receiver<Rules>,
    direction: Direction,
    rewriter: Option<Rewriter>,
    recording: Arc<Recording>,
    meter: Arc<Meter>,
    stream: usize,
    /// Something was swallowed, so the stream has no future.
    holed: bool,
}

// === impl Connection ===

impl Connection {
    pub(super) fn new(
        rules_rx: watch::Receiver<Rules>,
        recording: Arc<Recording>,
        meter: Arc<Meter>,
    ) -> Self {
        Self { rules_rx, recording, meter }
    }

    pub(super) async fn serve(self, mut client: TcpStream, target: SocketAddr) {
        let Ok(mut server) = TcpStream::connect(target).await else {
            return;
        };
        client.set_nodelay(true).ok();
        server.set_nodelay(true).ok();
        let (client_read, client_write) = client.split();
        let (server_read, server_write) = server.split();
        let up = self.pump(client_read, server_write, Direction::Up);
        let down = self.pump(server_read, client_write, Direction::Down);
        if tokio::try_join!(up.run(), down.run()).is_err() {
            // Reset rather than close, as a broken link does.
            client.set_zero_linger().ok();
            server.set_zero_linger().ok();
        }
    }

    fn pump<'a>(&self, read: ReadHalf<'a>, write: WriteHalf<'a>, direction: Direction) -> Pump<'a> {
        Pump {
            read,
            write,
            rules_rx: self.rules_rx.clone(),
            direction,
            rewriter: None,
            recording: Arc::clone(&self.recording),
            meter: Arc::clone(&self.meter),
            stream: self.recording.new_stream(),
            holed: false,
        }
    }
}

// === impl Pump ===

impl Pump<'_> {
    /// Ends well when the stream has ended; an error means that the connection is broken.
    async fn run(mut self) -> io::Result<()> {
        let mut chunk = vec![0; CHUNK];
        loop {
            let rules = self.rules_rx.borrow_and_update().clone();
            if rules.link == Link::Cut || (rules.link == Link::Up && self.holed) {
                return Err(io::ErrorKind::ConnectionReset.into());
            }
            self.follow_rewrite(&rules).await?;
            let holds_something = self.rewriter.as_ref().is_some_and(Rewriter::holds_something);
            tokio::select! {
                biased;
                changed = self.rules_rx.changed() => changed.map_err(io::Error::other)?,
                length = self.read.read(&mut chunk[..rules.chunk()]) => {
                    let length = length?;
                    if rules.link == Link::HalfOpen {
                        self.swallow(length).await?;
                    } else if length == 0 {
                        self.flush().await?;
                        return self.write.shutdown().await;
                    } else {
                        self.forward(&chunk[..length]).await?;
                    }
                }
                () = sleep(REWRITE_PATIENCE), if holds_something => self.flush().await?,
            }
        }
    }

    /// Drops the bytes that were read; the end of the stream is hidden until the rules change.
    async fn swallow(&mut self, length: usize) -> io::Result<()> {
        self.holed = true;
        if length == 0 {
            self.rules_rx.changed().await.map_err(io::Error::other)?;
        }
        Ok(())
    }

    async fn forward(&mut self, bytes: &[u8]) -> io::Result<()> {
        match &mut self.rewriter {
            None => self.deliver(bytes).await,
            Some(rewriter) => {
                let bytes = rewriter.push(bytes);
                self.deliver(&bytes).await
            }
        }
    }

    async fn flush(&mut self) -> io::Result<()> {
        let held = self.rewriter.as_mut().map(Rewriter::flush).unwrap_or_default();
        self.deliver(&held).await
    }

    async fn deliver(&mut self, bytes: &[u8]) -> io::Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        self.hold(bytes.len()).await?;
        tokio::select! {
            biased;
            // Also while the receiver does not read.
            down = self.rules_rx.wait_for(|rules| rules.link != Link::Up) => {
                down.map_err(io::Error::other)?;
                self.holed = true;
            }
            written = self.write.write_all(bytes) => {
                written?;
                self.recording.add(self.stream, bytes);
                self.meter.add(self.direction, bytes.len());
            }
        }
        Ok(())
    }

    /// Waits as long as the rules want bytes to wait, even if they change meanwhile.
    async fn hold(&mut self, length: usize) -> io::Result<()> {
        let arrived = Instant::now();
        loop {
            let due = {
                let rules = self.rules_rx.borrow_and_update();
                if rules.link != Link::Up {
                    return Ok(());
                }
                arrived + rules.pause(length)
            };
            tokio::select! {
                biased;
                changed = self.rules_rx.changed() => changed.map_err(io::Error::other)?,
                () = sleep_until(due) => return Ok(()),
            }
        }
    }

    async fn follow_rewrite(&mut self, rules: &Rules) -> io::Result<()> {
        let rule = rules.rewrite.as_ref().filter(|_| self.direction == Direction::Down);
        let current = self.rewriter.as_ref();
        if current.zip(rule).is_some_and(|(rewriter, rule)| rewriter.follows(rule)) {
            return Ok(());
        }
        self.flush().await?;
        self.rewriter = rule.cloned().map(Rewriter::new);
        Ok(())
    }
}

// === impl Rules ===

impl Rules {
    /// Bytes to read at once: less when throttled, so that the stream flows rather than jumps.
    fn chunk(&self) -> usize {
        let Some(limit) = self.bytes_per_second else {
            return CHUNK;
        };
        usize::try_from(limit / STEPS_PER_SECOND).unwrap_or(CHUNK).clamp(1, CHUNK)
    }

    fn pause(&self, length: usize) -> Duration {
        let Some(limit) = self.bytes_per_second else {
            return self.delay;
        };
        self.delay + Duration::from_secs(length as u64) / u32::try_from(limit).unwrap_or(u32::MAX)
    }
}
