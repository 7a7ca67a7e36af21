//! Behaviour of a pod's containers, derived from their commands.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

use crate::controllers::{
    fields::{list, text},
    reconcile::ReconcileContext,
};

/// Behaviour of the first container; the others are assumed to follow it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Command {
    pub(super) pullable: bool,
    pub(super) exit_code: i64,
    sleeps: Option<Duration>,
    /// Set if the command is expected to end.
    ends: bool,
}

// === impl Command ===

impl Command {
    pub(super) fn of(pod: &Value) -> Self {
        let containers = list(pod, "/spec/containers");
        let pullable = containers.iter().all(|container| {
            !matches!(text(container, "/image").rsplit_once(':'), Some((_, "missing" | "does-not-exist")))
        });
        let words: Vec<&str> = containers
            .first()
            .into_iter()
            .flat_map(|container| list(container, "/command").iter().chain(list(container, "/args")))
            .filter_map(Value::as_str)
            .flat_map(|part| part.split([' ', ';', '&', '\n']))
            .filter(|word| !word.is_empty())
            .collect();
        let after = |word: &str| {
            let at = words.iter().position(|found| *found == word)?;
            words.get(at + 1).copied()
        };
        let fails = matches!(words.first(), Some(&"false" | &"/bin/false"));
        let exit_code = after("exit").and_then(|code| code.parse().ok()).unwrap_or(i64::from(fails));
        let sleeps = after("sleep").and_then(span);
        let restarted = matches!(text(pod, "/spec/restartPolicy"), "" | "Always");
        Self { pullable, exit_code, sleeps, ends: !restarted || exit_code != 0 }
    }

    /// Duration until the command ends; none if it runs until it is stopped.
    pub(super) fn runs_for(&self, context: &mut ReconcileContext<'_>) -> Option<Duration> {
        let limit = self.ends.then(|| self.sleeps.unwrap_or_else(|| context.jittered(context.timing.job)));
        limit.filter(|limit| *limit < Duration::MAX)
    }

    /// Remaining duration of its `sleep`, if it sleeps.
    pub(super) fn sleeps_on(&self, since: Timestamp, now: Timestamp) -> Option<Duration> {
        let passed = Duration::try_from(now.duration_since(since)).unwrap_or_default();
        self.sleeps?.checked_sub(passed).filter(|left| !left.is_zero())
    }
}

/// Parses an argument of `sleep`: `5`, `0.5s`, `5m`, `1h`, `2d`, `infinity`; durations that no clock can represent
/// count as infinite.
fn span(text: &str) -> Option<Duration> {
    let (number, unit) = match text.strip_suffix(['s', 'm', 'h', 'd']) {
        Some(number) => (number, text.chars().last()),
        None => (text, None),
    };
    let seconds = match unit {
        Some('m') => 60.0,
        Some('h') => 3_600.0,
        Some('d') => 86_400.0,
        _ => 1.0,
    };
    let number = number.parse::<f64>().ok().filter(|number| *number >= 0.0)?;
    Some(Duration::try_from_secs_f64(number * seconds).unwrap_or(Duration::MAX))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::controllers::reconcile::Timing;

    fn command(words: &[&str], policy: &str, image: &str) -> Command {
        let container = json!({ "name": "c", "image": image, "command": words });
        Command::of(&json!({ "spec": { "restartPolicy": policy, "containers": [container] } }))
    }

    #[test]
    fn commands_say_how_long_and_how_well_they_run() {
        let mut rng = fastrand::Rng::with_seed(1);
        let now = jiff::Timestamp::UNIX_EPOCH;
        let mut context = ReconcileContext { now, timing: Timing::FAST, rng: &mut rng, pod_budget: 500 };
        let slept = command(&["sh", "-c", "echo hi; sleep 5"], "Never", "busybox");
        assert_eq!((slept.exit_code, slept.runs_for(&mut context)), (0, Some(Duration::from_secs(5))));
        for (words, wanted) in [
            ("1h", Some(3_600)),
            ("5m", Some(300)),
            ("2d", Some(172_800)),
            ("infinity", None),
            ("1e30", None),
        ] {
            let slept = command(&["sleep", words], "Never", "busybox");
            assert_eq!(slept.runs_for(&mut context), wanted.map(Duration::from_secs), "{words}");
        }
        assert_eq!(command(&["false"], "Never", "busybox").exit_code, 1);
        assert_eq!(command(&["sh", "-c", "exit 3"], "Always", "busybox").exit_code, 3);
        assert_eq!(command(&["sleep", "3600"], "Always", "busybox").runs_for(&mut context), None);
        assert!(!command(&[], "Always", "registry:5000/web:missing").pullable);
        assert!(command(&[], "Always", "registry:5000/web").pullable);
    }
}
