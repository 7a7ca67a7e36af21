//! `top`: reads the resource usage of pods or nodes, from `metrics.k8s.io`.

use http::Method;
use serde_json::{Value, json};
use spindrift_kubernetes::{ApiError, Call};
use spindrift_model::{ErrorKind, OperationError, Resource, Top};

use super::{super::target::ResolvedTarget, Answer, OperationContext, list::Listing, parsed};
use crate::operate::errors;

pub(super) async fn run(context: &OperationContext, top: Top) -> Result<Answer, OperationError> {
    let resource = measured(&top.kind)?;
    let name = top.name.as_deref().filter(|name| !name.is_empty());
    // A name without a namespace is in the default one; neither means all namespaces that the account allows.
    let namespace = match name {
        Some(_) => context.namespace(&resource, top.namespace.as_deref()),
        None => top.namespace.as_deref().filter(|namespace| !namespace.is_empty() && resource.namespaced),
    };
    let aim = ResolvedTarget { resource: resource.clone(), namespace: namespace.map(Into::into), name: None };
    let allowed = if top.anywhere { context.allow_elsewhere(&aim) } else { context.allow(&aim) };
    allowed?;
    let items = match name {
        Some(name) => {
            let call = Call::about(Method::GET, &resource, namespace, Some(name));
            let reply = context.read(&call).await.map_err(|error| unavailable(&error))?;
            vec![parsed::<Value>(&reply.body)?]
        }
        None => listed(context, &resource, &top).await?,
    };
    let list = json!({
        "kind": format!("{}List", resource.kind), "apiVersion": resource.api_version(),
        "metadata": {}, "items": items,
    });
    Ok(Answer::document(200, &list))
}

/// Reads small, short-lived objects at once, without pages or versions.
async fn listed(
    context: &OperationContext,
    resource: &Resource,
    top: &Top,
) -> Result<Vec<Value>, OperationError> {
    let listing = Listing {
        context,
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
        let reply = context.read(&call).await.map_err(|error| unavailable(&error))?;
        let mut list: Value = parsed(&reply.body)?;
        if let Some(Value::Array(found)) = list.get_mut("items").map(Value::take) {
            items.extend(found);
        }
    }
    let omitted = &context.account.config.omit_namespaces;
    items.retain(|item| {
        let namespace = item.pointer("/metadata/namespace").and_then(Value::as_str);
        !namespace.is_some_and(|namespace| omitted.iter().any(|omitted| omitted == namespace))
    });
    Ok(items)
}

fn measured(kind: &str) -> Result<Resource, OperationError> {
    let (kind, plural, namespaced) = match kind.to_lowercase().as_str() {
        "pod" | "pods" | "po" => ("PodMetrics", "pods", true),
        "node" | "nodes" | "no" => ("NodeMetrics", "nodes", false),
        other => {
            let message = format!("kind: expected pods or nodes, found {other:?}");
            return Err(OperationError::agent(ErrorKind::BadRequest, message));
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

/// Error of a cluster without a metrics server, in kubectl's words.
fn unavailable(error: &ApiError) -> OperationError {
    let is_unserved = error.status().is_some_and(|status| {
        status.code == 404
            && (status.message.starts_with("the server could not find") || status.reason.is_empty())
    });
    if is_unserved {
        OperationError::agent(ErrorKind::NotFound, "Metrics API not available")
    } else {
        errors::of_read(error)
    }
}
