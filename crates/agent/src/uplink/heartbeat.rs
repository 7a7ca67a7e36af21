//! Times at which a channel sends its heartbeats.
//!
//! Proxies between agent and hub end a stream on which one direction is silent for some time, 60 s in nginx and in most
//! cloud load balancers, and count only data, not pings of HTTP/2. So every channel has its own heartbeats, which the hub
//! answers.

use std::{future::pending, time::Duration};

use tokio::time::{Instant, sleep_until};

/// Clock of the heartbeats of one channel.
#[derive(Debug)]
pub(super) struct Heartbeat {
    interval: Duration,
    next: Instant,
}

// === impl Heartbeat ===

impl Heartbeat {
    /// Returns a clock whose first heartbeat is due at once.
    pub(super) fn new(interval: Duration) -> Self {
        Self { interval, next: Instant::now() }
    }

    /// Waits until the next heartbeat is due. A caller that stops waiting loses none.
    pub(super) async fn due(&mut self) {
        sleep_until(self.next).await;
        // Jitter keeps the channels of an agent, and agents that connected together, from sending in step.
        self.next = Instant::now() + self.interval.mul_f64(0.75 + fastrand::f64() / 4.0);
    }

    /// The same for a channel that may have no heartbeats.
    pub(super) async fn due_if_any(heartbeat: &mut Option<Self>) {
        match heartbeat {
            Some(heartbeat) => heartbeat.due().await,
            None => pending().await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn heartbeats_come_at_uneven_times_within_the_interval() {
        const INTERVAL: Duration = Duration::from_millis(8);
        let mut heartbeat = Heartbeat::new(INTERVAL);
        assert!(heartbeat.next <= Instant::now(), "the first is due at once");
        let mut pauses = Vec::new();
        for _ in 0..20 {
            let before = Instant::now();
            heartbeat.due().await;
            // The earliest and the latest moment at which the next one was chosen.
            let (earliest, latest) = (before + INTERVAL * 3 / 4, Instant::now() + INTERVAL);
            assert!(
                (earliest..=latest).contains(&heartbeat.next),
                "{earliest:?} {:?} {latest:?}",
                heartbeat.next
            );
            pauses.push(heartbeat.next - before);
        }
        pauses.sort();
        pauses.dedup();
        assert!(pauses.len() > 10, "{pauses:?}");
    }
}
