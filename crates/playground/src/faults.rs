//! Faults between a cluster and its clients, injected on demand or by a script.
//!
//! ```text
//! request ──▶ Faults (a Layer) ──▶ API ──▶ answer ──▶ Spoiled body ──▶ client
//!               │ cut, freeze, status, forget            │ cut, freeze, forget, slow, malformed body
//!               └─────────── inject, lift ◀── Script ────┘ also while a watch is open
//! ```

mod error_response;
mod faulty_body;
mod malformed;
mod request_info;
mod script;

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use futures::{FutureExt, future::BoxFuture};
use http::{Request, Response};
use parking_lot::{Mutex, RwLock};
use serde::Deserialize;
use tokio::sync::watch;

pub use malformed::MalformedBody;
pub use request_info::Verb;
pub use script::{Script, ScriptError};

use crate::cluster::{Body, Cluster, ConnectionClosed, Layer, Next, RequestBody};
use request_info::RequestInfo;

/// Faults of one cluster. Without any, all requests pass.
pub struct Faults {
    active: RwLock<Vec<Arc<ActiveFault>>>,
    /// Number of faults ever injected; open watches check again when it or the list changes.
    changed: watch::Sender<u64>,
    rng: Mutex<fastrand::Rng>,
}

/// An effect, and the requests that it applies to.
#[derive(Debug, Clone, PartialEq)]
pub struct Fault {
    pub effect: Effect,
    /// Empty for all verbs.
    pub verbs: Vec<Verb>,
    /// Plurals such as `pods`; empty for all requests, also those without a resource.
    pub resources: Vec<String>,
    /// Fraction of the matching requests that the fault hits.
    pub share: f64,
    /// Number of hits after which the fault ends.
    pub times: Option<u32>,
}

/// Effect of a fault.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
pub enum Effect {
    /// Connections are closed without a response, or in the middle of one.
    Cut,
    /// Requests are accepted, but nothing is sent until the fault ends.
    Freeze,
    /// An error instead of the response.
    Status {
        code: u16,
        #[serde(default, with = "script::optional_span")]
        retry_after: Option<Duration>,
    },
    /// History is dropped: resumed watches, open watches and later pages of lists get 410.
    #[serde(rename = "forget")]
    ExpireHistory,
    /// Bodies are sent slowly.
    Slow { bytes_per_second: u32 },
    /// Bodies are malformed.
    #[serde(rename = "odd")]
    Malformed(MalformedBody),
}

/// Id of an injected fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct FaultId(u64);

#[derive(Debug)]
struct ActiveFault {
    id: u64,
    fault: Fault,
    hits: AtomicU32,
}

// === impl Fault ===

impl Fault {
    /// A fault of every request.
    pub fn new(effect: Effect) -> Self {
        Self { effect, verbs: Vec::new(), resources: Vec::new(), share: 1.0, times: None }
    }

    #[must_use]
    pub fn of_verbs(mut self, verbs: impl IntoIterator<Item = Verb>) -> Self {
        self.verbs.extend(verbs);
        self
    }

    #[must_use]
    pub fn of_resource(mut self, plural: &str) -> Self {
        self.resources.push(plural.to_owned());
        self
    }

    #[must_use]
    pub fn times(mut self, times: u32) -> Self {
        self.times = Some(times);
        self
    }

    fn matches(&self, info: &RequestInfo) -> bool {
        (self.verbs.is_empty() || self.verbs.contains(&info.verb))
            && (self.resources.is_empty() || self.resources.contains(&info.resource))
    }
}

// === impl Faults ===

impl Faults {
    /// Installs an empty set of faults in front of a cluster's API.
    pub fn before(cluster: &Cluster) -> Arc<Self> {
        let faults = Arc::new(Self {
            active: RwLock::default(),
            changed: watch::Sender::new(0),
            rng: Mutex::new(fastrand::Rng::with_seed(1)),
        });
        cluster.set_layer(Some(Arc::new(FaultLayer(Arc::clone(&faults)))));
        faults
    }

    /// Activates a fault.
    pub fn inject(&self, fault: Fault) -> FaultId {
        let mut active = self.active.write();
        let id = *self.changed.borrow() + 1;
        active.push(Arc::new(ActiveFault { id, fault, hits: AtomicU32::new(0) }));
        // Under the lock, so that the next fault gets another id.
        self.changed.send_replace(id);
        FaultId(id)
    }

    /// Ends a fault; requests that it froze continue.
    pub fn lift(&self, fault: FaultId) {
        self.active.write().retain(|active| active.id != fault.0);
        self.changed.send_modify(|_| ());
    }

    /// Number of requests and open bodies that a fault has hit; none after it ended.
    pub fn hits(&self, fault: FaultId) -> Option<u32> {
        let active = self.active.read();
        let found = active.iter().find(|active| active.id == fault.0)?;
        Some(found.hits.load(Ordering::Relaxed))
    }

    /// Faults newer than an id that hit a request.
    fn hit(&self, info: &RequestInfo, after: u64) -> Vec<Arc<ActiveFault>> {
        let active = self.active.read();
        let new = active.iter().filter(|active| active.id > after && active.fault.matches(info));
        new.filter(|active| self.strikes(active)).cloned().collect()
    }

    fn strikes(&self, active: &ActiveFault) -> bool {
        if active.fault.share < 1.0 && self.rng.lock().f64() >= active.fault.share {
            return false;
        }
        let most = active.fault.times.unwrap_or(u32::MAX);
        let hit = |hits: u32| (hits < most).then(|| hits.saturating_add(1));
        active.hits.fetch_update(Ordering::Relaxed, Ordering::Relaxed, hit).is_ok()
    }

    fn is_active(&self, id: u64) -> bool {
        self.active.read().iter().any(|active| active.id == id)
    }

    /// Waits until a fault ends.
    async fn lifted(&self, id: u64) {
        let mut changed_rx = self.changed.subscribe();
        while self.is_active(id) {
            if changed_rx.changed().await.is_err() {
                return;
            }
        }
    }
}

/// The faults as a layer.
struct FaultLayer(Arc<Faults>);

impl Layer for FaultLayer {
    fn handle(
        &self,
        mut request: Request<RequestBody>,
        next: Next,
    ) -> BoxFuture<'static, Result<Response<Body>, ConnectionClosed>> {
        let faults = Arc::clone(&self.0);
        async move {
            let info = RequestInfo::of(request.method(), request.uri());
            let seen = *faults.changed.borrow();
            let hit = faults.hit(&info, 0);
            for active in &hit {
                match active.fault.effect {
                    Effect::Cut => return Err(ConnectionClosed),
                    Effect::Freeze => faults.lifted(active.id).await,
                    Effect::Status { code, retry_after } => {
                        return Ok(error_response::answer(code, retry_after));
                    }
                    Effect::ExpireHistory if info.continues => return Ok(error_response::answer(410, None)),
                    // Compressed bodies cannot be modified.
                    Effect::Malformed(_) => drop(request.headers_mut().remove(http::header::ACCEPT_ENCODING)),
                    Effect::ExpireHistory | Effect::Slow { .. } => {}
                }
            }
            let answer = next.run(request).await;
            Ok(answer.map(|body| faulty_body::wrap(body, faults, info, hit, seen)))
        }
        .boxed()
    }
}
