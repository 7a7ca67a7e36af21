//! Rules of the protocol, each left out by a mutation.

/// One rule left out. Every invariant must be able to fail, else its check proves nothing.
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
    /// An agent that attaches again goes on after its sent batches, not after the committed ones.
    ResumeFromSent,
    /// An agent that must list takes the cached list of an API server, however old (`resourceVersion=0`).
    ListFromCache,
    /// `Begin` leaves the resume point, so an interrupted generation is taken for a position.
    BeginKeepsResumePoint,
    /// `Begin` keeps the mentions of an earlier generation.
    MentionedSurvives,
    /// When a hub exits, another one takes its attachments over, without their mentions.
    AttachmentOutlivesHub,
    /// `End` does not check that there are rows of mentioned objects.
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
