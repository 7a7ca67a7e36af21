//! Paths of requests: each addresses the object that was asked for, and nothing else.
//!
//! A user without permissions sends them. The API server then answers with what it understood: verb, group, resource,
//! subresource, namespace and name.

use http::Method;
use serde_json::Value;
use spindrift_kubernetes::{Api, ApiError, Call};
use spindrift_model::Resource;
use spindrift_testkit::Cluster;
use tokio::time::Instant;

use crate::support::{LONG, connect};

/// Parts of names: separators of paths and queries, their encoded forms, and words that mean something in a path.
const PARTS: [&str; 30] = [
    "a",
    "web-1",
    "A",
    ".",
    "..",
    "...",
    "/",
    "//",
    "\\",
    "%",
    "%2F",
    "%2f",
    "%2e%2e",
    "%25",
    "?",
    "#",
    ";",
    "&",
    "=",
    "+",
    " ",
    ":",
    "@",
    "~",
    "\"",
    "é",
    "configmaps",
    "kube-system",
    "proxy",
    "status",
];

const CASES: usize = 1500;

/// Random numbers that are the same in every run.
struct Numbers(u64);

#[derive(Debug, Clone)]
struct Asked {
    method: Method,
    resource: Resource,
    namespace: String,
    name: Option<String>,
    subresource: Option<String>,
}

fn resource(group: &str, kind: &str, plural: &str, namespaced: bool) -> Resource {
    Resource {
        group: group.into(),
        version: "v1".into(),
        kind: kind.into(),
        plural: plural.into(),
        namespaced,
    }
}

/// Undoes what an API server escapes in its errors: everything but the name.
fn without_html(message: &str) -> String {
    message.replace("&#34;", "\\\"").replace("&amp;", "&")
}

// === impl Numbers ===

impl Numbers {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % bound as u64).expect("it is below a usize")
    }

    fn text(&mut self) -> String {
        (0..self.below(5)).map(|_| PARTS[self.below(PARTS.len())]).collect()
    }

    /// Mostly a plain word, so that each part is tried beside others that are valid.
    fn word(&mut self, plain: &str) -> String {
        if self.below(3) > 0 { plain.to_owned() } else { self.text() }
    }

    fn asked(&mut self) -> Asked {
        let kinds = [
            ("", "ConfigMap", "configmaps", true),
            ("", "Pod", "pods", true),
            ("", "Namespace", "namespaces", false),
            ("", "Node", "nodes", false),
            ("apps", "Deployment", "deployments", true),
            ("rbac.authorization.k8s.io", "ClusterRole", "clusterroles", false),
        ];
        let (group, kind, plural, namespaced) = kinds[self.below(kinds.len())];
        let mut resource = resource(group, kind, plural, namespaced);
        match self.below(12) {
            0 if !group.is_empty() => resource.group = format!("x{}", self.text()).into(),
            1 => resource.plural = format!("x{}", self.text()).into(),
            2 => resource.version = format!("v1{}", self.text()).into(),
            _ => {}
        }
        let methods = [Method::GET, Method::DELETE, Method::PATCH, Method::PUT];
        let name = self.text();
        let subresource = (self.below(4) == 0).then(|| self.word("log"));
        Asked {
            method: methods[self.below(methods.len())].clone(),
            resource,
            namespace: self.word("shop"),
            name: (self.below(10) > 0 || subresource.is_some()).then_some(name),
            subresource,
        }
    }
}

// === impl Asked ===

impl Asked {
    fn call(&self) -> Call {
        let Self { method, resource, namespace, name, subresource } = self;
        let call = Call::about(method.clone(), resource, Some(namespace), name.as_deref());
        let call = if method == Method::GET { call } else { call.body("application/json", "{}") };
        subresource.iter().fold(call, |call, subresource| call.subresource(subresource))
    }

    /// Description of the request in an error of the API server.
    fn described(&self) -> String {
        let Self { method, resource, namespace, name, subresource } = self;
        let verb = match (method.as_str(), name) {
            ("GET", Some(_)) => "get",
            ("GET", None) => "list",
            ("DELETE", Some(_)) => "delete",
            ("DELETE", None) => "deletecollection",
            ("PATCH", _) => "patch",
            _ => "update",
        };
        let plural = match subresource {
            Some(subresource) => format!("{}/{subresource}", resource.plural),
            None => resource.plural.to_string(),
        };
        let is_namespace = &*resource.plural == "namespaces" && resource.group.is_empty();
        let scope = match name {
            _ if resource.namespaced => format!("in the namespace {namespace:?}"),
            Some(name) if is_namespace => format!("in the namespace {name:?}"),
            _ => "at the cluster scope".to_owned(),
        };
        format!("cannot {verb} resource {plural:?} in API group {:?} {scope}", resource.group)
    }

    /// Sends the request; returns whether it was sent at all.
    async fn check(&self, api: &Api) -> bool {
        let answer = api.call(&self.call(), Instant::now() + LONG).await;
        let error = answer.expect_err("the user has no permissions");
        let status = match &error {
            ApiError::InvalidPath { .. } => return false,
            error => error.status().expect("the API server refuses it"),
        };
        let document: Value = serde_json::from_slice(&status.document).expect("a Status");
        assert_eq!(status.code, 403, "{self:?}: {document}");
        let message = without_html(document["message"].as_str().unwrap_or_default());
        assert!(message.ends_with(&self.described()), "{self:?}\n{message}\n{}", self.described());
        assert_eq!(document["details"]["name"].as_str(), self.name.as_deref(), "{self:?}: {document}");
        true
    }
}

#[tokio::test]
async fn a_path_addresses_the_object_that_was_asked_for_and_nothing_else() -> anyhow::Result<()> {
    let cluster = Cluster::shared().await?;
    let api = connect(&cluster.kubeconfig_for("nobody")?).await?;
    let mut numbers = Numbers(0x5eed);
    let mut sent = 0;
    for _ in 0..CASES {
        sent += usize::from(numbers.asked().check(&api).await);
    }
    assert!(sent > CASES / 10 && sent < CASES, "{sent} of {CASES} were sent: both answers have to occur");
    Ok(())
}

#[tokio::test]
async fn an_encoded_separator_reaches_no_other_object() -> anyhow::Result<()> {
    let cluster = Cluster::shared().await?;
    let namespace = cluster.namespace("paths").await?;
    crate::support::config_map(cluster, &namespace, "jewels").await?;
    let api = connect(cluster.kubeconfig()).await?;
    let namespaces = Resource::namespaces();
    for method in [Method::GET, Method::DELETE] {
        let name = format!("{namespace}/configmaps/jewels");
        let call = Call::about(method, &namespaces, None, Some(&name));
        let error = api.call(&call, Instant::now() + LONG).await.expect_err("that is no name");
        assert!(matches!(error, ApiError::InvalidPath { .. }), "{error:?}");
    }
    let config_maps = resource("", "ConfigMap", "configmaps", true);
    // An empty name would address the collection.
    let call = Call::about(Method::DELETE, &config_maps, Some(&namespace), Some(""));
    let error = api.call(&call, Instant::now() + LONG).await.expect_err("that is no name");
    assert!(matches!(error, ApiError::InvalidPath { .. }), "{error:?}");
    let call = Call::about(Method::GET, &config_maps, Some(&namespace), Some("jewels"));
    assert_eq!(api.call(&call, Instant::now() + LONG).await?.code, 200, "nothing was deleted");
    Ok(())
}
