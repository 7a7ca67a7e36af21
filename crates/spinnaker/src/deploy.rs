//! Deployment as a state machine without I/O: the caller performs the lookups and sends the objects.
//!
//! ```text
//! Deploy::begin ─▶ for each manifest, in order: lookups() ─▶ prepare(live) ─▶ … ─▶ check() ─▶ Deliveries
//!                                                                                                  │
//!              OperationResult ◀── finish() ◀── delivered(the object in the cluster) ◀── send ◀─────┘
//! ```
//!
//! Everything is prepared before anything is sent. Then objects are sent one by one, and the first error ends it; what
//! was sent stays.

use crate::{
    Artifact, Binding, Coordinates, DeployManifest, Failure, FullName, ImageMatch, Kind, KindRules, Line,
    Lines, Manifest, OperationResult, Pool, SpinnakerOperation, StrategyAnnotations, Version, bind,
    check_bound, operation::RolloutStrategy, traffic, version,
};

mod delivery;
mod label;
mod order;

pub use delivery::{Deliveries, Delivery, Method};
pub use label::Labelling;
use order::sort;

/// Settings of the account to deploy to.
#[derive(Debug, Clone)]
pub struct Target<'a> {
    pub account: &'a str,
    pub rules: &'a KindRules,
    pub images: ImageMatch,
    pub labelling: Labelling<'a>,
}

/// Deployment that is being prepared.
#[derive(Debug)]
pub struct Deploy<'a> {
    target: Target<'a>,
    request: &'a DeployManifest,
    /// Manifests of the request, in the order of deployment; the first `ready.len()` are prepared.
    manifests: Vec<Manifest>,
    ready: Vec<Prepared>,
    pool: Pool,
    created: Vec<Artifact>,
    bound: Vec<Artifact>,
    history: Vec<Line>,
}

/// Manifest that is ready to be sent.
#[derive(Debug)]
struct Prepared {
    manifest: Manifest,
    values_from: Option<String>,
}

/// Read of the cluster that is needed to prepare a manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lookup {
    /// All objects of a kind in a namespace; empty means the default.
    List { kind: Kind, namespace: String },
    /// One object, if it exists.
    Get(Coordinates),
}

/// Objects found by the [`Lookup`]s.
#[derive(Debug, Clone, Default)]
pub struct Live {
    pub listed: Vec<Manifest>,
    pub got: Vec<Manifest>,
    /// Names of listed objects that were applied with the same content, for kinds whose content may not be shown.
    pub same: Vec<String>,
}

// === impl Deploy ===

impl<'a> Deploy<'a> {
    pub fn new(target: Target<'a>, request: &'a DeployManifest) -> Self {
        let binds = request.enable_artifact_binding.unwrap_or(true);
        let pool = if binds {
            Pool::new(&request.required_artifacts, &request.optional_artifacts)
        } else {
            Pool::default()
        };
        Self {
            target,
            request,
            manifests: Vec::new(),
            ready: Vec::new(),
            pool,
            created: Vec::new(),
            bound: Vec::new(),
            history: Vec::new(),
        }
    }

    /// Sorts manifests, whose namespaces are set already, into the order of deployment.
    pub fn begin(&mut self, mut manifests: Vec<Manifest>) -> Result<(), Failure> {
        self.history.extend(Lines(SpinnakerOperation::DeployManifest).start(self.target.account));
        self.say("Sorting manifests by priority...");
        let mut compared = Vec::new();
        let sorted = sort(&mut manifests, self.target.rules, |kind| compared.push(kind.clone()));
        for kind in &compared {
            self.finding(kind);
        }
        sorted.map_err(|error| Failure::illegal_state(error.to_string()))?;
        let names: Vec<_> = manifests.iter().map(|manifest| manifest.full_name().to_string()).collect();
        self.say(format!("Deploy order is: {}", names.join(", ")));
        self.manifests = manifests;
        Ok(())
    }

    /// Next manifest to prepare, as in the request.
    pub fn upcoming(&self) -> Option<&Manifest> {
        self.manifests.get(self.ready.len())
    }

    /// Lookups for the next manifest; none if all are prepared.
    pub fn lookups(&self) -> Option<Vec<Lookup>> {
        let manifest = self.upcoming()?;
        let annotations = StrategyAnnotations::of(manifest);
        let mut lookups = Vec::new();
        if self.is_versioned(manifest) {
            let (kind, namespace) = (manifest.kind().clone(), manifest.namespace().to_owned());
            lookups.push(Lookup::List { kind, namespace });
        } else if annotations.use_source_capacity && manifest.kind().has_source_capacity() {
            lookups.push(Lookup::Get(manifest.coordinates()));
        }
        let services = self.load_balancers(manifest).into_iter();
        let services =
            services.filter_map(|name| Some(FullName::parse(&name).ok()?.at(manifest.namespace())));
        lookups.extend(services.filter(|service| self.in_request(service).is_none()).map(Lookup::Get));
        Some(lookups)
    }

    /// Prepares the next manifest with the results of its lookups.
    pub fn prepare(&mut self, live: &Live) -> Result<(), Failure> {
        let Some(mut manifest) = self.upcoming().cloned() else { return Ok(()) };
        self.check_history(&manifest)?;
        let (kind, full_name) = (manifest.kind().clone(), manifest.full_name().to_string());
        let source = manifest.name().filter(|_| manifest.uid().is_some()).map(str::to_owned);
        self.say(format!("Binding artifacts in {full_name}..."));
        self.finding(&kind);
        self.bind(&mut manifest);
        self.finding(&kind);
        let Some(moniker) = &self.request.moniker else {
            return Err(Failure::illegal_argument("deployManifest needs a moniker with an app"));
        };
        let versioned = self.is_versioned(&manifest);
        let number = versioned.then(|| Version::of(&manifest, &live.listed, &live.same));
        let moniker = moniker.for_deployment(&full_name, number.map(|Version(number)| number));
        let text = number.map(|version| version.to_string());
        let artifact = Artifact::created(&manifest, self.target.account, text.as_deref());
        self.created.push(artifact.clone());
        self.pool.put(artifact.clone());
        self.say(format!("Annotating manifest {full_name} with artifact, relationships & moniker..."));
        artifact.annotate(&mut manifest);
        take_source_capacity(&mut manifest, versioned, live);
        self.attach(&mut manifest, live)?;
        let skip_pods = self.request.skip_spec_template_labels == Some(true);
        self.target.labelling.apply(&mut manifest, &moniker, skip_pods);
        if let Some(name) = &artifact.reference {
            manifest.set_name(name);
        }
        // An edited Secret keeps the values of the one that was read, also under a new name; others those that are there.
        let source = source.or_else(|| manifest.name().map(str::to_owned));
        let values_from = source.filter(|_| manifest.lacks_values());
        self.ready.push(Prepared { manifest, values_from });
        Ok(())
    }

    /// Checks the deployment as a whole and returns the objects to send.
    pub fn check(&mut self) -> Result<Deliveries, Failure> {
        self.say("Checking if all requested artifacts were bound...");
        if self.request.enable_artifact_binding.unwrap_or(true) {
            check_bound(&self.request.required_artifacts, &self.bound)
                .map_err(|unbound| Failure::illegal_argument(unbound.in_deployment()))?;
        }
        let mut result = OperationResult::new();
        result.add_created(self.created.drain(..));
        result.add_bound(self.bound.drain(..));
        Deliveries::new(self.target.account, self.request, std::mem::take(&mut self.ready), result)
    }

    /// Takes the lines that were added since the last call.
    pub fn take_history(&mut self) -> Vec<Line> {
        std::mem::take(&mut self.history)
    }

    /// Red/black needs the version before the newest.
    fn check_history(&self, manifest: &Manifest) -> Result<(), Failure> {
        let strategy = self.request.strategy;
        let red_black = matches!(strategy, Some(RolloutStrategy::RedBlack | RolloutStrategy::BlueGreen));
        if red_black
            && StrategyAnnotations::of(manifest).max_version_history.is_some_and(|history| history < 2)
        {
            return Err(Failure::runtime(
                "The max version history specified in your manifest conflicts with the behavior of the Red/Black \
                 rollout strategy. Please update your strategy.spinnaker.io/max-version-history annotation to a value \
                 greater than or equal to 2.",
            ));
        }
        Ok(())
    }

    fn bind(&mut self, manifest: &mut Manifest) {
        let namespace = manifest.namespace().to_owned();
        let Target { account, images, .. } = self.target;
        let binding = Binding { account, namespace: &namespace, images };
        let kind = manifest.kind().clone();
        let bound = bind(&kind, manifest.as_map_mut(), self.pool.artifacts(), binding);
        let names: Vec<_> = bound.iter().map(ToString::to_string).collect();
        self.say(format!("Bound artifacts: [{}]...", names.join(", ")));
        self.bound.extend(bound);
    }

    fn attach(&mut self, manifest: &mut Manifest, live: &Live) -> Result<(), Failure> {
        traffic::annotate(manifest, &self.request.services)?;
        if !manifest.kind().can_receive_traffic() || self.request.enable_traffic == Some(false) {
            return Ok(());
        }
        let shown = self.upcoming().map(Manifest::full_name);
        for name in traffic::load_balancers(manifest) {
            let service = traffic::load_balancer(&name)?.at(manifest.namespace());
            let found =
                self.in_request(&service).or_else(|| live.got.iter().find(|it| is_same(it, &service)));
            let Some(found) = found.cloned() else {
                return Err(Failure::illegal_argument(format!("Load balancer {name} does not exist")));
            };
            if let Some(shown) = &shown {
                self.say(format!("Attaching load balancer {name} to {shown}"));
            }
            traffic::attach(&found, manifest)?;
        }
        Ok(())
    }

    fn load_balancers(&self, manifest: &Manifest) -> Vec<String> {
        if !manifest.kind().can_receive_traffic() || self.request.enable_traffic == Some(false) {
            return Vec::new();
        }
        let annotated = traffic::load_balancers(manifest);
        if annotated.is_empty() { self.request.services.clone() } else { annotated }
    }

    fn in_request(&self, service: &Coordinates) -> Option<&Manifest> {
        self.manifests.iter().find(|manifest| is_same(manifest, service))
    }

    fn is_versioned(&self, manifest: &Manifest) -> bool {
        StrategyAnnotations::of(manifest).is_versioned(self.request.versioned, manifest, self.target.rules)
    }

    fn finding(&mut self, kind: &Kind) {
        self.say(format!("Finding deployer for {kind}..."));
    }

    fn say(&mut self, status: impl Into<String>) {
        self.history.push(Line::new(SpinnakerOperation::DeployManifest.phase(), status));
    }
}

/// Copies the replicas of the live object if the manifest requests it: of the same name, or of the newest version.
fn take_source_capacity(manifest: &mut Manifest, versioned: bool, live: &Live) {
    let wanted =
        StrategyAnnotations::of(manifest).use_source_capacity && manifest.kind().has_source_capacity();
    let coordinates = manifest.coordinates();
    let source = if versioned {
        version::latest(manifest, &live.listed)
    } else {
        live.got.iter().find(|object| is_same(object, &coordinates))
    };
    let replicas = source.and_then(|source| source.pointer("/spec/replicas"));
    if let (true, Some(replicas)) = (wanted, replicas) {
        manifest.set_replicas(replicas.clone());
    }
}

/// Whether an object has these coordinates; no namespace means the default one.
fn is_same(object: &Manifest, wanted: &Coordinates) -> bool {
    *object.kind() == wanted.kind
        && object.name() == Some(&wanted.name)
        && (wanted.namespace.is_empty() || object.namespace() == wanted.namespace)
}
