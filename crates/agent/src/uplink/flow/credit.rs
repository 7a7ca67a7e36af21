//! Weighted semaphore in bytes whose limit can change while it is in use.

use std::sync::Arc;

use parking_lot::Mutex;
use prometheus_client::metrics::gauge::Gauge;
use spindrift_protocol::flow;
use tokio::sync::Notify;

/// Bytes that may be held at once. A request larger than the limit passes alone.
#[derive(Debug)]
pub struct Credit {
    state: Mutex<CreditState>,
    freed: Notify,
    gauges: UsageGauges,
}

/// Metrics of the bytes that are held now.
#[derive(Debug, Clone, Default)]
pub struct UsageGauges {
    /// Number of items.
    pub items: Gauge,
    /// Bytes of these items.
    pub bytes: Gauge,
}

/// Part of a credit; freed when dropped.
#[derive(Debug)]
pub struct CreditHold {
    credit: Arc<Credit>,
    bytes: usize,
}

#[derive(Debug)]
struct CreditState {
    used: usize,
    limit: usize,
}

// === impl Credit ===

impl Credit {
    /// Returns a credit of which nothing is held.
    pub fn new(limit: usize, gauges: UsageGauges) -> Arc<Self> {
        Arc::new(Self { state: Mutex::new(CreditState { used: 0, limit }), freed: Notify::new(), gauges })
    }

    /// Waits until so many bytes are free, or until `exception` returns true.
    pub async fn take(self: &Arc<Self>, bytes: usize, exception: impl Fn() -> bool) -> CreditHold {
        loop {
            // Registered before the state is read, so that bytes freed in between are not missed.
            let freed = self.freed.notified();
            if let Some(hold) = self.try_take(bytes, exception()) {
                return hold;
            }
            freed.await;
        }
    }

    fn try_take(self: &Arc<Self>, bytes: usize, exception: bool) -> Option<CreditHold> {
        let mut state = self.state.lock();
        let fits = exception || flow::fits(state.used, bytes, state.limit);
        if !fits {
            return None;
        }
        state.used += bytes;
        self.gauges.items.inc();
        self.gauges.bytes.inc_by(signed(bytes));
        Some(CreditHold { credit: self.clone(), bytes })
    }

    /// Changes the limit. Bytes that are held beyond a smaller limit stay held.
    pub fn set_limit(&self, limit: usize) {
        self.state.lock().limit = limit;
        self.freed.notify_waiters();
    }
}

// === impl CreditHold ===

impl Drop for CreditHold {
    fn drop(&mut self) {
        let Self { credit, bytes } = self;
        credit.state.lock().used -= *bytes;
        credit.gauges.items.dec();
        credit.gauges.bytes.dec_by(signed(*bytes));
        credit.freed.notify_waiters();
    }
}

fn signed(bytes: usize) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    fn never() -> bool {
        false
    }

    #[tokio::test]
    async fn a_smaller_limit_binds_the_next_request_and_a_larger_one_wakes_those_that_wait() {
        let credit = Credit::new(1000, UsageGauges::default());
        let first = credit.take(600, never).await;
        credit.set_limit(500);
        let mut second = Box::pin(credit.take(300, never));
        assert!(second.as_mut().now_or_never().is_none(), "600 are held, of 500");
        credit.set_limit(900);
        let second = second.as_mut().now_or_never().expect("enough is free now");
        assert_eq!((credit.gauges.items.get(), credit.gauges.bytes.get()), (2, 900));
        drop((first, second));
        assert_eq!((credit.gauges.items.get(), credit.gauges.bytes.get()), (0, 0));
    }

    #[tokio::test]
    async fn an_exception_may_overdraw() {
        let credit = Credit::new(1000, UsageGauges::default());
        let _all = credit.take(1000, never).await;
        assert!(credit.take(1, never).now_or_never().is_none());
        assert!(credit.take(1, || true).now_or_never().is_some());
    }
}
