//! Routing: from path and method to the requested operation.

use std::sync::Arc;

use http::Method;

use super::metrics::{self, Usage};
use super::query::{PlusSign, decode};
use super::request::ApiRequest;
use crate::catalogue::Resource;
use crate::status::Status;

/// Operation that a request asks for.
pub(crate) enum Route {
    Version,
    Health,
    Paths,
    Core,
    Groups,
    Group(String),
    Resources(String, String),
    OpenApiV2,
    OpenApiV3,
    OpenApiV3Group(String, String),
    /// Usage of pods or nodes.
    Metrics(Usage),
    Resource(RequestTarget),
    Unknown,
}

/// Objects, or a subresource of one.
pub(crate) struct RequestTarget {
    pub(crate) resource: Arc<Resource>,
    /// Empty for all namespaces, and for cluster-scoped resources.
    pub(crate) namespace: String,
    /// Empty for collections.
    pub(crate) name: String,
    pub(crate) subresource: Option<String>,
    /// RBAC verb.
    pub(crate) verb: &'static str,
}

// === impl Route ===

impl Route {
    pub(crate) fn parse(call: &ApiRequest) -> Result<Self, Status> {
        // The real server decodes the path before it splits it: an encoded slash separates segments.
        let path = decode(&call.path, PlusSign::IsPlus);
        let words: Vec<&str> = path.split('/').filter(|segment| !segment.is_empty()).collect();
        Ok(match words.as_slice() {
            [] => Self::Paths,
            ["version"] => Self::Version,
            ["healthz" | "livez" | "readyz", ..] => Self::Health,
            ["api"] => Self::Core,
            ["apis"] => Self::Groups,
            ["openapi", "v2"] => Self::OpenApiV2,
            ["openapi", "v3"] => Self::OpenApiV3,
            ["openapi", "v3", "api", version] => Self::OpenApiV3Group(String::new(), (*version).to_owned()),
            ["openapi", "v3", "apis", group, version] => {
                Self::OpenApiV3Group((*group).to_owned(), (*version).to_owned())
            }
            ["apis", group] => Self::Group((*group).to_owned()),
            ["api", version] => Self::Resources(String::new(), (*version).to_owned()),
            ["apis", group, version] => Self::Resources((*group).to_owned(), (*version).to_owned()),
            ["api", version, rest @ ..] => Self::resource(call, "", version, rest)?,
            ["apis", metrics::GROUP, metrics::VERSION, rest @ ..] => {
                Usage::parse(rest).map_or(Self::Unknown, Self::Metrics)
            }
            ["apis", group, version, rest @ ..] => Self::resource(call, group, version, rest)?,
            _ => Self::Unknown,
        })
    }

    fn resource(call: &ApiRequest, group: &str, version: &str, rest: &[&str]) -> Result<Self, Status> {
        let catalogue = call.cluster.catalogue();
        // Deprecated form of watches: /api/v1/watch/namespaces/default/pods.
        let (rest, old_form) = match rest {
            ["watch", rest @ ..] => (rest, true),
            rest => (rest, false),
        };
        let (namespace, plural, rest) = match rest {
            ["namespaces", namespace, plural, rest @ ..]
                if !(group.is_empty() && matches!(*plural, "status" | "finalize")) =>
            {
                (*namespace, *plural, rest)
            }
            [plural, rest @ ..] => ("", *plural, rest),
            [] => return Ok(Self::Unknown),
        };
        let Some(resource) = catalogue.find(group, version, plural) else {
            let known = catalogue
                .resources()
                .iter()
                .any(|r| r.group == group && (r.custom.is_none() || r.version == version));
            return if known { Err(Status::no_such_path()) } else { Ok(Self::Unknown) };
        };
        let (name, subresource) = match rest {
            [] => ("", None),
            [name] => (*name, None),
            [name, subresource] => (*name, Some((*subresource).to_owned())),
            _ => return Err(Status::no_such_path()),
        };
        if resource.is_namespaced() == namespace.is_empty() && !(resource.is_namespaced() && name.is_empty())
        {
            return Err(Status::no_such_path());
        }
        if subresource.as_ref().is_some_and(|name| resource.subresource(name).is_none()) {
            return Err(Status::no_such_path());
        }
        // A path of one object is a read, whatever the query contains.
        let wants_watch = old_form || (name.is_empty() && call.query.flag("watch") == Some(true));
        let verb = verb(&call.method, name.is_empty(), wants_watch && subresource.is_none())?;
        let target = RequestTarget {
            resource: Arc::clone(resource),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            subresource,
            verb,
        };
        target.check_verb()?;
        Ok(Self::Resource(target))
    }
}

fn verb(method: &Method, collection: bool, watch: bool) -> Result<&'static str, Status> {
    Ok(match (method, collection) {
        (&Method::GET | &Method::HEAD, _) if watch => "watch",
        (&Method::GET | &Method::HEAD, true) => "list",
        (&Method::GET | &Method::HEAD, false) => "get",
        (&Method::POST, _) => "create",
        (&Method::PUT, false) => "update",
        (&Method::PATCH, false) => "patch",
        (&Method::DELETE, true) => "deletecollection",
        (&Method::DELETE, false) => "delete",
        _ => return Err(Status::method_not_allowed()),
    })
}

// === impl RequestTarget ===

impl RequestTarget {
    fn check_verb(&self) -> Result<(), Status> {
        let allowed = match &self.subresource {
            Some(name) => {
                self.resource.subresource(name).is_some_and(|found| found.verbs.contains(&self.verb))
            }
            None => self.resource.verbs.words().contains(&self.verb),
        };
        let collection = self.name.is_empty();
        let misplaced = match self.verb {
            "create" => {
                (self.subresource.is_none() && !collection)
                    || (self.resource.is_namespaced() && self.namespace.is_empty())
            }
            "deletecollection" => self.resource.is_namespaced() && self.namespace.is_empty(),
            _ => false,
        };
        if allowed && !misplaced { Ok(()) } else { Err(Status::method_not_allowed()) }
    }

    /// Common prefix of the paths of this target's objects.
    pub(crate) fn prefix(&self) -> String {
        if self.namespace.is_empty() { String::new() } else { format!("{}/", self.namespace) }
    }
}
