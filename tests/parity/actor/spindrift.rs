//! Hub and agent, asked over REST or by the command line.

use futures::{StreamExt, stream};
use serde_json::Value;
use spindrift_testkit::Operations;

use super::{Answer, SpindriftCommand, kubectl};
use crate::{
    action::{Action, Target, Way},
    outcome::{Outcome, Refusal},
};

pub(crate) struct SpindriftActor {
    hub: Operations,
    command: SpindriftCommand,
}

/// So many operations are asked for at once.
const AT_ONCE: usize = 4;

// === impl SpindriftActor ===

impl SpindriftActor {
    pub(crate) fn new(hub: Operations, command: SpindriftCommand) -> Self {
        Self { hub, command }
    }

    pub(super) async fn act(&self, actions: &[(Target<'_>, &Action)]) -> Vec<Answer> {
        let asked = actions.iter().map(|(target, action)| async move {
            match target.way {
                Way::Rest => self.ask(target, action).await,
                Way::CommandLine => self.say(target, action).await,
            }
        });
        stream::iter(asked).buffered(AT_ONCE).collect().await
    }

    async fn ask(&self, target: &Target<'_>, action: &Action) -> Answer {
        let answer = self.hub.ask(&action.verb(target)).await.unwrap();
        let outcome = if answer.is_done() {
            Outcome::Done(word(action, target, &answer.json()))
        } else {
            Outcome::Refused(refusal(&answer.status()))
        };
        Answer { outcome, patch: None, output: None }
    }

    /// Runs the command line with kubectl's arguments.
    async fn say(&self, target: &Target<'_>, action: &Action) -> Answer {
        let mut arguments = action.arguments(target, "-");
        arguments.extend(action.manager().map(|manager| format!("--field-manager={manager}")));
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let input = action.document(target.side).unwrap_or_default();
        let output = self.command.run(&arguments, &input).await;
        Answer { outcome: kubectl::outcome(target, action, &output), patch: None, output: Some(output) }
    }
}

/// kubectl's word for the same outcome.
fn word(action: &Action, target: &Target<'_>, answer: &Value) -> String {
    if !matches!(action, Action::Delete(_)) {
        return answer["action"].as_str().unwrap_or_default().to_owned();
    }
    let kind = target.kind.name.to_lowercase();
    let group =
        target.kind.api_version.split_once('/').map(|(group, _)| format!(".{group}")).unwrap_or_default();
    let deleted = answer["deleted"].as_array().into_iter().flatten();
    let mut names: Vec<_> = deleted
        .map(|object| format!("{kind}{group}/{}", object["name"].as_str().unwrap_or_default()))
        .collect();
    names.sort_unstable();
    names.join(" ")
}

pub(crate) fn refusal(status: &Value) -> Refusal {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let causes = status.pointer("/details/causes").and_then(Value::as_array);
    Refusal {
        reason: status["reason"].as_str().map(str::to_owned),
        message: text(&status["message"]),
        causes: causes.into_iter().flatten().map(|cause| text(&cause["message"])).collect(),
    }
}
