//! Reads what pods or nodes use, from `metrics.k8s.io`.

use http::Method;
use serde_json::{Value, json};
use spindrift_kubernetes::{ApiError, Call};
use spindrift_model::{Resource, Top};

use super::{super::subject::Aim, Answer, Failure, Hand, list::Listing, parsed};

pub(super) async fn run(hand: &Hand, top: Top) -> Result<Answer, Failure> {
    let resource = measured(&top.kind)?;
    let name = top.name.as_deref().filter(|name| !name.is_empty());
    // A name without a namespace is in the usual one; no name and no namespace are all that the account may see.
    let namespace = match name {
        Some(_) => hand.namespace(&resource, top.namespace.as_deref()),
        None => top.namespace.as_deref().filter(|namespace| !namespace.is_empty() && resource.namespaced),
    };
    let aim = Aim { resource: resource.clone(), namespace: namespace.map(Into::into), name: None };
    let allowed = if top.anywhere { hand.allow_elsewhere(&aim) } else { hand.allow(&aim) };
    allowed?;
    let items = match name {
        Some(name) => {
            let call = Call::about(Method::GET, &resource, namespace, Some(name));
            let reply = hand.read(&call).await.map_err(|error| unavailable(&error))?;
            vec![parsed::<Value>(&reply.body)?]
        }
        None => listed(hand, &resource, &top).await?,
    };
    let list = json!({
        "kind": format!("{}List", resource.kind), "apiVersion": resource.api_version(),
        "metadata": {}, "items": items,
    });
    Ok(Answer::document(200, &list))
}

/// Small objects that live for a moment: asked for whole, without pages or versions.
async fn listed(hand: &Hand, resource: &Resource, top: &Top) -> Result<Vec<Value>, Failure> {
    let listing = Listing {
        hand,
        resource,
        namespace: top.namespace.as_deref(),
        label_selector: top.label_selector.as_deref(),
        field_selector: None,
    };
    let mut items = Vec::new();
    for namespace in listing.scopes() {
        let mut call = Call::about(Method::GET, resource, namespace, None);
        if let Some(selector) = top.label_selector.as_deref().filter(|selector| !selector.is_empty()) {
            call = call.query("labelSelector", selector);
        }
        let reply = hand.read(&call).await.map_err(|error| unavailable(&error))?;
        let mut list: Value = parsed(&reply.body)?;
        if let Some(Value::Array(found)) = list.get_mut("items").map(Value::take) {
            items.extend(found);
        }
    }
    let omitted = &hand.account.config.omit_namespaces;
    items.retain(|item| {
        let namespace = item.pointer("/metadata/namespace").and_then(Value::as_str);
        !namespace.is_some_and(|namespace| omitted.iter().any(|omitted| omitted == namespace))
    });
    Ok(items)
}

fn measured(kind: &str) -> Result<Resource, Failure> {
    let (kind, plural, namespaced) = match kind.to_lowercase().as_str() {
        "pod" | "pods" | "po" => ("PodMetrics", "pods", true),
        "node" | "nodes" | "no" => ("NodeMetrics", "nodes", false),
        other => {
            let message = format!("kind: expected pods or nodes, found {other:?}");
            return Err(Failure::ours(400, "BadRequest", message));
        }
    };
    Ok(Resource {
        group: "metrics.k8s.io".into(),
        version: "v1beta1".into(),
        kind: kind.into(),
        plural: plural.into(),
        namespaced,
    })
}

/// A cluster without a metrics server knows nothing of these paths; kubectl has a word for that.
fn unavailable(error: &ApiError) -> Failure {
    let is_unserved = error.status().is_some_and(|status| {
        status.code == 404
            && (status.message.starts_with("the server could not find") || status.reason.is_empty())
    });
    if is_unserved {
        Failure::ours(404, "NotFound", "Metrics API not available")
    } else {
        Failure::of_read(error)
    }
}
