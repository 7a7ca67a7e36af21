//! Output of a command line, word by word.

use std::{process::Output, sync::LazyLock};

use regex::Regex;

use crate::outcome::{HIDDEN, plain};

/// Where our words differ from kubectl's on purpose, each becomes the same on both sides.
static OURS: LazyLock<[(Regex, &str); 5]> = LazyLock::new(|| {
    [
        // The hint about conflicts is our own.
        (
            r"(?s)\n(Please review the fields above.*?#conflicts|To take these fields.*?that they have\.)\n",
            "\nadvice\n",
        ),
        // A patch that the kind does not support is refused by the API server, not by us.
        (r"^error: \S+ is not supported by \S+, Kind=\w+: ", "Error from server (UnsupportedMediaType): "),
        // Each side has its own message where no patch can be computed.
        (r"(?s)^.*(error calculating patch from openapi|no patch can be computed for).*$", "no patch"),
        // Each side has versions of its own.
        (r"(resource version to be \S+, was) \d+\n$", "$1 given\n"),
        // Deletions and roll-backs that are refused report only the refusal.
        (
            r"(?m)^Warning: (deleting cluster-scoped resources|resource \S+ was previously managed with).*\n",
            "",
        ),
    ]
    .map(|(pattern, same)| (Regex::new(pattern).unwrap(), same))
});

/// An agent returns no longer patches than this: they travel in a header.
const LONGEST_PATCH: usize = 4096;

/// All that a user sees of a command, and a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CommandOutput {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

// === impl CommandOutput ===

impl CommandOutput {
    /// Difference of our command from kubectl: exit code, and every word on both streams.
    pub(crate) fn difference(kubectl: &Self, ours: &Self) -> Option<String> {
        // A manifest that kubectl cannot decode itself, the API server refuses to us; values of Secrets we hide.
        if kubectl.err.starts_with("error: unable to decode ") || ours.err.contains(HIDDEN) {
            return kubectl.difference_in_deed(ours);
        }
        (kubectl.plain() != ours.plain())
            .then(|| format!("words differ\n      kubectl: {kubectl:?}\n      ours:    {ours:?}"))
    }

    /// The same without messages for people: kubectl names the pod and the container that it has chosen for logs, and
    /// has several prefixes for one refusal.
    pub(crate) fn difference_in_deed(&self, ours: &Self) -> Option<String> {
        ((self.code, &self.out) != (ours.code, &ours.out))
            .then(|| format!("what is shown differs\n      kubectl: {self:?}\n      ours:    {ours:?}"))
    }

    /// The output with the names of either side replaced.
    fn plain(&self) -> Self {
        let mut err = plain(&without_long_patch(&self.err));
        if self.code != Some(0) {
            for (pattern, same) in &*OURS {
                err = pattern.replace_all(&err, *same).into_owned();
            }
        }
        Self { code: self.code, out: plain(&self.out), err }
    }
}

impl From<Output> for CommandOutput {
    fn from(output: Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Self { code: output.status.code(), out: text(&output.stdout), err: text(&output.stderr) }
    }
}

/// The same, without a patch that an agent leaves out: of a Secret, or a long one.
fn without_long_patch(words: &str) -> String {
    let (begins, ends) = ("error when applying patch:\n", "\nto:\n");
    let parts = words.split_once(begins).and_then(|(before, rest)| Some((before, rest.split_once(ends)?)));
    match parts {
        Some((before, (patch, after)))
            if patch.len() > LONGEST_PATCH || after.starts_with("Resource: \"/v1, Resource=secrets\"") =>
        {
            format!("{before}{begins}{{…}}{ends}{after}")
        }
        _ => words.to_owned(),
    }
}

#[test]
fn every_word_and_the_exit_code_count() {
    let output = |code, out: &str, err: &str| CommandOutput {
        code: Some(code),
        out: out.to_owned(),
        err: err.to_owned(),
    };
    let kubectl = output(1, "configmap/x-west created\n", "error: no\n");
    assert_eq!(
        CommandOutput::difference(&kubectl, &output(1, "configmap/x-east created\n", "error: no\n")),
        None
    );
    for other in [
        output(2, "configmap/x-east created\n", "error: no\n"),
        output(1, "configmap/x-east made\n", "error: no\n"),
        output(1, "configmap/x-east created\n", "error: never\n"),
    ] {
        assert!(CommandOutput::difference(&kubectl, &other).is_some(), "{other:?}");
    }
    let warned = |code, of: &str| output(code, "", &format!("Warning: {of}\nerror: no\n"));
    let unwarned = output(1, "", "error: no\n");
    assert_eq!(CommandOutput::difference(&warned(1, "deleting cluster-scoped resources"), &unwarned), None);
    assert!(CommandOutput::difference(&warned(1, "resource x is odd"), &unwarned).is_some());
    assert!(
        CommandOutput::difference(
            &warned(0, "deleting cluster-scoped resources"),
            &output(0, "", "error: no\n")
        )
        .is_some()
    );
    let patched = |patch: &str, of: &str| {
        output(
            1,
            "",
            &format!("error when applying patch:\n{patch}\nto:\nResource: \"/v1, Resource={of}\"\nno\n"),
        )
    };
    let long = "p".repeat(LONGEST_PATCH + 1);
    assert_eq!(CommandOutput::difference(&patched(&long, "pods"), &patched("{…}", "pods")), None);
    assert_eq!(CommandOutput::difference(&patched("{}", "secrets"), &patched("{…}", "secrets")), None);
    assert!(CommandOutput::difference(&patched("{}", "pods"), &patched("{…}", "pods")).is_some());
    let was =
        |what: &str, count: u32| output(1, "", &format!("error: Expected {what} to be 3, was {count}\n"));
    assert_eq!(CommandOutput::difference(&was("resource version", 7), &was("resource version", 8)), None);
    assert!(CommandOutput::difference(&was("replicas", 7), &was("replicas", 8)).is_some());
}
