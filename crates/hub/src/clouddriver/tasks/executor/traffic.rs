//! Enable and disable: adds or removes the labels by which load balancers select a workload and its pods.

use serde_json::Value;
use spindrift_model::PatchKind;
use spindrift_spinnaker::{
    Coordinates, Failure, Kind, Manifest, SpinnakerOperation,
    operation::EnableManifest,
    traffic::{self, Traffic},
};

use super::{Listing, OperationExecutor, Outcome};
use crate::clouddriver::tasks::step_error::StepError;

// === impl OperationExecutor ===

impl OperationExecutor<'_> {
    /// Enables or disables traffic.
    pub(super) async fn switch(&mut self, switch: &EnableManifest, target: &Coordinates) -> Outcome {
        let lines = self.lines();
        let object = self.get(target).await?.ok_or_else(|| Failure::no_such_manifest(target))?;
        self.say(lines.getting_load_balancers());
        let supplied = !switch.load_balancers.is_empty();
        let names = if supplied { switch.load_balancers.clone() } else { traffic::load_balancers(&object) };
        self.say(lines.using_load_balancers(supplied, &names));
        for name in &names {
            let service = traffic::load_balancer(name)?.at(&*target.namespace);
            let found = self.get(&service).await?;
            let found = found.ok_or_else(|| Failure::no_such_load_balancer(&service))?;
            self.say(lines.patching_target(name));
            self.relabel(&found, &object, target).await?;
            if target.kind.has_pods_of_its_own() {
                self.say(lines.patching_pods(name));
                for pod in self.pods(&object, &target.namespace).await? {
                    self.relabel(&found, &pod, &pod.coordinates()).await?;
                }
            }
        }
        self.say(lines.traffic_done(target));
        Ok(None)
    }

    async fn pods(&mut self, replica_set: &Manifest, namespace: &str) -> Result<Vec<Manifest>, StepError> {
        let Some(selector) = replica_set.pod_selector() else { return Ok(Vec::new()) };
        let is_own = |pod: &Manifest| traffic::is_pod_of(pod, replica_set);
        let pod = Kind::parse("pod");
        let selected = Listing { selector: Some(selector), ..Listing::of(&pod, namespace) };
        self.list(selected, is_own).await
    }

    async fn relabel(
        &mut self,
        service: &Manifest,
        object: &Manifest,
        target: &Coordinates,
    ) -> Result<(), StepError> {
        let on = self.operation == SpinnakerOperation::EnableManifest;
        let patch = traffic::patch(if on { Traffic::On } else { Traffic::Off }, service, object);
        if patch.is_empty() {
            return Ok(());
        }
        let Coordinates { namespace, name, .. } = target;
        let failed = |said: &str| {
            Failure::kubectl(format!("Patch failed for: {name} in namespace: {namespace}: {said}"))
        };
        self.send(target, PatchKind::Json, Value::Array(patch))
            .await
            .map_err(|error| error.or_failure(failed))
    }
}
