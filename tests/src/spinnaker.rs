//! Spinnaker's side: recordings of its services, and a player of Orca.
//!
//! ```text
//! recordings/ ──▶ Recording  ── sent again, in order ──▶ hub ──▶ Answer ══ differences ══ Recording
//!             ──▶ RecordedClouddriver                a Clouddriver with recorded answers only
//!             ──▶ RecordedExecution ══ differences ══ Orca       carries stages to their end as Orca does
//! ```

mod answer;
mod comparison;
mod names;
mod orca;
mod outcome;
mod played;
mod recording;
mod volatile;

pub use answer::Answer;
pub use comparison::{Difference, differences};
pub use names::Names;
pub use orca::{Call, Exception, Execution, Orca, Pace, Stage, StageSpec, Status};
pub use outcome::{differences_of_calls, differences_of_outcome};
pub use played::{Played, RecordedClouddriver};
pub use recording::{RecordedCall, RecordedExecution, RecordedStage, Recording, Request, recorded};
