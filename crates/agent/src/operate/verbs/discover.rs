//! Asks which resources there are.

use serde_json::json;
use spindrift_kubernetes::ServedResource;

use super::{Answer, Failure, Hand};

pub(super) async fn run(hand: &Hand) -> Result<Answer, Failure> {
    hand.metrics.kubernetes_requests.inc_by(2);
    let everything = hand.account.resolver.everything(hand.api()).await;
    let everything = everything.map_err(|error| Failure::of_read(&error))?;
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
