//! `discover`: lists the resources of the API server.

use serde_json::json;
use spindrift_kubernetes::ServedResource;
use spindrift_model::OperationError;

use super::{Answer, OperationContext};
use crate::operate::errors;

pub(super) async fn run(context: &OperationContext) -> Result<Answer, OperationError> {
    context.metrics.kubernetes_requests.inc_by(2);
    let everything = context.account.resolver.everything(context.api()).await;
    let everything = everything.map_err(|error| errors::of_read(&error))?;
    let resources: Vec<_> = everything
        .resources
        .iter()
        .map(|ServedResource { resource, verbs, short_names }| {
            json!({
                "group": &*resource.group, "version": resource.version.as_str(), "kind": &*resource.kind,
                "plural": &*resource.plural, "namespaced": resource.namespaced,
                "verbs": verbs, "shortNames": short_names,
            })
        })
        .collect();
    let undiscovered = &everything.undiscovered_groups;
    Ok(Answer::document(200, &json!({ "resources": resources, "undiscoveredGroups": undiscovered })))
}
