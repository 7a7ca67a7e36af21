//! An execution, its stages, and their contexts.

use serde_json::{Map, Value, json};

use super::{Call, Exception, exception::string};

/// Status of an execution, stage or task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    NotStarted,
    Running,
    Succeeded,
    Terminal,
}

/// A stage as a user configured it.
#[derive(Debug, Clone)]
pub struct StageSpec {
    /// Such as `deployManifest`.
    pub kind: String,
    pub context: Map<String, Value>,
}

/// A run of some stages.
#[derive(Debug)]
pub struct Execution {
    pub id: String,
    pub application: String,
    pub status: Status,
    /// In the order in which they ran.
    pub stages: Vec<Stage>,
    /// All calls to Clouddriver, in order.
    pub calls: Vec<Call>,
}

/// A stage that runs, or has run.
#[derive(Debug)]
pub struct Stage {
    pub id: String,
    /// Such as `0`, or `0>1` for one that follows by a rollout strategy.
    pub ref_id: String,
    pub kind: String,
    pub status: Status,
    /// `STAGE_AFTER` for one that follows.
    pub owner: Option<&'static str>,
    pub start_time: u64,
    pub context: Map<String, Value>,
    pub outputs: Map<String, Value>,
    pub tasks: Vec<(&'static str, Status)>,
}

// === impl Status ===

impl Status {
    /// Orca's word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NotStarted => "NOT_STARTED",
            Self::Running => "RUNNING",
            Self::Succeeded => "SUCCEEDED",
            Self::Terminal => "TERMINAL",
        }
    }
}

// === impl StageSpec ===

impl StageSpec {
    /// A stage with a context that is an object.
    pub fn new(kind: impl Into<String>, context: Value) -> Self {
        let context = if let Value::Object(map) = context { map } else { Map::new() };
        Self { kind: kind.into(), context }
    }
}

// === impl Execution ===

impl Execution {
    pub(super) fn new(application: &str) -> Self {
        let application = application.to_owned();
        Self { id: id(), application, status: Status::Running, stages: Vec::new(), calls: Vec::new() }
    }

    pub(super) fn has_failed(&self) -> bool {
        self.stages.iter().any(|stage| stage.status == Status::Terminal)
    }

    pub(super) fn finish(&mut self, calls: Vec<Call>) {
        self.status = if self.has_failed() { Status::Terminal } else { Status::Succeeded };
        self.calls = calls;
    }

    /// Why it failed, in the words that Deck would show.
    pub fn failure(&self) -> Option<String> {
        let stage = self.stages.iter().find(|stage| stage.status == Status::Terminal)?;
        let thrown =
            stage.context.get("exception").map(|exception| exception["details"]["errors"].to_string());
        let told = || {
            let tasks = stage.context.get("kato.tasks")?.as_array()?;
            let failed = tasks.iter().rev().find_map(|task| task.pointer("/exception/message"));
            failed?.as_str().map(str::to_owned)
        };
        let unstable = || stage.context.get("messages").map(ToString::to_string);
        thrown.or_else(told).or_else(unstable)
    }
}

// === impl Stage ===

impl Stage {
    pub(super) fn new(spec: StageSpec, ref_id: String) -> Self {
        Self {
            id: id(),
            ref_id,
            kind: spec.kind,
            status: Status::Running,
            owner: None,
            start_time: 1_794_775_800_000 + fastrand::u64(..1_000_000_000),
            context: spec.context,
            outputs: Map::new(),
            tasks: Vec::new(),
        }
    }

    pub(super) fn after(spec: StageSpec, ref_id: String) -> Self {
        Self { owner: Some("STAGE_AFTER"), ..Self::new(spec, ref_id) }
    }

    /// Value of the context under a key; null if there is none.
    pub(super) fn get(&self, key: &str) -> &Value {
        self.context.get(key).unwrap_or(&Value::Null)
    }

    /// A text of the context.
    pub(super) fn text(&self, key: &str) -> Result<String, Exception> {
        match self.get(key) {
            Value::Null => Err(Exception::null_pointer(key)),
            value => string(key, value).map(str::to_owned),
        }
    }

    /// The account, under any of the keys that it may have.
    pub(super) fn account(&self) -> Result<String, Exception> {
        let keys = ["account.name", "account", "credentials"];
        let key = keys.into_iter().find(|key| !self.get(key).is_null());
        self.text(key.ok_or_else(|| Exception::illegal("the stage names no account"))?)
    }

    /// Without a provider in the stage, Orca assumes AWS.
    pub(super) fn cloud_provider(&self) -> Result<String, Exception> {
        if self.get("cloudProvider").is_null() { Ok("aws".into()) } else { self.text("cloudProvider") }
    }

    pub(super) fn remember(&mut self, key: &str, value: impl Into<Value>) {
        self.context.insert(key.to_owned(), value.into());
    }

    /// Adds an output, which later stages see, too.
    pub(super) fn put_out(&mut self, key: &str, value: impl Into<Value>) {
        let value = value.into();
        self.context.insert(key.to_owned(), value.clone());
        self.outputs.insert(key.to_owned(), value);
    }

    pub(super) fn fail(&mut self, task: &str, exception: &Exception) {
        self.status = Status::Terminal;
        self.remember("exception", exception.to_value(task));
    }

    /// Stores the target of an operation on one manifest, for later tasks.
    pub(super) fn remember_target(&mut self, account: &str, location: &str, name: &str) {
        self.remember("manifest.account.name", account);
        self.remember("manifest.name", name);
        self.remember("manifest.location", location);
        self.remember("outputs.manifestNamesByNamespace", json!({ location: [name] }));
    }
}

/// An id of the form that Orca gives out.
fn id() -> String {
    const LETTERS: [char; 32] = [
        '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'A', 'B', 'C', 'D', 'E', 'F', 'G', 'H', 'J', 'K',
        'M', 'N', 'P', 'Q', 'R', 'S', 'T', 'V', 'W', 'X', 'Y', 'Z',
    ];
    let letter = |_| LETTERS[fastrand::usize(..LETTERS.len())];
    format!("01{}", (0..24).map(letter).collect::<String>())
}
