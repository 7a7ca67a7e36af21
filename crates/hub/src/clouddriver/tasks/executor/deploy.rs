//! Deploy: all objects are prepared before any is sent, and the first error ends it.

use serde_json::Value;
use spindrift_model::{Apply, ApplyMode, Create, DryRun, KubectlAction, Replace, Validation, Verb};
use spindrift_spinnaker::{
    Delivery, Deploy, DeployManifest, DeployStrategy, Failure, Manifest, Method, OperationResult, Target,
};

use super::{OperationExecutor, kubectl_messages};
use crate::clouddriver::tasks::step_error::StepError;

// === impl OperationExecutor ===

impl OperationExecutor<'_> {
    /// Deploys manifests whose namespaces are set.
    pub(super) async fn deploy(
        &mut self,
        request: &DeployManifest,
        manifests: Vec<Manifest>,
    ) -> Result<OperationResult, StepError> {
        let settings = self.steps.settings();
        let target = Target {
            account: self.account.name.as_str(),
            rules: &self.account.settings.kinds,
            images: settings.artifact_binding.docker_image,
            labelling: settings.labelling(),
        };
        let mut deploy = Deploy::new(target, request);
        let begun = deploy.begin(manifests);
        self.say_all(deploy.take_history());
        begun?;
        while let Some(lookups) = deploy.lookups() {
            let live = self.look_up(deploy.upcoming(), &lookups).await?;
            let prepared = deploy.prepare(&live);
            self.say_all(deploy.take_history());
            prepared?;
        }
        let checked = deploy.check();
        self.say_all(deploy.take_history());
        let mut deliveries = checked?;
        while let Some(delivery) = deliveries.next_delivery() {
            self.say_all(deliveries.take_history());
            let object = if delivery.selected {
                Some(self.deliver(&delivery, request.label_selectors.is_empty()).await?)
            } else {
                None
            };
            deliveries.delivered(&delivery, object.as_ref());
            self.say_all(deliveries.take_history());
        }
        let result = deliveries.finish();
        self.say_all(deliveries.take_history());
        Ok(result?)
    }

    /// Sends one object and returns it as it is in the cluster.
    async fn deliver(&mut self, delivery: &Delivery, by_name: bool) -> Result<Manifest, StepError> {
        // As kubectl does, which deletes nothing if it gets both a name and a selector.
        if recreates(delivery)
            && by_name
            && delivery.values_from.is_none()
            // If the deletion fails, the apply that follows reports the reason.
            && let Err(StepError::Lost) = self.remove(&delivery.manifest.coordinates()).await
        {
            return Err(StepError::Lost);
        }
        let answer = match self.change(verb(delivery, by_name)).await {
            Ok(answer) => answer,
            Err(StepError::Operation(error)) => {
                let (action, exists) = self.action(delivery).await?;
                let said = kubectl_messages::undelivered(&error, action, &delivery.manifest);
                return Err(delivery.failed(&said, exists).into());
            }
            Err(error) => return Err(error),
        };
        let object = answer.get("object").cloned().unwrap_or_default();
        Manifest::try_from(object).map_err(|error| {
            Failure::illegal_state(format!("the cluster's response is not an object: {error}")).into()
        })
    }

    /// Action in kubectl's error message, and whether the object exists, which decides between create and patch.
    async fn action(&mut self, delivery: &Delivery) -> Result<(KubectlAction, bool), StepError> {
        let to_existing = match delivery.method {
            Method::Create => return Ok((KubectlAction::Other("creating"), false)),
            Method::Strategy(DeployStrategy::ServerSideApply { .. }) => {
                return Ok((KubectlAction::Other("patching"), true));
            }
            Method::Strategy(DeployStrategy::Replace) => "replacing",
            Method::Strategy(DeployStrategy::Apply | DeployStrategy::Recreate) => "patching",
        };
        let exists = match self.get(&delivery.manifest.coordinates()).await {
            Ok(found) => found.is_some(),
            Err(StepError::Lost) => return Err(StepError::Lost),
            // If it cannot be read, a replace counts as one of an existing object.
            Err(_) => delivery.method == Method::Strategy(DeployStrategy::Replace),
        };
        Ok((KubectlAction::Other(if exists { to_existing } else { "creating" }), exists))
    }
}

fn recreates(delivery: &Delivery) -> bool {
    delivery.method == Method::Strategy(DeployStrategy::Recreate)
}

fn verb(delivery: &Delivery, by_name: bool) -> Verb {
    let manifest = spindrift_model::Manifest(Value::from(delivery.manifest.clone()));
    let values_from = delivery.values_from.clone();
    // A Secret without values is deleted and created by the agent, which keeps them.
    let force = recreates(delivery) && by_name && values_from.is_some();
    if force || delivery.method == Method::Strategy(DeployStrategy::Replace) {
        return Verb::Replace(Replace {
            manifest,
            namespace: None,
            or_create: true,
            force,
            save_config: force,
            field_manager: None,
            dry_run: DryRun::None,
            validate: Validation::Strict,
            values_from,
        });
    }
    let (mode, force_conflicts) = match delivery.method {
        Method::Create => {
            return Verb::Create(Create {
                manifest,
                namespace: None,
                save_config: false,
                field_manager: None,
                dry_run: DryRun::None,
                validate: Validation::Strict,
            });
        }
        Method::Strategy(DeployStrategy::ServerSideApply { force }) => (ApplyMode::ServerSide, force),
        // The agent's configuration chooses between client-side and server-side apply.
        Method::Strategy(_) => (ApplyMode::Configured, false),
    };
    Verb::Apply(Apply {
        manifest,
        namespace: None,
        mode,
        field_manager: None,
        force_conflicts,
        force: false,
        dry_run: DryRun::None,
        validate: Validation::Strict,
        values_from,
    })
}
