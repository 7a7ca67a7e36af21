//! Objects of a prepared deployment, sent one after the other, and their results.

use super::Prepared;
use crate::{
    DeployManifest, DeployStrategy, Failure, LabelSelectors, Line, Manifest, OperationResult,
    SpinnakerOperation, StrategyAnnotations,
};

/// Object to send, and the method.
#[derive(Debug, Clone, PartialEq)]
pub struct Delivery {
    pub manifest: Manifest,
    pub method: Method,
    /// Secret whose values stand for the absent `data` of this one.
    pub values_from: Option<String>,
    /// Set if it matches the label selector of the request; otherwise it is not sent.
    pub selected: bool,
}

/// Method of sending an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Create; the server generates the name.
    Create,
    Strategy(DeployStrategy),
}

/// Deployment that is being sent.
#[derive(Debug)]
pub struct Deliveries {
    account: String,
    selectors: String,
    allow_nothing: bool,
    pending: std::vec::IntoIter<Delivery>,
    result: OperationResult,
    history: Vec<Line>,
}

// === impl Delivery ===

impl Delivery {
    fn new(prepared: Prepared, selectors: &LabelSelectors) -> Self {
        let Prepared { manifest, values_from } = prepared;
        let method = if manifest.name().is_none() && manifest.generate_name().is_some() {
            Method::Create
        } else {
            Method::Strategy(StrategyAnnotations::of(&manifest).strategy)
        };
        let selected = selectors.matches(|key| manifest.label(key));
        Self { manifest: manifest.without_nulls(), method, values_from, selected }
    }

    /// Failure for kubectl's message. A replace of an object that does not exist is a create.
    pub fn failed(&self, said: &str, is_there: bool) -> Failure {
        let verb = match self.method {
            Method::Strategy(DeployStrategy::Replace) if is_there => "Replace",
            Method::Create | Method::Strategy(DeployStrategy::Replace) => "Create",
            Method::Strategy(_) => "Deploy",
        };
        Failure::kubectl(format!("{verb} failed for manifest: {}. Error: {said}", self.manifest.full_name()))
    }
}

// === impl Deliveries ===

impl Deliveries {
    pub(super) fn new(
        account: &str,
        request: &DeployManifest,
        manifests: Vec<Prepared>,
        result: OperationResult,
    ) -> Result<Self, Failure> {
        let selectors = &request.label_selectors;
        let deliveries: Vec<_> =
            manifests.into_iter().map(|manifest| Delivery::new(manifest, selectors)).collect();
        let replaces = |delivery: &Delivery| delivery.method == Method::Strategy(DeployStrategy::Replace);
        if !selectors.is_empty() && deliveries.iter().any(replaces) {
            let message = "label selectors not supported with replace strategy, not deploying";
            return Err(Failure::illegal_state(message));
        }
        Ok(Self {
            account: account.to_owned(),
            selectors: selectors.to_string(),
            allow_nothing: selectors.is_empty() || request.allow_nothing_selected == Some(true),
            pending: deliveries.into_iter(),
            result,
            history: Vec::new(),
        })
    }

    /// Next object; one that is not selected is only acknowledged.
    pub fn next_delivery(&mut self) -> Option<Delivery> {
        let delivery = self.pending.next()?;
        let (kind, name) = (delivery.manifest.kind(), delivery.manifest.full_name());
        self.say(format!("Finding deployer for {kind}..."));
        self.say(format!("Submitting manifest {name} to kubernetes master..."));
        Some(delivery)
    }

    /// Records the object in the cluster, or none if it was not selected.
    pub fn delivered(&mut self, delivery: &Delivery, object: Option<&Manifest>) {
        if let Some(object) = object {
            self.result.add_manifest(object);
        }
        let (name, account) = (delivery.manifest.full_name(), &self.account);
        self.say(format!(
            "Deploy manifest task completed successfully for manifest {name} in account {account}"
        ));
    }

    /// Result after all objects were delivered.
    pub fn finish(&mut self) -> Result<OperationResult, Failure> {
        let Self { account, selectors, .. } = &*self;
        if self.result.is_empty() && !self.allow_nothing {
            return Err(Failure::illegal_state(format!(
                "nothing deployed to account {account} with label selector(s) {selectors}"
            )));
        }
        self.say(format!(
            "Deploy manifest task completed successfully for all manifests in account {account}"
        ));
        Ok(std::mem::take(&mut self.result))
    }

    /// Takes the lines that were added since the last call.
    pub fn take_history(&mut self) -> Vec<Line> {
        std::mem::take(&mut self.history)
    }

    fn say(&mut self, status: impl Into<String>) {
        self.history.push(Line::new(SpinnakerOperation::DeployManifest.phase(), status));
    }
}
