//! Differences from Clouddriver that we want, each with its reason. This is a table of `docs/compatibility.md`.

use std::sync::LazyLock;

use regex::Regex;

pub(crate) struct Accepted {
    /// Numbers of recordings; without any, it holds for all of them, and for Orca's outputs.
    pub(crate) recordings: &'static [u32],
    /// A pattern of the whole path of a field.
    fields: &'static str,
    /// Clouddriver's answer.
    pub(crate) clouddriver: &'static str,
    /// Our answer.
    pub(crate) ours: &'static str,
    pub(crate) reason: &'static str,
}

/// Any field.
const ALL: &str = ".*";

/// The words of a refusal, wherever they are repeated.
const WORDS: &str = r"/(message|exception|history/\d+/status|status/status|resultObjects/0/(cause|message|details/\d+(/message)?))";

/// A refusal as a whole: its code and its words.
const REFUSAL: &str = r"\(status\)|/(status|error|errors|exception|message)";

/// First those about secrets, then mistakes of Clouddriver, then words, then random order.
pub(crate) const ACCEPTED: &[Accepted] = &[
    Accepted {
        recordings: &[32],
        fields: r"/resultObjects/0/manifests/0/metadata/annotations/kubectl\.kubernetes\.io/last-applied-configuration",
        clouddriver: "repeats a Secret's values in the annotation of `kubectl apply`",
        ours: "without the annotation",
        reason: "values of Secrets do not leave the cluster",
    },
    Accepted {
        recordings: &[137, 178, 191, 266, 295, 324, 461, 465, 501],
        fields: REFUSAL,
        clouddriver: "500: a NullPointerException, a missing bean, something not implemented",
        ours: "400 or 404, and what is wrong",
        reason: "callers repeat a 500; these requests never succeed",
    },
    Accepted {
        recordings: &[288],
        fields: REFUSAL,
        clouddriver: "500, since no Front50 ran when it was recorded",
        ours: "404, if the hub is told of no Front50 (`services.front50.baseUrl`); else the same",
        reason: "callers repeat a 500; without a Front50 there are no projects",
    },
    Accepted {
        recordings: &[513, 518, 528],
        fields: r"/(exception|message)",
        clouddriver: "500 `No such property: retryable for class …`, whatever the task",
        ours: "500 that says why it cannot be resumed",
        reason: "a mistake of its own; Orca reads no more than the code",
    },
    Accepted {
        recordings: &[294, 306, 307],
        fields: r"\(status\)|\(content-type\)|",
        clouddriver: "500 or 404 for tags, storage and plugins, as it was set up",
        ours: "an empty list",
        reason: "Gate asks, and nothing is the right answer",
    },
    Accepted {
        recordings: &[239, 240],
        fields: r"\(status\)|\(content-type\)|",
        clouddriver: "200 with no body for a cluster of an unknown account or kind",
        ours: "404",
        reason: "Orca cannot decode an empty body",
    },
    Accepted {
        recordings: &[442],
        fields: ALL,
        clouddriver: "fails to delete where `cascading` is null, by a NullPointerException",
        ours: "null is as good as absent: deleted in the background",
        reason: "a mistake of its own",
    },
    Accepted {
        recordings: &[444],
        fields: r"/resultObjects/0/manifestNamesByNamespace/account1-testns00/0",
        clouddriver: "deletes what was left by 442",
        ours: "nothing is left to delete",
        reason: "follows from 442",
    },
    Accepted {
        recordings: &[454],
        fields: ALL,
        clouddriver: "cannot delete kinds of Kubernetes' own that it does not list, such as Lease",
        ours: "deleted",
        reason: "a mistake of its own: it asks for the kind `none`",
    },
    Accepted {
        recordings: &[534],
        fields: "/message",
        clouddriver: "`Task not found (id: id)`",
        ours: "the id that was asked for",
        reason: "a mistake of its own",
    },
    Accepted {
        recordings: &[220],
        fields: r"/events/\d+",
        clouddriver: "finds no events of HorizontalPodAutoscalers: it misspells their kind",
        ours: "the events",
        reason: "a mistake of its own",
    },
    Accepted {
        recordings: &[271],
        fields: r"/0/results/\d+/application",
        clouddriver: "search hits of security groups without `application`",
        ours: "always with it",
        reason: "Orca's check before it deletes an application would fail without",
    },
    Accepted {
        recordings: &[390, 401, 459, 469, 481, 482],
        fields: WORDS,
        clouddriver: "names classes of Java, or a kind `none` that nobody asked for",
        ours: "the same refusal in a sentence that names the field or the kind",
        reason: "people read them; no service does",
    },
    Accepted {
        recordings: &[428],
        fields: r"/history/2/status",
        clouddriver: "writes the whole last-applied manifest into a line of the task's history",
        ours: "the artifact's name and version",
        reason: "nobody reads it; it may hold what nobody should see",
    },
    Accepted {
        recordings: &[],
        fields: r".*/kubernetes\.io/change-cause",
        clouddriver: "kubectl's command line, with its kubeconfig",
        ours: "the same command without kubeconfig, its flags in the order of the alphabet",
        reason: "there is no kubectl here; people read it",
    },
    Accepted {
        recordings: &[],
        fields: r".*/pods/\d+/status/hostIPs",
        clouddriver: "leaves out of a job's pods what its client library does not know",
        ours: "there",
        reason: "it is in the cluster",
    },
    Accepted {
        recordings: &[274],
        fields: r"/0/results/\d+/cluster",
        clouddriver: "names one of an application's clusters, whichever comes first",
        ours: "another one",
        reason: "left to chance by a set",
    },
    Accepted {
        recordings: &[275],
        fields: r"/0/(results/.+|totalMatches)",
        clouddriver: "finds no ConfigMaps and Secrets, though the account's `kinds` names them",
        ours: "finds them",
        reason: "as in the Scale Agent, an account caches the kinds that it names",
    },
    Accepted {
        recordings: &[280],
        fields: r"/0/results/.+",
        clouddriver: "the second page of hits in no order",
        ours: "the second page of ours",
        reason: "left to chance by a set",
    },
    Accepted {
        recordings: &[293],
        fields: ALL,
        clouddriver: "lists its caching agents and their last runs",
        ours: "lists accounts",
        reason: "there are no caching agents here; people read it",
    },
];

/// Those that may be as recorded: by the order of a set, or because nothing has happened yet.
const BY_CHANCE: [u32; 3] = [220, 274, 280];

/// Compiled once.
static PATTERNS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    let pattern = |it: &Accepted| Regex::new(&format!("^(?:{})$", it.fields)).unwrap();
    ACCEPTED.iter().map(pattern).collect()
});

/// In a recorded answer.
pub(crate) fn is_accepted(number: u32, path: &str) -> bool {
    all().any(|(it, pattern)| it.concerns(number) && pattern.is_match(path))
}

/// Whether a difference in Orca's outputs is accepted.
pub(crate) fn is_accepted_of_orca(path: &str) -> bool {
    all().any(|(it, pattern)| it.recordings.is_empty() && pattern.is_match(path))
}

/// Recordings that are named, and yet as they should be: the table is to stay short.
pub(crate) fn superfluous(seen: &[(u32, String)]) -> Vec<u32> {
    let differs = |it: &Accepted, pattern: &Regex, number: u32| {
        seen.iter().any(|(of, path)| *of == number && it.concerns(number) && pattern.is_match(path))
    };
    all()
        .flat_map(|(it, pattern)| it.recordings.iter().map(move |number| (it, pattern, *number)))
        .filter(|(it, pattern, number)| !differs(it, pattern, *number) && !BY_CHANCE.contains(number))
        .map(|(_, _, number)| number)
        .collect()
}

fn all() -> impl Iterator<Item = (&'static Accepted, &'static Regex)> {
    ACCEPTED.iter().zip(PATTERNS.iter())
}

// === impl Accepted ===

impl Accepted {
    fn concerns(&self, number: u32) -> bool {
        self.recordings.is_empty() || self.recordings.contains(&number)
    }
}
