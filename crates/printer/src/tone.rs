//! Tones of cells: colors that mark what needs attention on a terminal.

/// Meaning of a color.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// Broken: red.
    Bad,
    /// In transition, or less than wanted: yellow.
    Warning,
    /// Finished and of no further interest: dim.
    Done,
}

/// States that end or wait for another part of the system.
const WAITING: [&str; 14] = [
    "Pending",
    "ContainerCreating",
    "PodInitializing",
    "Terminating",
    "SchedulingGated",
    "NotReady,SchedulingDisabled",
    "Ready,SchedulingDisabled",
    "Released",
    "listing",
    "queued",
    "sent",
    "expired",
    "cancelled",
    "Suspended",
];
const BROKEN: [&str; 15] = [
    "CrashLoopBackOff",
    "Error",
    "OOMKilled",
    "Evicted",
    "Failed",
    "Lost",
    "NotReady",
    "Unknown",
    "ContainerStatusUnknown",
    "ContainerCannotRun",
    "DeadlineExceeded",
    "stale",
    "denied",
    "failed",
    "unknown",
];
const FINISHED: [&str; 3] = ["Completed", "Succeeded", "Complete"];

/// Tones of the cells of a row.
pub fn tones(header: &[String], row: &[String]) -> Vec<Option<Tone>> {
    let cell = |name: &str| header.iter().position(|column| column == name).and_then(|at| row.get(at));
    let is_finished = cell("STATUS").is_some_and(|status| FINISHED.contains(&status.as_str()));
    let tone = |(column, cell): (&String, &String)| match column.as_str() {
        "STATUS" | "STATE" | "PHASE" => of_state(cell),
        // A completed pod is not ready, which is as it should be.
        "READY" if !is_finished => of_ready(cell),
        "TYPE" if cell == "Warning" => Some(Tone::Warning),
        "PROBLEM" if cell != "<none>" => Some(Tone::Bad),
        _ => None,
    };
    header.iter().zip(row).map(tone).collect()
}

fn of_state(state: &str) -> Option<Tone> {
    // `Init:CrashLoopBackOff` is as broken as without its prefix; `Init:0/2` only waits.
    let state =
        state.strip_prefix("Init:").map_or(state, |rest| if rest.contains('/') { "Pending" } else { rest });
    let is_error = state.ends_with("BackOff")
        || state.starts_with("Err")
        || state.ends_with("Error")
        || state.starts_with("ExitCode:")
        || state.starts_with("Signal:")
        || state.starts_with("Invalid");
    if is_error || BROKEN.contains(&state) {
        Some(Tone::Bad)
    } else if WAITING.contains(&state) || state.starts_with("syncing") || state.contains("denied") {
        Some(Tone::Warning)
    } else if FINISHED.contains(&state) {
        Some(Tone::Done)
    } else {
        None
    }
}

/// Tone of `1/3`.
fn of_ready(cell: &str) -> Option<Tone> {
    let (ready, wanted) = cell.split_once('/')?;
    let (ready, wanted): (u32, u32) = (ready.parse().ok()?, wanted.parse().ok()?);
    match (ready, wanted) {
        (0, 1..) => Some(Tone::Bad),
        (ready, wanted) if ready < wanted => Some(Tone::Warning),
        _ => None,
    }
}

// === impl Tone ===

impl Tone {
    /// Escape sequence that begins the color.
    pub(crate) fn start(self) -> &'static str {
        match self {
            Self::Bad => "\u{1b}[31m",
            Self::Warning => "\u{1b}[33m",
            Self::Done => "\u{1b}[2m",
        }
    }

    /// Escape sequence that ends every color.
    pub(crate) const END: &'static str = "\u{1b}[0m";
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn broken_and_waiting_states_are_marked() {
        let header = words("NAME READY STATUS");
        for (row, ready, status) in [
            ("web 1/1 Running", None, None),
            ("web 0/1 CrashLoopBackOff", Some(Tone::Bad), Some(Tone::Bad)),
            ("web 1/2 Running", Some(Tone::Warning), None),
            ("web 0/1 ContainerCreating", Some(Tone::Bad), Some(Tone::Warning)),
            ("web 0/1 Init:0/2", Some(Tone::Bad), Some(Tone::Warning)),
            ("web 0/1 Init:ImagePullBackOff", Some(Tone::Bad), Some(Tone::Bad)),
            ("web 0/1 ErrImagePull", Some(Tone::Bad), Some(Tone::Bad)),
            ("web 0/1 CreateContainerConfigError", Some(Tone::Bad), Some(Tone::Bad)),
            ("web 0/1 Completed", None, Some(Tone::Done)),
            ("web 0/0 Running", None, None),
        ] {
            assert_eq!(tones(&header, &words(row)), [None, ready, status], "{row}");
        }
        let accounts = words("NAME STATE PROBLEM");
        assert_eq!(tones(&accounts, &words("eu stale gone")), [None, Some(Tone::Bad), Some(Tone::Bad)]);
        assert_eq!(tones(&accounts, &words("eu live <none>")), [None, None, None]);
    }
}
