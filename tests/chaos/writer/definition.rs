//! A definition of a kind that comes and goes.

use std::time::Duration;

use kube::{
    Api,
    api::{DeleteParams, DynamicObject, PostParams},
    core::ApiResource,
};
use serde_json::json;
use tokio::time::{sleep, timeout};

use super::{GROUP, Site, Sort};

/// Where a definition stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Definition {
    Absent,
    /// It comes or goes.
    Unsettled,
    Served,
}

/// A definition that takes longer than this to come or go is left as it is: the API server may be frozen.
const TOGGLE_LIMIT: Duration = Duration::from_secs(10);

const PAUSE: Duration = Duration::from_millis(100);

// === impl Site ===

impl Site {
    pub(crate) async fn definition(&self) -> kube::Result<Definition> {
        let Some(definition) = self.definitions().get_opt(&name()).await? else {
            return Ok(Definition::Absent);
        };
        let conditions = definition.data["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let established = conditions
            .iter()
            .any(|condition| condition["type"] == "Established" && condition["status"] == "True");
        let goes = definition.metadata.deletion_timestamp.is_some();
        Ok(if established && !goes { Definition::Served } else { Definition::Unsettled })
    }

    /// Removes the definition with all objects of its kind if it is there; else creates it and some of them.
    pub(crate) async fn toggle_definition(&self) {
        let toggled = async {
            // The API server may be away for some of the time.
            while self.try_toggle().await.is_err() {
                sleep(PAUSE).await;
            }
        };
        timeout(TOGGLE_LIMIT, toggled).await.ok();
    }

    async fn try_toggle(&self) -> kube::Result<()> {
        if self.definition().await? == Definition::Absent {
            let definition = serde_json::from_value(definition()).map_err(kube::Error::SerdeError)?;
            self.definitions().create(&PostParams::default(), &definition).await?;
            for name in ["gear", "lever", "spring"] {
                while self.put(Sort::Widget, name, name).await.is_err() {
                    sleep(PAUSE).await;
                }
            }
        } else {
            self.definitions().delete(&name(), &DeleteParams::default()).await?;
        }
        Ok(())
    }

    fn definitions(&self) -> Api<DynamicObject> {
        let resource = ApiResource {
            group: "apiextensions.k8s.io".into(),
            version: "v1".into(),
            api_version: "apiextensions.k8s.io/v1".into(),
            kind: "CustomResourceDefinition".into(),
            plural: "customresourcedefinitions".into(),
        };
        Api::all_with(self.client.clone(), &resource)
    }
}

fn name() -> String {
    format!("widgets.{GROUP}")
}

fn definition() -> serde_json::Value {
    let schema = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": name() },
        "spec": {
            "group": GROUP,
            "names": { "kind": "Widget", "plural": "widgets" },
            "scope": "Namespaced",
            "versions": [
                { "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": schema } },
            ],
        },
    })
}
