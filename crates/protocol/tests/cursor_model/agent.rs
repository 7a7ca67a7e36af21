//! An agent: at any time it has one attachment, or none.

use crate::api::ApiServer;
use crate::attachment::{Attachment, Read};
use crate::mutation::Mutation;
use crate::store::Answer;

/// One agent process and the account it wants to cache.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Agent {
    /// New, or without its stream: there is nothing to remember.
    Detached,
    /// The attach was committed; its answer is on the way, perhaps for ever.
    Attaching { channel: u8, answer: Answer },
    /// Reads and sends, whether or not the attachment is still the newest.
    Attached(Attachment),
}

// === impl Agent ===

impl Agent {
    pub(crate) fn channel(&self) -> Option<u8> {
        match self {
            Self::Detached => None,
            Self::Attaching { channel, .. } => Some(*channel),
            Self::Attached(attachment) => Some(attachment.channel),
        }
    }

    /// The seq that the agent counts from; `canonicalise` shifts it.
    pub(crate) fn seq_mut(&mut self) -> Option<&mut u8> {
        match self {
            Self::Detached => None,
            Self::Attaching { answer, .. } => Some(&mut answer.cursor.seq),
            Self::Attached(attachment) => Some(&mut attachment.next.seq),
        }
    }

    /// Whether it was overtaken and waits for acknowledgements that will never come.
    pub(crate) fn is_stuck(&self, newest: u8) -> bool {
        let Self::Attached(attachment) = self else {
            return false;
        };
        attachment.channel != newest && attachment.window_is_full()
    }

    /// Steps of an agent without faults.
    pub(crate) fn first_read(&self, api: &ApiServer, mutation: Mutation) -> Option<Read> {
        let Self::Attached(attachment) = self else {
            return None;
        };
        attachment.reads(api, mutation).first().copied()
    }

    /// The answer arrived: from here on the committed resume points are the agent's positions.
    pub(crate) fn answered(&mut self) {
        let Self::Attaching { channel, answer } = self else {
            return;
        };
        *self = Self::Attached(Attachment::new(*channel, answer));
    }
}
