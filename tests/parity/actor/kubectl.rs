//! The real kubectl: its exit, its words, and the patches it sends.

use std::{path::Path, sync::Arc};

use spindrift_testkit::{Kubectl, scratch};

use super::Answer;
use crate::{
    action::{Action, Mode, Target, Way},
    outcome::{Outcome, Refusal},
    output::CommandOutput,
};

#[derive(Clone)]
pub(crate) struct KubectlActor {
    kubectl: Arc<Kubectl>,
}

/// Log level at which kubectl prints its patches.
const VERBOSE: &str = "-v=9";

// === impl KubectlActor ===

impl KubectlActor {
    pub(crate) async fn new(kubeconfig: &Path) -> Self {
        Self { kubectl: Arc::new(Kubectl::with(kubeconfig).await.unwrap()) }
    }

    /// Client-side applies go together; all others, and those whose words are compared, have a kubectl each.
    pub(super) async fn act(&self, actions: &[(Target<'_>, &Action)]) -> Vec<Answer> {
        let is_batched = |target: &Target<'_>, action: &Action| {
            target.way == Way::Rest && matches!(action, Action::Apply { mode: Mode::ClientSide, .. })
        };
        let batch: Vec<_> =
            actions.iter().filter(|(target, action)| is_batched(target, action)).copied().collect();
        let mut applied = if batch.is_empty() { Vec::new() } else { self.apply(&batch).await }.into_iter();
        let mut answers = Vec::new();
        for (target, action) in actions {
            let is_batched = is_batched(target, action);
            answers.push(if is_batched { applied.next().unwrap() } else { self.one(target, action).await });
        }
        answers
    }

    async fn run(&self, arguments: &[String], input: &str) -> CommandOutput {
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        self.kubectl.output(&arguments, input).await.unwrap().into()
    }

    async fn one(&self, target: &Target<'_>, action: &Action) -> Answer {
        let input = action.document(target.side).unwrap_or_default();
        let output = self.run(&action.arguments(target, "-"), &input).await;
        let outcome = outcome(target, action, &output);
        Answer { outcome, patch: None, output: (target.way == Way::CommandLine).then_some(output) }
    }

    /// Applies many manifests with one kubectl, which takes them one after the other and reports each.
    async fn apply(&self, actions: &[(Target<'_>, &Action)]) -> Vec<Answer> {
        let directory = scratch("manifests").unwrap();
        let file = |index: usize| format!("{index:03}.json");
        for (index, (target, action)) in actions.iter().enumerate() {
            std::fs::write(directory.path().join(file(index)), action.document(target.side).unwrap())
                .unwrap();
        }
        let (target, action) = &actions[0];
        let mut arguments = action.arguments(target, &directory.path().display().to_string());
        arguments.push(VERBOSE.to_owned());
        let CommandOutput { code, out: output, err: log } = self.run(&arguments, "").await;
        let directory = format!("{}/", directory.path().display());
        let errors: Vec<_> = error_blocks(&log).iter().map(|error| error.replace(&directory, "")).collect();
        let mut answers = Vec::new();
        for (index, (target, action)) in actions.iter().enumerate() {
            let name = target.name();
            let told = [format!("\"{}\"", file(index)), format!("\"{name}\"")];
            let error = errors.iter().find(|error| told.iter().any(|told| error.contains(told)));
            let outcome = match (word(&output, &name), error) {
                (Some(word), None) => Outcome::Done(word),
                (None, Some(error)) => Outcome::Refused(refusal(error)),
                _ if actions.len() == 1 => {
                    assert_ne!(code, Some(0), "kubectl tells nothing of {name}: {output}");
                    Outcome::Refused(refusal(&errors.concat()))
                }
                // Of several errors, not every one names its object; alone, there is no doubt.
                _ => {
                    answers.push(Box::pin(self.apply(&[(*target, action)])).await.remove(0));
                    continue;
                }
            };
            answers.push(Answer { outcome, patch: patch_of(&log, &name), output: None });
        }
        let refused = answers.iter().any(|answer| answer.outcome.is_refused());
        assert_eq!(refused, code != Some(0), "kubectl exits as it says: {errors:?}");
        answers
    }
}

/// Outcome of a command line, kubectl's or ours.
pub(super) fn outcome(target: &Target<'_>, action: &Action, output: &CommandOutput) -> Outcome {
    match (output.code, action) {
        (Some(0), Action::Delete(_)) => Outcome::Done(sorted(&output.out)),
        (Some(0), _) => Outcome::Done(word(&output.out, &target.name()).unwrap_or_default()),
        _ => Outcome::Refused(refusal(&output.err)),
    }
}

fn sorted(output: &str) -> String {
    let mut lines: Vec<_> = output.lines().filter(|line| !line.starts_with("No resources found")).collect();
    lines.sort_unstable();
    lines.join(" ")
}

/// kubectl's word for an object: the rest of the line `deployment.apps/web configured`.
fn word(output: &str, name: &str) -> Option<String> {
    let of = |line: &str| {
        let (object, word) = line.split_once(' ')?;
        (object.split_once('/')?.1 == name).then(|| word.to_owned())
    };
    output.lines().find_map(of)
}

/// The errors that kubectl printed, between the lines of its log.
fn error_blocks(log: &str) -> Vec<String> {
    const STARTS: [&str; 6] = [
        "Error from server",
        "error: ",
        "error when ",
        "creating patch with:",
        "unable to ",
        "The request is invalid",
    ];
    let begins = |line: &str| {
        STARTS.iter().any(|start| line.starts_with(start))
            || line.starts_with("The ") && line.contains(" is invalid: ")
    };
    let is_log = |line: &str| {
        let mut start = line.chars().take(5);
        start.next().is_some_and(|level| "IWEF".contains(level))
            && start.clone().count() == 4
            && start.all(|c| c.is_ascii_digit())
    };
    let mut blocks: Vec<String> = Vec::new();
    let mut inside = false;
    for line in log.lines() {
        if begins(line) {
            blocks.push(String::new());
            inside = true;
        } else if is_log(line) {
            inside = false;
        }
        if let (true, Some(block)) = (inside, blocks.last_mut()) {
            block.push_str(line);
            block.push('\n');
        }
    }
    blocks
}

fn refusal(error: &str) -> Refusal {
    let reason = error.lines().find_map(|line| {
        if let Some(rest) = line.strip_prefix("Error from server (") {
            return rest.split_once(')').map(|(reason, _)| reason.to_owned());
        }
        let invalid = line.starts_with("The ") && line.contains(" is invalid");
        let conflict = line.starts_with("error: Apply failed with ");
        let known = [(invalid, "Invalid"), (conflict, "Conflict")];
        known.iter().find(|(is, _)| *is).map(|(_, reason)| (*reason).to_owned())
    });
    Refusal { reason, message: error.to_owned(), causes: Vec::new() }
}

/// The body of the patch request for an object, out of kubectl's log, where the body comes before the address.
fn patch_of(log: &str, name: &str) -> Option<String> {
    let address = format!("/{name}?");
    let mut body = "";
    for line in log.lines() {
        if let Some((_, rest)) = line.split_once(r#""Request Body" body=""#) {
            body = rest.trim_end_matches('"');
        } else if line.contains("curl -v -XPATCH") && line.contains(&address) {
            return Some(body.replace(r#"\""#, "\"").replace(r"\\", r"\"));
        }
    }
    None
}

#[test]
fn errors_are_found_between_lines_of_the_log() {
    let log = "I1116 07:55:47.1 1 x.go:46] \"Request Body\" body=\"\"\nError from server (Invalid): error when applying\n{\"a\":1}\nfor: \"/tmp/001.json\": no\nI1116 07:55:47.1 1 x.go:46] more\nThe ConfigMap \"x\" is invalid: \n* data: no\n";
    let blocks = error_blocks(log);
    assert_eq!(blocks.len(), 2);
    assert_eq!(refusal(&blocks[0]).reason.as_deref(), Some("Invalid"));
    assert!(blocks[0].ends_with("for: \"/tmp/001.json\": no\n"));
    assert_eq!(refusal(&blocks[1]).reason.as_deref(), Some("Invalid"));
    assert_eq!(refusal("error: no").reason, None);
    assert_eq!(
        word("a/x created\nb.c/y configured (server dry run)\n", "y").unwrap(),
        "configured (server dry run)"
    );
}
