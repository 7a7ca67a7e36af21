//! The two sides: the real kubectl; hub and agent, called over REST or by the command line.

mod command;
mod kubectl;
mod spindrift;

pub(crate) use command::SpindriftCommand;
pub(crate) use kubectl::KubectlActor;
pub(crate) use spindrift::{SpindriftActor, refusal};

use crate::{
    action::{Action, Target},
    outcome::Outcome,
    output::CommandOutput,
};

pub(crate) enum Actor {
    Kubectl(KubectlActor),
    Spindrift(SpindriftActor),
}

/// Outcome of an action, and the patch that was sent for it, if that is known.
pub(crate) struct Answer {
    pub(crate) outcome: Outcome,
    pub(crate) patch: Option<String>,
    /// The whole output, where it is compared.
    pub(crate) output: Option<CommandOutput>,
}

// === impl Actor ===

impl Actor {
    /// Does all of these, in no order; the answers are in order.
    pub(crate) async fn act(&self, actions: &[(Target<'_>, &Action)]) -> Vec<Answer> {
        match self {
            Self::Kubectl(kubectl) => kubectl.act(actions).await,
            Self::Spindrift(spindrift) => spindrift.act(actions).await,
        }
    }
}
