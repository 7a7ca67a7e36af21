//! Response bodies that faults modify while they are sent.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use bytes::Bytes;
use futures::stream;
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use tokio::{sync::watch, time::sleep};

use super::{ActiveFault, Effect, Faults, RequestInfo, Verb, error_response};
use crate::cluster::{Body, BodyError, ConnectionClosed};

/// Body of a response, and the faults that apply to it.
struct FaultyBody {
    inner: Body,
    faults: Arc<Faults>,
    changed_rx: watch::Receiver<u64>,
    info: RequestInfo,
    hit: Vec<Arc<ActiveFault>>,
    /// Id of the newest fault that was considered.
    seen: u64,
    /// Chunks to send before more is read.
    pending: VecDeque<Bytes>,
    ends: bool,
    /// Set after the first chunk: a response that is no watch is modified once.
    begun: bool,
}

/// Interval between two chunks of a slow body.
const DRIP: Duration = Duration::from_millis(50);

/// Wraps a body in faults: those that hit its request, and those injected later.
pub(super) fn wrap(
    body: Body,
    faults: Arc<Faults>,
    info: RequestInfo,
    hit: Vec<Arc<ActiveFault>>,
    seen: u64,
) -> Body {
    let changed_rx = faults.changed.subscribe();
    let wrapped = FaultyBody {
        inner: body,
        faults,
        changed_rx,
        info,
        hit,
        seen,
        pending: VecDeque::new(),
        ends: false,
        begun: false,
    };
    let frames = stream::unfold(wrapped, |mut wrapped| async move {
        let frame = wrapped.next().await?;
        Some((frame, wrapped))
    });
    StreamBody::new(frames).boxed_unsync()
}

// === impl FaultyBody ===

impl FaultyBody {
    async fn next(&mut self) -> Option<Result<Frame<Bytes>, BodyError>> {
        loop {
            self.consider();
            if self.has(|effect| *effect == Effect::Cut) {
                return Some(Err(BodyError::other(ConnectionClosed)));
            }
            if self.has(|effect| *effect == Effect::Freeze) {
                self.changed_rx.changed().await.ok()?;
                continue;
            }
            if let Some(chunk) = self.pending.pop_front() {
                return Some(Ok(Frame::data(self.drip(chunk).await)));
            }
            if self.ends {
                return None;
            }
            if self.is_forgotten() {
                self.pending.push_back(error_response::expired_event());
                self.ends = true;
                continue;
            }
            tokio::select! {
                biased;
                changed = self.changed_rx.changed() => changed.ok()?,
                frame = self.inner.frame() => match frame?.map(Frame::into_data) {
                    Ok(Ok(chunk)) => self.take(&chunk),
                    Ok(Err(trailers)) => return Some(Ok(trailers)),
                    Err(error) => return Some(Err(error)),
                },
            }
        }
    }

    /// Adds new faults and drops removed ones.
    fn consider(&mut self) {
        let newest = *self.changed_rx.borrow_and_update();
        self.hit.retain(|active| self.faults.is_active(active.id));
        if newest > self.seen {
            self.hit.extend(self.faults.hit(&self.info, self.seen));
            self.seen = newest;
        }
    }

    fn has(&self, wanted: impl Fn(&Effect) -> bool) -> bool {
        self.hit.iter().any(|active| wanted(&active.fault.effect))
    }

    /// Whether a watch must end because its resource version is no longer in the history.
    fn is_forgotten(&self) -> bool {
        // A watch that starts with a list has no resource version to lose before its first event.
        let place = self.info.verb == Verb::Watch && (self.info.resumes || self.begun);
        place && self.has(|effect| *effect == Effect::ExpireHistory)
    }

    /// Queues a chunk, malformed if a fault demands it.
    fn take(&mut self, chunk: &Bytes) {
        let odd = self.hit.iter().find_map(|active| match active.fault.effect {
            Effect::Malformed(odd) => Some((active.id, odd)),
            _ => None,
        });
        let is_watch = self.info.verb == Verb::Watch;
        match odd {
            Some((id, odd)) if is_watch => {
                let replaced = odd.in_watch(chunk);
                self.pending.extend(replaced.chunks);
                self.ends = replaced.ends;
                // Once per watch: a watch that never progresses would equal a cut.
                self.hit.retain(|active| active.id != id);
            }
            Some((_, odd)) if !self.begun => {
                let replaced = odd.in_answer(chunk);
                self.pending.extend(replaced.chunks);
                self.ends = replaced.ends;
            }
            _ => self.pending.push_back(chunk.clone()),
        }
        self.begun = true;
    }

    /// Sends as much of a chunk as a slow body may, and queues the rest.
    async fn drip(&mut self, mut chunk: Bytes) -> Bytes {
        let rate = self.hit.iter().find_map(|active| match active.fault.effect {
            Effect::Slow { bytes_per_second } => Some(bytes_per_second),
            _ => None,
        });
        let Some(rate) = rate else { return chunk };
        sleep(DRIP).await;
        let share = DRIP.as_secs_f64() * f64::from(rate);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a small number of bytes"
        )]
        let most = (share as usize).max(1);
        if chunk.len() > most {
            self.pending.push_front(chunk.split_off(most));
        }
        chunk
    }
}
