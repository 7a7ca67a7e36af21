//! Fault scripts: which faults are active when. [`Script::HELP`] documents the format.

use std::{convert::Infallible, sync::Arc, time::Duration};

use serde::{Deserialize, Deserializer, de::Error};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::{Effect, Fault, FaultId, Faults, Verb};
use crate::controllers::Timers;

/// Faults and their schedule.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    steps: Vec<ScriptStep>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct ScriptStep {
    #[serde(default, deserialize_with = "span")]
    at: Duration,
    #[serde(default, rename = "for", with = "optional_span")]
    lasts: Option<Duration>,
    #[serde(default, with = "optional_span")]
    every: Option<Duration>,
    #[serde(default)]
    clusters: Vec<String>,
    #[serde(default)]
    verbs: Vec<Verb>,
    #[serde(default)]
    resources: Vec<String>,
    #[serde(default = "all")]
    share: f64,
    times: Option<u32>,
    fault: Effect,
}

/// Error in a script.
#[derive(Debug, thiserror::Error)]
pub enum ScriptError {
    #[error("read the fault script: {message}")]
    Unreadable { message: String },
    #[error("step {step} of the fault script: {problem}")]
    Step { step: usize, problem: String },
}

/// A script in execution.
struct ScriptRunner {
    steps: Vec<ScriptStep>,
    clusters: Vec<(String, Arc<Faults>)>,
    /// Injected faults of each step.
    active: Vec<Vec<(Arc<Faults>, FaultId)>>,
    events: Timers<StepEvent>,
}

/// Begin or end of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum StepEvent {
    End(usize),
    Begin(usize),
}

fn all() -> f64 {
    1.0
}

fn span<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    let text = String::deserialize(deserializer)?;
    let span: jiff::SignedDuration = text.parse().map_err(|_| {
        D::Error::custom(format!("{text:?} is not a time span; write it like 500ms, 10s or 1m30s"))
    })?;
    Duration::try_from(span).map_err(|_| D::Error::custom(format!("{text:?} is negative")))
}

pub(super) mod optional_span {
    use super::{Deserializer, Duration, span};

    pub(in crate::faults) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Duration>, D::Error> {
        span(deserializer).map(Some)
    }
}

// === impl Script ===

impl Script {
    /// Format of a script, for users.
    pub const HELP: &str = "\
A script of faults is YAML:

  steps:
    - at: 10s                     # after the start; 0s without it
      for: 5s                     # until the end of the run without it
      every: 1m                   # again and again; once without it
      clusters: [eu-west, us-*]   # all without it
      verbs: [list, watch]        # get, list, watch, create, update, patch, delete; all without it
      resources: [pods]           # plurals; all without it
      share: 0.5                  # of the requests; all without it
      times: 3                    # hits in a cluster; no limit without it
      fault: cut

A fault is one of:
  cut                                   connections end without an answer; open watches break off
  freeze                                requests are accepted, nothing is sent until the step ends
  status: {code: 503, retryAfter: 2s}   this error; 429 and 5xx are of interest
  forget                                resumed and open watches, and later pages of lists, get 410
  slow: {bytesPerSecond: 1000}          bodies are sent slowly
  odd: truncated                        a body breaks off in the middle of an object, and ends
  odd: wrongTypes                       texts where objects should be
  odd: {huge: {bytes: 4000000}}         an event, or an answer, that is as much longer
  odd: duplicate                        events twice
  odd: garbage                          something that is not JSON";

    /// Parses a script from YAML.
    pub fn parse(text: &str) -> Result<Self, ScriptError> {
        let script: Self = serde_saphyr::from_str(text)
            .map_err(|error| ScriptError::Unreadable { message: error.to_string() })?;
        for (number, step) in script.steps.iter().enumerate() {
            step.check().map_err(|problem| ScriptError::Step { step: number + 1, problem })?;
        }
        Ok(script)
    }

    /// Runs the script on these clusters until it is cancelled.
    pub async fn play(
        self,
        clusters: Vec<(String, Arc<Faults>)>,
        stop: CancellationToken,
    ) -> Result<(), Infallible> {
        let active = vec![Vec::new(); self.steps.len()];
        ScriptRunner { steps: self.steps, clusters, active, events: Timers::new() }.run(stop).await;
        Ok(())
    }
}

// === impl ScriptRunner ===

impl ScriptRunner {
    async fn run(mut self, stop: CancellationToken) {
        let start = Instant::now();
        for (number, step) in self.steps.iter().enumerate() {
            self.events.set(StepEvent::Begin(number), start + step.at);
        }
        loop {
            let due = self.events.next().unwrap_or_else(|| Instant::now() + Duration::from_hours(1));
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                () = sleep_until(due) => {}
            }
            while let Some(event) = self.events.pop(Instant::now()) {
                self.handle(event, due);
            }
        }
    }

    fn handle(&mut self, event: StepEvent, due: Instant) {
        let (StepEvent::Begin(number) | StepEvent::End(number)) = event;
        let (Some(step), Some(active)) = (self.steps.get(number), self.active.get_mut(number)) else {
            return;
        };
        for (faults, id) in active.drain(..) {
            faults.lift(id);
        }
        if event == StepEvent::End(number) {
            return;
        }
        let hit = self.clusters.iter().filter(|(name, _)| step.is_for(name));
        active.extend(hit.map(|(_, faults)| (Arc::clone(faults), faults.inject(step.fault()))));
        if let Some(lasts) = step.lasts {
            self.events.set(StepEvent::End(number), due + lasts);
        }
        if let Some(every) = step.every {
            self.events.set(StepEvent::Begin(number), due + every);
        }
    }
}

// === impl ScriptStep ===

impl ScriptStep {
    fn check(&self) -> Result<(), String> {
        if !(0.0..=1.0).contains(&self.share) {
            return Err(format!("share: expected 0 to 1, found {}", self.share));
        }
        if self.every.is_some_and(|every| every < Duration::from_millis(10)) {
            return Err("every: expected at least 10ms".to_owned());
        }
        if let (Some(lasts), Some(every)) = (self.lasts, self.every)
            && lasts > every
        {
            return Err(format!("for: expected at most the {every:?} of every, found {lasts:?}"));
        }
        match self.fault {
            Effect::Status { code, .. } if !(400..600).contains(&code) => {
                Err(format!("fault.status.code: expected 400 to 599, found {code}"))
            }
            Effect::Slow { bytes_per_second: 0 } => {
                Err("fault.slow.bytesPerSecond: expected 1 or more".to_owned())
            }
            _ => Ok(()),
        }
    }

    fn is_for(&self, cluster: &str) -> bool {
        self.clusters.is_empty() || self.clusters.iter().any(|pattern| fits(pattern, cluster))
    }

    fn fault(&self) -> Fault {
        let Self { verbs, resources, share, times, fault, .. } = self.clone();
        Fault { effect: fault, verbs, resources, share, times }
    }
}

/// Whether a name matches a pattern, in which `*` matches any text.
fn fits(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((head, tail)) => name.strip_prefix(head).is_some_and(|rest| {
            (0..=rest.len()).filter(|at| rest.is_char_boundary(*at)).any(|at| fits(tail, &rest[at..]))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::faults::MalformedBody;

    #[test]
    fn a_script_is_read_with_its_defaults() {
        let script = Script::parse(
            "
steps:
  - at: 10s
    for: 1m30s
    every: 5m
    clusters: [eu-west, us-*]
    verbs: [list, watch]
    resources: [pods]
    share: 0.5
    times: 3
    fault: {status: {code: 429, retryAfter: 2s}}
  - fault: cut
  - fault: {odd: garbage}
  - fault: {odd: {huge: {bytes: 9}}}
  - fault: {slow: {bytesPerSecond: 100}}
",
        )
        .unwrap();
        let first = &script.steps[0];
        assert_eq!((first.at, first.lasts), (Duration::from_secs(10), Some(Duration::from_secs(90))));
        let retry_after = Some(Duration::from_secs(2));
        assert_eq!(first.fault, Effect::Status { code: 429, retry_after });
        assert!(first.is_for("us-east") && first.is_for("eu-west") && !first.is_for("eu-west-2"));
        let second = &script.steps[1];
        assert_eq!((second.at, second.lasts, second.share), (Duration::ZERO, None, 1.0));
        assert_eq!(script.steps[2].fault, Effect::Malformed(MalformedBody::Garbage));
        assert_eq!(script.steps[3].fault, Effect::Malformed(MalformedBody::Huge { bytes: 9 }));
        assert_eq!(script.steps[4].fault, Effect::Slow { bytes_per_second: 100 });
    }

    #[test]
    fn the_script_that_the_help_shows_is_one() {
        let shown = Script::HELP.split("\n\n").nth(1).unwrap();
        assert_eq!(Script::parse(shown).unwrap().steps.len(), 1);
        let faults = Script::HELP.split_once("A fault is one of:\n").unwrap().1;
        for line in faults.lines() {
            let fault = line.trim().split("  ").next().unwrap();
            let fault = if fault.contains(':') { format!("{{{fault}}}") } else { fault.to_owned() };
            Script::parse(&format!("steps: [{{fault: {fault}}}]")).unwrap();
        }
    }

    #[test]
    fn what_is_wrong_with_a_script_is_named() {
        for (script, word) in [
            ("steps: [{fault: cut, at: soon}]", "soon"),
            ("steps: [{fault: cut, when: 1s}]", "when"),
            ("steps: [{fault: explode}]", "explode"),
            ("steps: [{fault: cut, share: 2}]", "share"),
            ("steps: [{fault: cut, for: 2m, every: 1m}]", "for: expected at most"),
            ("steps: [{fault: {status: {code: 200}}}]", "code"),
        ] {
            let error = Script::parse(script).unwrap_err().to_string();
            assert!(error.contains(word), "{error}");
        }
    }

    #[test]
    fn stars_stand_for_anything() {
        assert!(fits("*", "x") && fits("a*c", "abc") && fits("a*c*", "acid") && !fits("a*c", "abd"));
    }
}
