//! deploy: everything is prepared before anything is sent, and the first error ends it.

use serde_json::Value;
use spindrift_model::{Apply, ApplyMode, Create, DryRun, KubectlAction, Replace, Validation, Verb};
use spindrift_spinnaker::{
    Delivery, Deploy, DeployManifest, DeployStrategy, Failure, Manifest, Method, OperationResult, Target,
};

use super::{Act, words};
use crate::clouddriver::tasks::halt::Halt;

// === impl Act ===

impl Act<'_> {
    /// Deploys manifests that are in their namespaces.
    pub(super) async fn deploy(
        &mut self,
        request: &DeployManifest,
        manifests: Vec<Manifest>,
    ) -> Result<OperationResult, Halt> {
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

    /// Sends one object, and tells what the cluster has then.
    async fn deliver(&mut self, delivery: &Delivery, by_name: bool) -> Result<Manifest, Halt> {
        let recreates = delivery.method == Method::Strategy(DeployStrategy::Recreate);
        // As kubectl would: it deletes nothing where a name and a selector come together.
        if recreates
            && by_name
            // If something is still there after that, applying it will say what is wrong.
            && let Err(Halt::Lost) = self.remove(&delivery.manifest.coordinates()).await
        {
            return Err(Halt::Lost);
        }
        let answer = match self.change(verb(delivery)).await {
            Ok(answer) => answer,
            Err(Halt::Operation(error)) => {
                let (action, is_there) = self.action(delivery).await?;
                let said = words::undelivered(&error, action, &delivery.manifest);
                return Err(delivery.failed(&said, is_there).into());
            }
            Err(halt) => return Err(halt),
        };
        let object = answer.get("object").cloned().unwrap_or_default();
        Manifest::try_from(object).map_err(|error| {
            Failure::illegal_state(format!("what the cluster answered is no object: {error}")).into()
        })
    }

    /// What kubectl says that it was doing, and whether the object is there: that decides whether it creates.
    async fn action(&mut self, delivery: &Delivery) -> Result<(KubectlAction, bool), Halt> {
        let to_existing = match delivery.method {
            Method::Create => return Ok((KubectlAction::Other("creating"), false)),
            Method::Strategy(DeployStrategy::ServerSideApply { .. }) => {
                return Ok((KubectlAction::Other("patching"), true));
            }
            Method::Strategy(DeployStrategy::Replace) => "replacing",
            Method::Strategy(DeployStrategy::Apply | DeployStrategy::Recreate) => "patching",
        };
        let is_there = match self.get(&delivery.manifest.coordinates()).await {
            Ok(found) => found.is_some(),
            Err(Halt::Lost) => return Err(Halt::Lost),
            // Where nothing can be seen, nothing was found missing.
            Err(_) => delivery.method == Method::Strategy(DeployStrategy::Replace),
        };
        Ok((KubectlAction::Other(if is_there { to_existing } else { "creating" }), is_there))
    }
}

fn verb(delivery: &Delivery) -> Verb {
    let manifest = spindrift_model::Manifest(Value::from(delivery.manifest.clone()));
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
        Method::Strategy(DeployStrategy::Replace) => {
            return Verb::Replace(Replace {
                manifest,
                namespace: None,
                or_create: true,
                force: false,
                save_config: false,
                field_manager: None,
                dry_run: DryRun::None,
                validate: Validation::Strict,
            });
        }
        Method::Strategy(DeployStrategy::ServerSideApply { force }) => (ApplyMode::ServerSide, force),
        // Who asks for nothing else gets what the agent is configured to do.
        Method::Strategy(DeployStrategy::Apply | DeployStrategy::Recreate) => (ApplyMode::Configured, false),
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
    })
}
