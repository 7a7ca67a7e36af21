//! Attributes of a request by which faults select it.

use http::{Method, Uri};
use serde::Deserialize;

/// Verb of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verb {
    Get,
    List,
    Watch,
    Create,
    Update,
    Patch,
    Delete,
}

/// Attributes of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RequestInfo {
    pub(super) verb: Verb,
    /// Plural; empty for discovery and other paths without a resource.
    pub(super) resource: String,
    /// Set if it continues from a resource version or page that the history must still contain.
    pub(super) resumes: bool,
    /// Set if it requests a later page of a list.
    pub(super) continues: bool,
}

// === impl RequestInfo ===

impl RequestInfo {
    pub(super) fn of(method: &Method, uri: &Uri) -> Self {
        let mut path: Vec<&str> = uri.path().split('/').filter(|part| !part.is_empty()).collect();
        let version_at = match path.first() {
            Some(&"api") => 2,
            Some(&"apis") => 3,
            _ => path.len(),
        };
        path.drain(..version_at.min(path.len()));
        if let ["namespaces", _, _, ..] = path.as_slice() {
            path.drain(..2);
        }
        let parameter = |name: &str| {
            let mut pairs =
                uri.query().unwrap_or_default().split('&').filter_map(|pair| pair.split_once('='));
            pairs.find(|(found, _)| *found == name).map_or("", |(_, value)| value)
        };
        let named = path.len() > 1;
        let verb = match *method {
            Method::POST => Verb::Create,
            Method::PUT => Verb::Update,
            Method::PATCH => Verb::Patch,
            Method::DELETE => Verb::Delete,
            _ if matches!(parameter("watch"), "1" | "true") => Verb::Watch,
            _ if named || path.is_empty() => Verb::Get,
            _ => Verb::List,
        };
        let version = parameter("resourceVersion");
        let resumes =
            verb == Verb::Watch && !matches!(version, "" | "0") && parameter("sendInitialEvents") != "true";
        let continues = verb == Verb::List && !parameter("continue").is_empty();
        Self { verb, resource: path.first().copied().unwrap_or_default().to_owned(), resumes, continues }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(method: &Method, uri: &str) -> (Verb, String) {
        let RequestInfo { verb, resource, .. } = RequestInfo::of(method, &uri.parse().unwrap());
        (verb, resource)
    }

    #[test]
    fn requests_are_understood() {
        for (method, uri, verb, resource) in [
            (Method::GET, "/api/v1/pods?limit=5", Verb::List, "pods"),
            (Method::GET, "/api/v1/pods?watch=1&resourceVersion=3", Verb::Watch, "pods"),
            (Method::GET, "/api/v1/namespaces/shop/pods", Verb::List, "pods"),
            (Method::GET, "/api/v1/namespaces/shop", Verb::Get, "namespaces"),
            (Method::GET, "/api/v1/namespaces/shop/pods/a/log", Verb::Get, "pods"),
            (Method::PATCH, "/apis/apps/v1/namespaces/shop/deployments/a/scale", Verb::Patch, "deployments"),
            (Method::POST, "/apis/apps/v1/namespaces/shop/deployments", Verb::Create, "deployments"),
            (Method::GET, "/apis/apps/v1", Verb::Get, ""),
            (Method::GET, "/version", Verb::Get, ""),
        ] {
            assert_eq!(info(&method, uri), (verb, resource.to_owned()), "{uri}");
        }
    }

    #[test]
    fn what_goes_on_from_history_is_told_from_what_begins() {
        let resumes = |uri: &str| RequestInfo::of(&Method::GET, &uri.parse().unwrap()).resumes;
        assert!(resumes("/api/v1/pods?watch=1&resourceVersion=3"));
        assert!(!resumes("/api/v1/pods?watch=1&resourceVersion=3&sendInitialEvents=true"));
        assert!(!resumes("/api/v1/pods?watch=1&resourceVersion=0"));
        assert!(!resumes("/api/v1/pods?resourceVersion=3"));
    }
}
