//! Discovery: versions, groups and resources, as single documents or aggregated.

use http::{HeaderValue, Response, header};
use serde_json::{Value, json};

use super::negotiate::wants_aggregated_discovery;
use super::request::ApiRequest;
use super::respond;
use crate::catalogue::{Catalogue, Resource, Subresource};
use crate::cluster::Body;
use crate::object;
use crate::status::Status;

/// Minor version of the imitated server.
const MINOR: &str = "36";

pub(crate) fn version() -> Value {
    json!({
        "major": "1", "minor": MINOR, "emulationMajor": "1", "emulationMinor": MINOR,
        "minCompatibilityMajor": "1", "minCompatibilityMinor": "35",
        "gitVersion": format!("v1.{MINOR}.0+playground"), "gitCommit": "", "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z", "goVersion": "", "compiler": "rustc",
        "platform": format!("{}/{}", std::env::consts::OS, std::env::consts::ARCH),
    })
}

pub(crate) fn paths(catalogue: &Catalogue) -> Value {
    let mut paths = vec!["/api".to_owned(), "/api/v1".into(), "/apis".into()];
    for (group, versions) in catalogue.groups().into_iter().filter(|(group, _)| !group.is_empty()) {
        paths.push(format!("/apis/{group}"));
        paths.extend(versions.iter().map(|version| format!("/apis/{group}/{version}")));
    }
    paths.extend(
        ["/healthz", "/livez", "/openapi/v2", "/openapi/v3", "/readyz", "/version"].map(str::to_owned),
    );
    json!({"paths": paths})
}

pub(crate) fn core(call: &ApiRequest) -> Result<Response<Body>, Status> {
    if wants_aggregated_discovery(call) {
        return aggregated(call, str::is_empty);
    }
    let addresses = json!([{"clientCIDR": "0.0.0.0/0", "serverAddress": call.header(header::HOST)}]);
    respond::json(
        &json!({"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": addresses}),
    )
}

pub(crate) fn groups(call: &ApiRequest) -> Result<Response<Body>, Status> {
    if wants_aggregated_discovery(call) {
        return aggregated(call, |group| !group.is_empty());
    }
    let catalogue = call.cluster.catalogue();
    let groups = catalogue.groups();
    let groups: Vec<Value> = groups
        .iter()
        .filter(|(group, _)| !group.is_empty())
        .map(|(group, versions)| describe(group, versions))
        .collect();
    respond::json(&json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}))
}

fn describe(group: &str, versions: &[&str]) -> Value {
    let version = |version: &&str| json!({"groupVersion": format!("{group}/{version}"), "version": version});
    let versions: Vec<Value> = versions.iter().map(version).collect();
    json!({"name": group, "preferredVersion": versions.first(), "versions": versions})
}

pub(crate) fn group(call: &ApiRequest, group: &str) -> Result<Response<Body>, Status> {
    let catalogue = call.cluster.catalogue();
    let groups = catalogue.groups();
    let Some((_, versions)) = groups.iter().find(|(name, _)| *name == group) else {
        return Ok(respond::text(404, "404 page not found\n"));
    };
    let mut body = describe(group, versions);
    object::fields(&mut body).insert("kind".into(), "APIGroup".into());
    object::fields(&mut body).insert("apiVersion".into(), "v1".into());
    respond::json(&body)
}

pub(crate) fn resources(call: &ApiRequest, group: &str, version: &str) -> Result<Response<Body>, Status> {
    let catalogue = call.cluster.catalogue();
    let served = catalogue.resources().iter().filter(|r| r.group == group && r.version == version);
    let mut resources = Vec::new();
    for resource in served {
        resources.push(entry(resource));
        resources.extend(resource.subresources.iter().map(|subresource| sub_entry(resource, subresource)));
    }
    if resources.is_empty() {
        return absent(&catalogue, group);
    }
    let group_version = if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") };
    let mut body = json!({"kind": "APIResourceList", "groupVersion": group_version, "resources": resources});
    if !group.is_empty() {
        object::fields(&mut body).insert("apiVersion".into(), "v1".into());
    }
    respond::json(&body)
}

/// Response for an unknown version: a Status for built-in groups, a plain 404 for all others.
pub(crate) fn absent(catalogue: &Catalogue, group: &str) -> Result<Response<Body>, Status> {
    let own = catalogue.resources().iter().any(|r| r.group == group && r.custom.is_none());
    if own { Err(Status::no_such_path()) } else { Ok(respond::text(404, "404 page not found\n")) }
}

fn entry(resource: &Resource) -> Value {
    let mut entry = json!({
        "name": resource.plural, "singularName": resource.singular, "namespaced": resource.is_namespaced(),
        "kind": resource.kind, "verbs": verbs(resource),
    });
    add_names(&mut entry, resource);
    entry
}

/// Verbs in discovery order; custom resources have another order.
fn verbs(resource: &Resource) -> &'static [&'static str] {
    match resource.custom {
        Some(_) => &["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"],
        None => resource.verbs.words(),
    }
}

fn add_names(entry: &mut Value, resource: &Resource) {
    for (field, names) in [("shortNames", &resource.short_names), ("categories", &resource.categories)] {
        if !names.is_empty() {
            object::fields(entry).insert(field.into(), json!(names));
        }
    }
}

fn sub_entry(resource: &Resource, subresource: &Subresource) -> Value {
    let mut entry = json!({
        "name": format!("{}/{}", resource.plural, subresource.name), "singularName": "",
        "namespaced": resource.is_namespaced(), "kind": subresource.kind, "verbs": subresource.verbs,
    });
    if !subresource.version.is_empty() {
        object::fields(&mut entry).insert("group".into(), subresource.group.into());
        object::fields(&mut entry).insert("version".into(), subresource.version.into());
    }
    entry
}

fn aggregated(call: &ApiRequest, wanted: impl Fn(&str) -> bool) -> Result<Response<Body>, Status> {
    let catalogue = call.cluster.catalogue();
    let items: Vec<Value> = catalogue
        .groups()
        .iter()
        .filter(|(group, _)| wanted(group))
        .map(|(group, versions)| {
            let versions: Vec<Value> =
                versions.iter().map(|version| aggregated_version(&catalogue, group, version)).collect();
            let metadata = if group.is_empty() { json!({}) } else { json!({"name": group}) };
            json!({"metadata": metadata, "versions": versions})
        })
        .collect();
    let body = json!({
        "kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items,
    });
    let mut response = respond::json(&body)?;
    let media = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(media));
    Ok(response)
}

fn aggregated_version(catalogue: &Catalogue, group: &str, version: &str) -> Value {
    let served = catalogue.resources().iter().filter(|r| r.group == group && r.version == version);
    let resources: Vec<Value> = served.map(|resource| aggregated_resource(resource)).collect();
    json!({"version": version, "resources": resources, "freshness": "Current"})
}

fn aggregated_resource(resource: &Resource) -> Value {
    // Built-in kinds have empty group and version here; custom ones name them.
    let (group, version) = match resource.custom {
        Some(_) => (resource.group.as_str(), resource.version.as_str()),
        None => ("", ""),
    };
    let scope = if resource.is_namespaced() { "Namespaced" } else { "Cluster" };
    let mut entry = json!({
        "resource": resource.plural, "responseKind": {"group": group, "version": version, "kind": resource.kind},
        "scope": scope, "singularResource": resource.singular, "verbs": verbs(resource),
    });
    add_names(&mut entry, resource);
    if !resource.subresources.is_empty() {
        let subresources: Vec<Value> = resource
            .subresources
            .iter()
            .map(|sub| {
                let (group, version) =
                    if sub.version.is_empty() { (group, version) } else { (sub.group, sub.version) };
                let kind = json!({"group": group, "version": version, "kind": sub.kind});
                json!({"subresource": sub.name, "responseKind": kind, "verbs": sub.verbs})
            })
            .collect();
        object::fields(&mut entry).insert("subresources".into(), subresources.into());
    }
    entry
}
