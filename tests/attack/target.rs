//! The hub that is attacked.

use serde_json::Value;
use spindrift_testkit::{Database, HubProcess};

use crate::{bystander::Bystander, probe::HealthProbe};

/// Size of the attacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scale {
    /// Seconds in all, as part of `make test`.
    Short,
    /// As large as an attacker would make them.
    Full,
}

/// A hub under attack, and the cases that were tried on it.
pub(crate) struct Target {
    pub(crate) hub: HubProcess,
    pub(crate) scale: Scale,
    bystander: Bystander,
    probe: HealthProbe,
    cases: Vec<Case>,
    _database: Database,
}

/// One thing that was tried, and why it failed, if it did.
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) failure: Option<String>,
}

/// Result of one attack.
pub(crate) struct Measured {
    pub(crate) cases: Vec<Case>,
    pub(crate) peak_rss: u64,
    pub(crate) longest_gap: std::time::Duration,
}

// === impl Scale ===

impl Scale {
    /// `SPINDRIFT_ATTACK_FULL=1` selects the full size.
    pub(crate) fn from_env() -> Self {
        if std::env::var("SPINDRIFT_ATTACK_FULL").is_ok_and(|value| value == "1") {
            Self::Full
        } else {
            Self::Short
        }
    }

    pub(crate) fn pick<T>(self, short: T, full: T) -> T {
        match self {
            Self::Short => short,
            Self::Full => full,
        }
    }
}

// === impl Target ===

impl Target {
    /// Starts a hub on SQLite with a bystander whose account is cached.
    pub(crate) async fn start(scale: Scale, settings: &[(&str, &str)]) -> Self {
        let database = Database::sqlite().unwrap();
        let settings: Vec<(&str, Value)> = settings
            .iter()
            .map(|(pointer, value)| (*pointer, serde_json::from_str(value).unwrap()))
            .collect();
        let hub = HubProcess::start("hub-attacked", &database, &settings).await.unwrap();
        let bystander = Bystander::start(&hub).await;
        let probe = HealthProbe::start(&hub);
        Self { hub, scale, bystander, probe, cases: Vec::new(), _database: database }
    }

    /// Records a case; `failure` says what was seen instead.
    pub(crate) fn case(&mut self, name: impl Into<String>, result: Result<(), String>) {
        self.cases.push(Case { name: name.into(), failure: result.err() });
    }

    /// Records a case that holds or does not.
    pub(crate) fn check(&mut self, name: impl Into<String>, holds: bool, seen: impl ToString) {
        self.case(name, if holds { Ok(()) } else { Err(seen.to_string()) });
    }

    /// Ends the attack: the hub still runs, and the bystander is served.
    pub(crate) async fn finish(mut self) -> Measured {
        let exited = self.hub.daemon().exited();
        self.check("the hub still runs", exited.is_none(), format!("{exited:?}"));
        let served = self.bystander.operate(&self.hub).await;
        self.case("the bystander's operation succeeds", served.map_err(|error| format!("{error:#}")));
        let longest_gap = self.probe.longest_gap();
        let peak_rss = self.hub.daemon().peak_rss_bytes().unwrap_or(u64::MAX);
        Measured { cases: self.cases, peak_rss, longest_gap }
    }
}
