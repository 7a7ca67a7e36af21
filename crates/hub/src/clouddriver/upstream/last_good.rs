//! What was last said to questions that are asked all the time, by the Clouddriver and by us.

use std::time::Duration;

use bytes::Bytes;
use indexmap::IndexMap;
use parking_lot::Mutex;
use tokio::time::Instant;

/// All that is remembered is no more than this: two polled lists of a few who ask, of some megabytes each.
const MOST_BYTES: usize = 64 * 1024 * 1024;
/// However small they are: everybody who asks is a question of its own.
const MOST: usize = 64;

/// Whose answer it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Side {
    Ours,
    Theirs,
}

/// A question: path, query, and who asks, since everybody is told of those applications that they may see.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Question {
    pub(super) path: String,
    pub(super) user: Option<Bytes>,
}

/// Answers, the one that was given longest ago first.
#[derive(Debug)]
pub(super) struct Memory {
    said: Mutex<IndexMap<(Side, Question), (Instant, Bytes)>>,
    keep: Duration,
}

// === impl Memory ===

impl Memory {
    /// Answers are remembered for so long.
    pub(super) fn new(keep: Duration) -> Self {
        Self { said: Mutex::default(), keep }
    }

    pub(super) fn remember(&self, side: Side, question: &Question, body: &Bytes, now: Instant) {
        if self.keep.is_zero() || body.len() > MOST_BYTES {
            return;
        }
        let mut said = self.said.lock();
        said.shift_remove(&(side, question.clone()));
        said.retain(|_, (at, _)| now - *at < self.keep);
        let mut bytes: usize = said.values().map(|(_, body)| body.len()).sum();
        while said.len() >= MOST || bytes + body.len() > MOST_BYTES {
            let Some((_, (_, oldest))) = said.shift_remove_index(0) else { break };
            bytes -= oldest.len();
        }
        said.insert((side, question.clone()), (now, body.clone()));
    }

    pub(super) fn recall(&self, side: Side, question: &Question, now: Instant) -> Option<Bytes> {
        let said = self.said.lock();
        let (at, body) = said.get(&(side, question.clone()))?;
        (now - *at < self.keep).then(|| body.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_mins(1);

    fn question(path: &str, user: Option<&'static str>) -> Question {
        Question { path: path.into(), user: user.map(|user| Bytes::from_static(user.as_bytes())) }
    }

    #[test]
    fn what_was_said_is_remembered_for_a_while_for_those_who_asked() {
        let (memory, now, said) = (Memory::new(MINUTE), Instant::now(), Bytes::from_static(b"[]"));
        let asked = question("/applications", Some("ann"));
        memory.remember(Side::Theirs, &asked, &said, now);
        assert_eq!(memory.recall(Side::Theirs, &asked, now), Some(said.clone()));
        for other in
            [question("/applications?expand=true", Some("ann")), question("/applications", Some("bob"))]
        {
            assert_eq!(memory.recall(Side::Theirs, &other, now), None, "{other:?}");
        }
        assert_eq!(memory.recall(Side::Ours, &asked, now), None);
        assert_eq!(memory.recall(Side::Theirs, &asked, now + MINUTE), None);
        let never = Memory::new(Duration::ZERO);
        never.remember(Side::Theirs, &asked, &said, now);
        assert_eq!(never.recall(Side::Theirs, &asked, now), None);
    }

    #[test]
    fn the_oldest_makes_room() {
        let (memory, now) = (Memory::new(MINUTE), Instant::now());
        let known = |path: &str| memory.recall(Side::Theirs, &question(path, None), now).is_some();
        let large = Bytes::from(vec![0; MOST_BYTES / 2]);
        for path in ["/one", "/two", "/one", "/three"] {
            memory.remember(Side::Theirs, &question(path, None), &large, now);
        }
        assert_eq!(["/one", "/two", "/three"].map(known), [true, false, true], "`/one` was said again");
        let too_large = Bytes::from(vec![0; MOST_BYTES + 1]);
        memory.remember(Side::Theirs, &question("/four", None), &too_large, now);
        assert_eq!(["/one", "/three", "/four"].map(known), [true, true, false]);
        for user in 0..=MOST {
            let asked = Question { path: "/small".into(), user: Some(user.to_string().into()) };
            memory.remember(Side::Theirs, &asked, &Bytes::from_static(b"[]"), now);
        }
        assert!(!known("/one") && memory.said.lock().len() == MOST);
    }
}
