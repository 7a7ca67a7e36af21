//! A job is run by deploying it in the namespace of the request; each time it is re-created.

use super::{DeployManifest, RunJob};
use crate::{Failure, Manifest, Moniker, strategy};

// === impl RunJob ===

impl RunJob {
    /// Deployment that runs the job, and its manifest.
    pub fn deployment(&self) -> Result<(DeployManifest, Manifest), Failure> {
        let manifest = self.manifest.as_ref().and_then(|manifest| Manifest::try_from(manifest.clone()).ok());
        let Some(mut manifest) = manifest.filter(|manifest| manifest.kind().is("job")) else {
            return Err(Failure::illegal_argument("Only kind of Job is accepted for the Run Job operation."));
        };
        if !self.namespace.is_empty() {
            manifest.set_namespace(&self.namespace);
        }
        strategy::recreate(&mut manifest);
        let deployment = DeployManifest {
            moniker: Some(Moniker { app: self.application.clone(), ..Moniker::default() }),
            required_artifacts: self.required_artifacts.clone(),
            optional_artifacts: self.optional_artifacts.clone(),
            ..DeployManifest::default()
        };
        Ok((deployment, manifest))
    }
}
