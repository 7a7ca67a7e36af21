//! `matches`: compares the data of an object with a manifest or another object, without revealing either.
//!
//! A manifest is compared with the last applied one, as Clouddriver does when it looks for a version to reuse: all but the
//! metadata. If nothing was applied, and for two objects, their data is compared.

use std::collections::BTreeMap;

use base64::{Engine, engine::general_purpose::STANDARD};
use http::Method;
use serde_json::{Value, json};
use spindrift_kubernetes::{Object, last_applied, normalized, prune_nulls};
use spindrift_model::{Manifest, Matches, ObjectRef, OperationError};

use super::{
    super::{Answer, OperationContext, target::ResolvedTarget},
    manifest_target::{Live, ManifestTarget, bad_request},
};
use crate::operate::errors;

pub(super) async fn run(context: &OperationContext, matches: Matches) -> Result<Answer, OperationError> {
    let Matches { target, manifest, other } = matches;
    let object = read(context, target).await?;
    let (matches, by) = match (manifest, other) {
        (Some(Manifest(Value::Object(manifest))), None) => match last_applied(&object) {
            Some(Ok(applied)) => (content(applied) == content(manifest), "lastApplied"),
            _ => (holding(&object) == holding(&manifest), "data"),
        },
        (None, Some(other)) => (holding(&object) == holding(&read_other(context, other).await?), "data"),
        (Some(_), None) => return Err(bad_request("manifest: expected an object")),
        _ => return Err(bad_request("expected either manifest or other")),
    };
    Ok(Answer::document(200, &json!({ "matches": matches, "by": by })))
}

async fn read(context: &OperationContext, target: ObjectRef) -> Result<Object, OperationError> {
    let (target, name) = ManifestTarget::named(context, target).await?;
    let call = target.call(Method::GET, Some(&name));
    let reply = context.read(&call).await.map_err(|error| errors::of_read(&error))?;
    Ok(Live::of(reply.body)?.object)
}

/// Reads the other object, which may be in a namespace that the account does not allow.
async fn read_other(context: &OperationContext, other: ObjectRef) -> Result<Object, OperationError> {
    let (target, name) = ManifestTarget::named(context, other.clone()).await?;
    context.allow(&ResolvedTarget {
        resource: target.resource,
        namespace: target.namespace,
        name: Some(name),
    })?;
    read(context, other).await
}

/// All but the metadata, with numbers as they are parsed from the annotation.
fn content(mut object: Object) -> Object {
    object.remove("metadata");
    object.retain(|_, value| !value.is_null());
    object.values_mut().for_each(prune_nulls);
    normalized(object)
}

/// Data of an object in one form: values of a Secret may be encoded or not.
fn holding(object: &Object) -> (Object, BTreeMap<String, Vec<u8>>) {
    let mut rest = content(object.clone());
    rest.remove("status");
    let mut held = BTreeMap::new();
    let is_secret = rest.get("kind").is_some_and(|kind| kind == "Secret");
    let is_config_map = rest.get("kind").is_some_and(|kind| kind == "ConfigMap");
    if is_secret || is_config_map {
        rest.retain(|name, value| !is_default(name, value));
        let encoded = if is_secret { "data" } else { "binaryData" };
        let plain = if is_secret { "stringData" } else { "data" };
        for (name, value) in take(&mut rest, encoded) {
            let bytes = STANDARD.decode(&value).unwrap_or_else(|_| value.into_bytes());
            held.insert(name, bytes);
        }
        held.extend(take(&mut rest, plain).map(|(name, value)| (name, value.into_bytes())));
    }
    (rest, held)
}

/// Default of an absent field in the API server.
fn is_default(name: &str, value: &Value) -> bool {
    match name {
        "immutable" => *value == false,
        "type" => value == "Opaque",
        _ => false,
    }
}

fn take(object: &mut Object, field: &str) -> impl Iterator<Item = (String, String)> + use<> {
    let values = object.remove(field).and_then(|value| match value {
        Value::Object(values) => Some(values),
        _ => None,
    });
    values.into_iter().flatten().filter_map(|(name, value)| Some((name, value.as_str()?.to_owned())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn same(a: Value, b: Value) -> bool {
        let object = |value: Value| value.as_object().expect("an object").clone();
        holding(&object(a)) == holding(&object(b))
    }

    #[test]
    fn values_are_compared_however_they_are_written() {
        let secret = |fields: Value| {
            let mut secret = fields;
            secret["kind"] = "Secret".into();
            secret["apiVersion"] = "v1".into();
            secret
        };
        let encoded =
            || secret(json!({ "data": { "a": "eA==" }, "type": "Opaque", "metadata": { "name": "one" } }));
        assert!(same(encoded(), secret(json!({ "stringData": { "a": "x" } }))));
        assert!(same(encoded(), secret(json!({ "data": { "a": "eQ==" }, "stringData": { "a": "x" } }))));
        assert!(same(
            encoded(),
            secret(json!({ "data": { "a": "eA==" }, "immutable": false, "type": null }))
        ));
        assert!(!same(encoded(), secret(json!({ "data": { "a": "eQ==" } }))));
        assert!(!same(encoded(), secret(json!({ "data": { "a": "eA==", "b": "" } }))));
        assert!(!same(encoded(), secret(json!({ "data": { "a": "eA==" }, "type": "kubernetes.io/tls" }))));
        assert!(!same(encoded(), secret(json!({ "data": { "a": "eA==" }, "immutable": true }))));
        assert!(!same(encoded(), json!({ "kind": "ConfigMap", "apiVersion": "v1", "data": { "a": "x" } })));
    }
}
