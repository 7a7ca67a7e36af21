//! Targets of operations, resolved to resources of the account's cluster and checked against its namespaces.

use serde_json::Value;
use spindrift_model::{ErrorKind, OperationError, Resource, TargetRef, Verb};

use super::OperationContext;

/// Target of an operation in the cluster. Changes of the same target run one after the other.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct ResolvedTarget {
    pub(super) resource: Resource,
    pub(super) namespace: Option<String>,
    pub(super) name: Option<String>,
}

/// Namespace that Kubernetes uses where none is named.
pub(super) const DEFAULT_NAMESPACE: &str = "default";

/// Target of a verb; none if it is about no object. Refuses names that would address another object, and a manifest that
/// names no kind or is a list.
pub(super) fn of_verb(verb: &Verb) -> Result<Option<TargetRef<'_>>, OperationError> {
    let target = verb.target();
    let bad_request = |message: String| OperationError::agent(ErrorKind::BadRequest, message);
    verb.check_paths().map_err(|invalid| bad_request(invalid.to_string()))?;
    if let Some(manifest) = target.manifest {
        let missing =
            |field: &str| bad_request(format!("manifest.{field}: expected a text that is not empty"));
        let kind = target.kind.ok_or_else(|| missing("kind"))?;
        if kind.ends_with("List") && manifest.0.get("items").is_some_and(Value::is_array) {
            let message = format!("manifest: a {kind} is not one object; expected its items, one by one");
            return Err(bad_request(message));
        }
        target.api_version.ok_or_else(|| missing("apiVersion"))?;
    }
    Ok(target.is_object.then_some(target))
}

// === impl ResolvedTarget ===

impl ResolvedTarget {
    /// Resolves a target in the account's cluster. Refuses one that the account may not touch.
    pub(super) async fn resolve(
        context: &OperationContext,
        target: TargetRef<'_>,
    ) -> Result<Self, OperationError> {
        let resource = context.resolve(target.api_version, target.kind.unwrap_or_default()).await?;
        let namespace = target.namespace.filter(|namespace| !namespace.is_empty());
        let namespace = match namespace {
            _ if !resource.namespaced => None,
            None if target.all_namespaces => None,
            namespace => Some(namespace.unwrap_or(DEFAULT_NAMESPACE).to_owned()),
        };
        let resolved = Self { resource, namespace, name: target.name.map(str::to_owned) };
        if target.anywhere { context.allow_elsewhere(&resolved) } else { context.allow(&resolved) }?;
        Ok(resolved)
    }

    /// Whether errors about it may quote values of a Secret.
    pub(super) fn is_secret(&self) -> bool {
        self.resource.group.is_empty() && &*self.resource.kind == "Secret"
    }

    /// Namespace that it is in, or is.
    fn in_namespace(&self) -> Option<&String> {
        let Self { resource, namespace, name } = self;
        namespace.as_ref().or(name.as_ref().filter(|_| is_namespace(resource)))
    }
}

// === impl OperationContext ===

impl OperationContext {
    /// Namespace of an object as paths have it: none for cluster-scoped kinds, never empty for the others.
    pub fn namespace<'a>(&self, resource: &Resource, given: Option<&'a str>) -> Option<&'a str> {
        let given = given.filter(|given| !given.is_empty());
        resource.namespaced.then(|| given.unwrap_or(DEFAULT_NAMESPACE))
    }

    /// Namespaces that the account is limited to; none means all except omitted ones.
    pub fn namespaces(&self) -> impl Iterator<Item = &str> {
        let config = &self.account.config;
        let is_kept = |namespace: &&str| !config.omit_namespaces.iter().any(|omitted| omitted == namespace);
        config.namespaces.iter().map(String::as_str).filter(is_kept)
    }

    /// Whether the account's configuration allows a namespace.
    pub(super) fn reaches(&self, namespace: &str) -> bool {
        let config = &self.account.config;
        let is_in = |list: &[String]| list.iter().any(|name| name == namespace);
        (config.namespaces.is_empty() || is_in(&config.namespaces)) && !is_in(&config.omit_namespaces)
    }

    /// Refuses a target that the account's configuration does not allow.
    pub(super) fn allow(&self, target: &ResolvedTarget) -> Result<(), OperationError> {
        match target.in_namespace() {
            Some(namespace) if self.reaches(namespace) => Ok(()),
            Some(namespace) => Err(self.unauthorized(&format!("namespace {namespace} has"))),
            None => self.allow_elsewhere(target),
        }
    }

    /// The same for a read that may go beyond the account's namespaces.
    pub(super) fn allow_elsewhere(&self, target: &ResolvedTarget) -> Result<(), OperationError> {
        let ResolvedTarget { resource, .. } = target;
        let is_out_of_reach = !resource.namespaced && self.account.config.only_namespaced_resources;
        if is_out_of_reach && target.in_namespace().is_none() {
            let what = format!("kinds without namespaces, such as {}, have", resource.kind);
            return Err(self.unauthorized(&what));
        }
        Ok(())
    }

    fn unauthorized(&self, what: &str) -> OperationError {
        let account = &self.account.description.name;
        let message = format!("{what} not been authorized in the configuration of account {account}");
        OperationError::agent(ErrorKind::Forbidden, message)
    }
}

/// Whether it is the kind Namespace: cluster-scoped, and yet subject to the account's namespaces.
pub(super) fn is_namespace(resource: &Resource) -> bool {
    resource.group.is_empty() && &*resource.kind == "Namespace"
}
