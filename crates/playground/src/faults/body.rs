//! Bodies on which faults work while they are sent.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use bytes::Bytes;
use futures::stream;
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use tokio::{sync::watch, time::sleep};

use super::{Active, Asked, Effect, Faults, Verb, refusal};
use crate::http::layer::{Body, BodyError, Cut};

/// The body of an answer, and the faults that hit it.
struct Spoiled {
    inner: Body,
    faults: Arc<Faults>,
    changed_rx: watch::Receiver<u64>,
    asked: Asked,
    hit: Vec<Arc<Active>>,
    /// The newest fault that was considered.
    seen: u64,
    /// What is to be sent before more is read.
    pending: VecDeque<Bytes>,
    ends: bool,
    /// Whether the first chunk was read: answers that are no watches are spoiled once.
    begun: bool,
}

/// How often a slow body sends something.
const DRIP: Duration = Duration::from_millis(50);

/// Lets faults work on a body: those that hit its request, and those to come.
pub(super) fn spoil(body: Body, faults: Arc<Faults>, asked: Asked, hit: Vec<Arc<Active>>, seen: u64) -> Body {
    let changed_rx = faults.changed.subscribe();
    let spoiled = Spoiled {
        inner: body,
        faults,
        changed_rx,
        asked,
        hit,
        seen,
        pending: VecDeque::new(),
        ends: false,
        begun: false,
    };
    let frames = stream::unfold(spoiled, |mut spoiled| async move {
        let frame = spoiled.next().await?;
        Some((frame, spoiled))
    });
    StreamBody::new(frames).boxed_unsync()
}

// === impl Spoiled ===

impl Spoiled {
    async fn next(&mut self) -> Option<Result<Frame<Bytes>, BodyError>> {
        loop {
            self.consider();
            if self.has(|effect| *effect == Effect::Cut) {
                return Some(Err(BodyError::other(Cut)));
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
                self.pending.push_back(refusal::expired_event());
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

    /// Takes notice of faults that are new, and of those that are over.
    fn consider(&mut self) {
        let newest = *self.changed_rx.borrow_and_update();
        self.hit.retain(|active| self.faults.is_active(active.id));
        if newest > self.seen {
            self.hit.extend(self.faults.hit(&self.asked, self.seen));
            self.seen = newest;
        }
    }

    fn has(&self, wanted: impl Fn(&Effect) -> bool) -> bool {
        self.hit.iter().any(|active| wanted(&active.fault.effect))
    }

    /// Whether a watch has to end because its place in history is lost.
    fn is_forgotten(&self) -> bool {
        // One that begins with a list of its own has a place to lose only when it has told something.
        let place = self.asked.verb == Verb::Watch && (self.asked.resumes || self.begun);
        place && self.has(|effect| *effect == Effect::Forget)
    }

    /// Takes a chunk, with whatever is odd about it.
    fn take(&mut self, chunk: &Bytes) {
        let odd = self.hit.iter().find_map(|active| match active.fault.effect {
            Effect::Odd(odd) => Some((active.id, odd)),
            _ => None,
        });
        let is_watch = self.asked.verb == Verb::Watch;
        match odd {
            Some((id, odd)) if is_watch => {
                let replaced = odd.in_watch(chunk);
                self.pending.extend(replaced.chunks);
                self.ends = replaced.ends;
                // Once per watch: a watch that never gets anywhere would be a cut.
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

    /// Sends as much of a chunk as a slow body may, and keeps the rest.
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
