//! The rules of the protocol, each as what happens without it.

/// One rule left out. Every invariant must be able to fail, else its check says nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mutation {
    /// The protocol as it is.
    None,
    /// `attach` reads the cursor and leaves the epoch as it is.
    AttachKeepsEpoch,
    /// `commit` compares the seq only.
    CommitIgnoresEpoch,
    /// `commit` compares the epoch only.
    CommitIgnoresSeq,
    /// An agent that attaches again goes on after what it sent, not after what was committed.
    ResumeFromSent,
    /// An agent that must list takes what an API server has cached, however old (`resourceVersion=0`).
    ListFromCache,
    /// `Begin` leaves the resume point, so an interrupted generation is taken for a position.
    BeginKeepsResumePoint,
    /// `Begin` goes on with what an earlier generation mentioned.
    MentionedSurvives,
    /// When a hub dies, another one takes its attachments over, without what they mentioned.
    AttachmentOutlivesHub,
    /// `End` does not look whether there are rows of what was only mentioned.
    MentionsTakenOnTrust,
    /// `End` removes nothing.
    EndWithoutPrune,
    /// `Declare` removes the resume points of other scopes, but not their rows.
    DeclareKeepsRows,
    /// `Declare` removes the rows of other scopes, but not their resume points.
    DeclareKeepsResumePoint,
    /// A scope that returns within one attachment is watched from where it was left.
    ReturnToOldPosition,
    /// `Delete` removes the row, whichever object it holds.
    DeleteIgnoresUid,
}
