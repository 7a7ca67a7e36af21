//! Minimal OpenAPI: enough for clients to write. It lists the paths that support patches and declares server-side field
//! validation.
//!
//! `kubectl apply` checks here whether the server validates fields, and looks for the schema by which it merges. The
//! document has no schemas for built-in kinds, so that kubectl uses its built-in types.

use http::{HeaderValue, Response};
use serde_json::{Map, Value, json};

use super::request::ApiRequest;
use super::respond;
use crate::catalogue::{Catalogue, Resource};
use crate::cluster::Body;
use crate::object;
use crate::status::Status;

/// An OpenAPI v2 document in protobuf: field 1, `swagger`, is `2.0`; no other fields.
const EMPTY_V2: &[u8] = b"\x0a\x032.0";

pub(crate) fn v2(call: &ApiRequest) -> Response<Body> {
    if call.header(http::header::ACCEPT).contains("protobuf") {
        let media = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";
        return respond::stream(HeaderValue::from_static(media), respond::full(EMPTY_V2));
    }
    let body = json!({
        "swagger": "2.0", "info": {"title": "Kubernetes", "version": "playground"}, "paths": {}, "definitions": {},
    });
    respond::bytes(200, body.to_string())
}

fn root(group: &str, version: &str) -> String {
    if group.is_empty() { format!("api/{version}") } else { format!("apis/{group}/{version}") }
}

pub(crate) fn v3_index(catalogue: &Catalogue) -> Value {
    let mut paths = Map::new();
    for (group, versions) in catalogue.groups() {
        for version in versions {
            let root = root(group, version);
            paths.insert(root.clone(), json!({"serverRelativeURL": format!("/openapi/v3/{root}")}));
        }
    }
    json!({"paths": paths})
}

pub(crate) fn v3(call: &ApiRequest, group: &str, version: &str) -> Result<Response<Body>, Status> {
    let catalogue = call.cluster.catalogue();
    let (mut paths, mut schemas) = (Map::new(), Map::new());
    for resource in catalogue.resources().iter().filter(|r| r.group == group && r.version == version) {
        let root = root(group, version);
        let base = if resource.is_namespaced() {
            format!("/{root}/namespaces/{{namespace}}/{}", resource.plural)
        } else {
            format!("/{root}/{}", resource.plural)
        };
        paths.insert(base.clone(), json!({"post": operation("post", resource)}));
        let one = json!({
            "put": operation("put", resource), "patch": operation("patch", resource),
            "delete": operation("delete", resource), "get": operation("get", resource),
        });
        paths.insert(format!("{base}/{{name}}"), one);
        let (name, schema) = schema(resource);
        schemas.insert(name, schema);
    }
    if paths.is_empty() {
        return Ok(respond::text(404, "404 page not found\n"));
    }
    respond::json(&json!({
        "openapi": "3.0.0", "info": {"title": "Kubernetes", "version": "playground"}, "paths": paths,
        "components": {"schemas": schemas},
    }))
}

fn group_version_kind(resource: &Resource) -> Value {
    json!({"group": resource.group, "version": resource.version, "kind": resource.kind})
}

fn operation(verb: &str, resource: &Resource) -> Value {
    let parameter =
        |name: &str| json!({"name": name, "in": "query", "schema": {"type": "string", "uniqueItems": true}});
    let parameters = ["dryRun", "fieldManager", "fieldValidation"].map(parameter);
    let mut operation = json!({
        "parameters": parameters,
        "responses": {"200": {"description": "OK"}},
        "x-kubernetes-action": verb, "x-kubernetes-group-version-kind": group_version_kind(resource),
    });
    if verb == "patch" {
        // Strategic merge patches are not listed here: clients that find them expect merge keys in the schema.
        let kinds =
            ["application/apply-patch+yaml", "application/json-patch+json", "application/merge-patch+json"];
        let content: Map<String, Value> =
            kinds.iter().map(|kind| ((*kind).to_owned(), json!({"schema": {"type": "object"}}))).collect();
        object::fields(&mut operation).insert("requestBody".into(), json!({"content": content}));
    }
    operation
}

fn schema(resource: &Resource) -> (String, Value) {
    let reversed: Vec<&str> = resource.group.split('.').rev().filter(|part| !part.is_empty()).collect();
    let prefix = if reversed.is_empty() { "io.k8s.api.core".to_owned() } else { reversed.join(".") };
    let mut schema = match &resource.custom {
        Some(custom) if custom.schema.is_object() => custom.schema.clone(),
        _ => json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}),
    };
    object::fields(&mut schema)
        .insert("x-kubernetes-group-version-kind".into(), json!([group_version_kind(resource)]));
    (format!("{prefix}.{}.{}", resource.version, resource.kind), schema)
}
