//! Outcome of an action.

use std::sync::LazyLock;

use regex::Regex;

use crate::side::either;

/// The API server may quote an object, with the uid, the version and the times that it gave to it.
static GIVEN: LazyLock<Regex> = LazyLock::new(|| {
    let uid = "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}";
    let time = r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z";
    Regex::new(&format!(r"{uid}|{time}|resourceVersion\W+\d+")).unwrap()
});

/// We hide values of a Secret that an API server quotes; kubectl does not.
static QUOTED: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r#"(?s)( found in #|Invalid value: "(map\[|\{|…)).*"#).unwrap());
/// Stands where something is hidden.
pub(crate) const HIDDEN: &str = "\"…\"";

/// Outcome of one action on one side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// kubectl's word, such as `configured`; of a deletion, the names of the deleted objects.
    Done(String),
    Refused(Refusal),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// The API server's; none where the side itself refuses.
    pub(crate) reason: Option<String>,
    pub(crate) message: String,
    /// The messages of the causes.
    pub(crate) causes: Vec<String>,
}

// === impl Outcome ===

impl Outcome {
    pub(crate) fn is_refused(&self) -> bool {
        matches!(self, Self::Refused(_))
    }

    /// Difference of our outcome from kubectl's.
    pub(crate) fn difference(kubectl: &Self, ours: &Self) -> Option<String> {
        let same = match (kubectl, ours) {
            (Self::Done(theirs), Self::Done(ours)) => either(theirs) == either(ours),
            (Self::Refused(theirs), Self::Refused(ours)) => theirs.is_reported_by(ours),
            _ => false,
        };
        (!same).then(|| format!("outcomes differ\n      kubectl: {kubectl:?}\n      ours:    {ours:?}"))
    }
}

// === impl Refusal ===

impl Refusal {
    /// kubectl puts the API server's words into sentences of its own: they must be in there.
    fn is_reported_by(&self, ours: &Self) -> bool {
        if self.reason.is_none() {
            return true;
        }
        let hides = ours.message.contains(HIDDEN);
        let plain = |text: &str| {
            let text = plain(text);
            if hides { QUOTED.replace(&text, "hidden").into_owned() } else { text }
        };
        let text = plain(&self.message);
        let told = |words: &str| text.contains(plain(words).trim());
        // For some objects kubectl prints the causes only.
        let causes = !ours.causes.is_empty() && ours.causes.iter().all(|cause| told(cause));
        self.reason == ours.reason && (told(&ours.message) || causes)
    }
}

/// The text with the names of either side replaced.
pub(crate) fn plain(text: &str) -> String {
    GIVEN.replace_all(&either(text), "given").into_owned()
}

#[test]
fn outcomes_are_compared_by_the_status_of_the_api_server() {
    let refusal = |reason: Option<&str>, message: &str| {
        let (reason, message) = (reason.map(str::to_owned), message.to_owned());
        Outcome::Refused(Refusal { reason, message, causes: Vec::new() })
    };
    let kubectl = refusal(Some("NotFound"), "Error from server (NotFound): pods \"x-west\" not found");
    assert_eq!(Outcome::difference(&kubectl, &refusal(Some("NotFound"), "pods \"x-east\" not found")), None);
    assert!(Outcome::difference(&kubectl, &refusal(Some("NotFound"), "no pods")).is_some());
    assert!(Outcome::difference(&kubectl, &refusal(Some("Gone"), "pods \"x-east\" not found")).is_some());
    assert!(Outcome::difference(&kubectl, &Outcome::Done("configured".to_owned())).is_some());
    let quoting = |version: u32, side: &str| {
        let object = format!(
            r#"{{\"resourceVersion\":\"{version}\",\"time\":\"2026-01-01T00:00:{version}Z\",\"side\":\"{side}\"}}"#
        );
        refusal(Some("Invalid"), &format!("is invalid: {object}"))
    };
    assert_eq!(Outcome::difference(&quoting(12, "west"), &quoting(34, "east")), None);
    assert!(Outcome::difference(&quoting(12, "west"), &quoting(12, "north")).is_some());
    let quoting =
        |value: &str| refusal(Some("Invalid"), &format!("s is invalid: patch: Invalid value: {value}: no"));
    assert_eq!(Outcome::difference(&quoting(r#""map[a:canary]""#), &quoting(HIDDEN)), None);
    assert!(Outcome::difference(&quoting(r#""map[a:canary]""#), &quoting(r#""map[a:other]""#)).is_some());
    assert_eq!(Outcome::difference(&refusal(None, "error: no"), &refusal(Some("BadRequest"), "never")), None);
}
