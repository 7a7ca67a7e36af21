//! The description of the API (`/openapi.json`): routes describe their own parameters and responses; this module adds
//! those that follow from their paths, and those that all routes have.

use serde_json::json;
use utoipa::{
    OpenApi as _,
    openapi::{
        ContentBuilder, HttpMethod, Object, OpenApi, Ref, RefOr, Required, ResponseBuilder, Type,
        path::{Operation, Parameter, ParameterBuilder, ParameterIn, PathItem},
        tag::TagBuilder,
    },
};

use super::operations::examples::examples;

/// Route of the requests for operations.
const OPERATIONS: &str = "/v1/accounts/{account}/operations";

/// Descriptions of the segments of paths, unless a route has its own.
const SEGMENTS: [(&[&str], &str); 15] = [
    (&["account", "accountName"], "The name of an account"),
    (&["agentId"], "The name of an agent"),
    (&["application", "app"], "The name of an application"),
    (&["cluster"], "The name of a cluster, such as `deployment shop`"),
    (&["hash"], "The digest of an artifact's content"),
    (&["id"], "The id of a task"),
    (&["kind"], "A kind, such as `deployment`"),
    (&["location", "namespace", "region", "scope"], "A namespace"),
    (&["name", "serverGroup"], "`<kind> <name>`, such as `deployment shop`"),
    (&["opId"], "The id of an operation"),
    (&["podName"], "The name of a pod"),
    (&["project"], "The name of a project"),
    (&["provider", "cloudProvider", "type"], "`kubernetes`"),
    (&["summary"], "What is shown of it, such as `images`"),
    (&["target"], "What it is among others, such as `newest`"),
];

/// Groups of routes, in the order in which they are shown.
const TAGS: [(&str, &str); 6] = [
    ("accounts", "Accounts, the agents that serve them, and freezing"),
    ("objects", "Cached objects of all clusters: pages, kinds and a live feed"),
    ("operations", "Operations on clusters: requests, outcomes, cancellation"),
    ("scale agent", "Routes of Armory's Scale Agent plugin"),
    ("clouddriver: operations", "Clouddriver's operations and their tasks, as Orca sends them"),
    ("clouddriver", "Clouddriver's reads, as Orca, Gate and Deck send them"),
];

/// Errors of a request, unless its route has its own.
const REFUSED: &str = "The request makes no sense (400), its method is not one of the path's (405), it is too large \
                       (413), or the hub could not answer (500, 503). `message` or `detail` has the reason.";

#[derive(utoipa::OpenApi)]
#[openapi(
    info(title = "Spindrift hub", description = "The live state of a fleet of Kubernetes clusters"),
    components(schemas(super::error::ErrorBody))
)]
struct Frame;

/// The description before the routes are added.
pub(super) fn frame() -> OpenApi {
    Frame::openapi()
}

/// Adds the descriptions that the routes leave out.
pub(super) fn completed(mut api: OpenApi) -> OpenApi {
    let tag = |(name, description): &(&str, &str)| {
        TagBuilder::new().name(*name).description(Some(*description)).build()
    };
    api.tags = Some(TAGS.iter().map(tag).collect());
    for (path, item) in &mut api.paths.paths {
        for (method, operation) in operations(item) {
            operation.operation_id = Some(name(&method, path));
            describe_segments(operation, path);
            describe_answers(operation);
            operation.tags = Some(vec![tag_of(path).to_owned()]);
            if path == OPERATIONS && method == HttpMethod::Post {
                add_examples(operation);
            }
        }
    }
    api
}

/// Name of the group that a path belongs to.
fn tag_of(path: &str) -> &'static str {
    let segments: Vec<&str> = path.split('/').skip(1).collect();
    match &segments[..] {
        ["v1", "accounts", _, "operations", ..] | ["v1", "operations", ..] => "operations",
        ["v1", "objects" | "api-resources" | "namespaces", ..] => "objects",
        ["v1", "data", ..] => "clouddriver",
        ["v1", ..] => "accounts",
        ["armory" | "agents", ..] => "scale agent",
        [.., "ops"] | ["ops", _] | [_, "ops", _] | ["task", ..] | [_, "task", ..] => {
            "clouddriver: operations"
        }
        _ => "clouddriver",
    }
}

fn add_examples(operation: &mut Operation) {
    if let Some(RefOr::T(body)) = &mut operation.request_body
        && let Some(RefOr::T(content)) = body.content.get_mut("application/json")
    {
        content.examples = examples().collect();
    }
}

/// The operations of a path.
fn operations(item: &mut PathItem) -> impl Iterator<Item = (HttpMethod, &mut Operation)> {
    let PathItem { get, put, post, delete, patch, .. } = item;
    let all = [
        (HttpMethod::Get, get),
        (HttpMethod::Put, put),
        (HttpMethod::Post, post),
        (HttpMethod::Delete, delete),
        (HttpMethod::Patch, patch),
    ];
    all.into_iter().filter_map(|(method, operation)| Some((method, operation.as_mut()?)))
}

/// `getApplicationsByApplicationClusters` for `GET /applications/{application}/clusters`: no two are the same, and clients
/// that are generated keep their names as long as the paths stay.
fn name(method: &HttpMethod, path: &str) -> String {
    let method = json!(method).as_str().unwrap_or_default().to_lowercase();
    path.split('/').fold(method, |name, segment| match parameter(segment) {
        Some(parameter) => name + "By" + &capitalized(parameter),
        None => segment.split(['-', '.']).fold(name, |name, word| name + &capitalized(word)),
    })
}

/// The name in `{name}`.
fn parameter(segment: &str) -> Option<&str> {
    segment.strip_prefix('{')?.strip_suffix('}')
}

fn capitalized(word: &str) -> String {
    let mut rest = word.chars();
    rest.next().map(|first| first.to_uppercase().chain(rest).collect()).unwrap_or_default()
}

/// Adds the segments of a path that its route did not describe, before all other parameters and in the path's order.
fn describe_segments(operation: &mut Operation, path: &str) {
    let mut others = operation.parameters.take().unwrap_or_default();
    let mut all: Vec<RefOr<Parameter>> = Vec::new();
    for name in path.split('/').filter_map(parameter) {
        let told = |other: &RefOr<Parameter>| matches!(other, RefOr::T(other) if other.name == name);
        all.push(match others.iter().position(told).map(|index| others.remove(index)) {
            Some(RefOr::T(told)) if told.description.is_some() => RefOr::T(told),
            _ => RefOr::T(segment(name)),
        });
    }
    all.append(&mut others);
    operation.parameters = Some(all).filter(|all| !all.is_empty());
}

fn segment(name: &str) -> Parameter {
    let meaning = SEGMENTS.iter().find(|(names, _)| names.contains(&name)).map(|(_, meaning)| *meaning);
    ParameterBuilder::new()
        .name(name)
        .parameter_in(ParameterIn::Path)
        .required(Required::True)
        .description(meaning)
        .schema(Some(Object::with_type(Type::String)))
        .build()
}

/// Adds the descriptions of responses, and the errors of all routes.
fn describe_answers(operation: &mut Operation) {
    let answers = &mut operation.responses.responses;
    for (status, answer) in &mut *answers {
        if let RefOr::T(answer) = answer
            && answer.description.is_empty()
        {
            meaning(status).clone_into(&mut answer.description);
        }
    }
    answers.entry("default".to_owned()).or_insert_with(refused);
}

fn meaning(status: &str) -> &'static str {
    match status {
        "200" => "What was asked for",
        "202" => "It goes on",
        "204" => "Done",
        "400" => "The request makes no sense; the answer names what is wrong",
        "404" => "There is no such thing",
        "502" => "Another server, which was to be asked, did not answer",
        "503" => "The hub cannot do its work; the answer names what is missing",
        _ => REFUSED,
    }
}

fn refused() -> RefOr<utoipa::openapi::Response> {
    let body = || ContentBuilder::new().schema(Some(Ref::from_schema_name("ErrorBody"))).build();
    let problem = ContentBuilder::new().schema(Some(Object::with_type(Type::Object))).build();
    ResponseBuilder::new()
        .description(REFUSED)
        .content("application/json", body())
        .content("application/problem+json", problem)
        .into()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::Value;
    use spindrift_model::Verb;

    use super::*;

    fn whole() -> OpenApi {
        completed(super::super::routes().split_for_parts().1)
    }

    #[test]
    fn every_operation_has_a_name_of_its_own() {
        let mut api = whole();
        let mut names = BTreeSet::new();
        for item in api.paths.paths.values_mut() {
            for (_, operation) in operations(item) {
                let name = operation.operation_id.clone().unwrap();
                assert!(names.insert(name.clone()), "{name} twice");
            }
        }
        assert!(names.contains("getApplicationsByApplicationClustersByAccount"), "{names:?}");
        assert!(names.contains("getV1ApiResources") && names.contains("patchByCloudProviderTaskById"));
    }

    #[test]
    fn every_operation_has_a_tag_that_is_described() {
        let mut api = whole();
        let described: BTreeSet<_> = api.tags.iter().flatten().map(|tag| tag.name.clone()).collect();
        let mut used = BTreeSet::new();
        for item in api.paths.paths.values_mut() {
            used.extend(operations(item).flat_map(|(_, operation)| operation.tags.clone().unwrap()));
        }
        assert_eq!(used, described);
    }

    #[test]
    fn the_request_for_an_operation_has_a_schema_and_an_example_per_verb() {
        let api = json!(whole());
        let content = &api["paths"][OPERATIONS]["post"]["requestBody"]["content"]["application/json"];
        let schemas = &api["components"]["schemas"];
        assert_eq!(content["schema"]["$ref"], "#/components/schemas/Verb", "{content}");
        assert_eq!(schemas["Verb"]["oneOf"].as_array().unwrap().len(), Verb::NAMES.len());
        assert_eq!(content["examples"].as_object().unwrap().len(), Verb::NAMES.len());
        assert_eq!(schemas["Scale"]["properties"]["replicas"]["type"], "integer", "{schemas}");
        let missing = references(&api).into_iter().filter(|name| schemas[name].is_null());
        assert_eq!(missing.collect::<Vec<_>>(), Vec::<String>::new());
    }

    /// Names of all schemas that are referenced.
    fn references(value: &Value) -> BTreeSet<String> {
        let text = value.to_string();
        let named = text.split("#/components/schemas/").skip(1);
        named.filter_map(|rest| rest.split('"').next().map(str::to_owned)).collect()
    }

    #[test]
    fn every_segment_of_a_path_is_described() {
        let mut api = whole();
        for (path, item) in &mut api.paths.paths {
            let expected: Vec<_> = path.split('/').filter_map(parameter).collect();
            for (_, operation) in operations(item) {
                let parameters = operation.parameters.iter().flatten();
                let segments: Vec<_> = parameters
                    .filter_map(|parameter| match parameter {
                        RefOr::T(parameter) if parameter.parameter_in == ParameterIn::Path => Some(parameter),
                        _ => None,
                    })
                    .collect();
                let names: Vec<_> = segments.iter().map(|segment| segment.name.as_str()).collect();
                assert_eq!(names, expected, "{path}");
                for segment in segments {
                    assert!(segment.description.is_some(), "{} of {path} has no description", segment.name);
                }
            }
        }
    }
}
