//! Resources that a cluster serves: built-in kinds, shared by all clusters, and those of its CustomResourceDefinitions.

use std::sync::{Arc, LazyLock};

mod builtin;
mod custom;

pub(crate) use custom::{CustomResource, ScalePaths, establish, resources as custom_resources};

/// Name of a table of objects: `pods`, `deployments.apps`.
pub type TableId = Arc<str>;

/// One kind in one version.
#[derive(Debug, Clone)]
pub struct Resource {
    pub group: String,
    pub version: String,
    pub kind: String,
    pub list_kind: String,
    pub plural: String,
    pub singular: String,
    pub scope: Scope,
    pub short_names: Vec<String>,
    pub categories: Vec<String>,
    pub verbs: Verbs,
    pub subresources: Vec<Subresource>,
    /// Name in error messages: `deployments.apps`.
    pub table: TableId,
    /// Table of its objects. All versions of a kind share a table, and so do both kinds of events.
    pub storage: TableId,
    pub(crate) custom: Option<CustomResource>,
}

/// Scope of a resource's objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    Cluster,
    Namespaced,
}

/// Verbs that a resource supports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verbs {
    All,
    /// All verbs but `deletecollection`, as with namespaces.
    WithoutCollection,
    /// Only `create`, as with access reviews, which are answered and never stored.
    Create,
}

/// Subresource: a part of an object with its own path.
#[derive(Debug, Clone)]
pub struct Subresource {
    pub name: String,
    /// Empty if it is the group of the parent.
    pub group: &'static str,
    /// Empty if it is the version of the parent.
    pub version: &'static str,
    pub kind: String,
    pub verbs: &'static [&'static str],
}

/// All resources of one cluster.
#[derive(Debug, Clone)]
pub struct Catalogue {
    resources: Vec<Arc<Resource>>,
}

/// Table of CustomResourceDefinitions.
pub(crate) const DEFINITIONS: &str = "customresourcedefinitions.apiextensions.k8s.io";

static BUILTIN: LazyLock<Arc<Catalogue>> = LazyLock::new(|| {
    let resources = builtin::resources().into_iter().map(Arc::new).collect();
    Arc::new(Catalogue { resources })
});

pub(crate) fn table_id(group: &str, plural: &str) -> TableId {
    if group.is_empty() { plural.into() } else { format!("{plural}.{group}").into() }
}

// === impl Resource ===

impl Resource {
    pub fn is_namespaced(&self) -> bool {
        self.scope == Scope::Namespaced
    }

    pub fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.clone() } else { format!("{}/{}", self.group, self.version) }
    }

    pub fn subresource(&self, name: &str) -> Option<&Subresource> {
        self.subresources.iter().find(|subresource| subresource.name == name)
    }

    /// Path of an object in its table; lists are in the order of these paths.
    pub(crate) fn path(&self, namespace: &str, name: &str) -> String {
        if self.is_namespaced() { format!("{namespace}/{name}") } else { name.to_owned() }
    }

    /// Whether this is the built-in resource of that table.
    pub(crate) fn is(&self, table: &str) -> bool {
        &*self.storage == table
    }
}

// === impl Verbs ===

impl Verbs {
    pub(crate) fn words(self) -> &'static [&'static str] {
        match self {
            Self::All => &["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"],
            Self::WithoutCollection => &["create", "delete", "get", "list", "patch", "update", "watch"],
            Self::Create => &["create"],
        }
    }
}

// === impl Catalogue ===

impl Catalogue {
    /// Resources that every cluster serves; all clusters share one copy.
    pub(crate) fn builtin() -> Arc<Self> {
        Arc::clone(&BUILTIN)
    }

    /// Whether a table belongs to a built-in kind, which no definition can replace.
    pub(crate) fn is_builtin(table: &str) -> bool {
        BUILTIN.resources.iter().any(|resource| resource.is(table))
    }

    pub(crate) fn with_custom(custom: Vec<Resource>) -> Arc<Self> {
        let builtin = BUILTIN.resources.iter().cloned();
        Arc::new(Self { resources: builtin.chain(custom.into_iter().map(Arc::new)).collect() })
    }

    pub fn resources(&self) -> &[Arc<Resource>] {
        &self.resources
    }

    pub fn find(&self, group: &str, version: &str, plural: &str) -> Option<&Arc<Resource>> {
        self.resources.iter().find(|r| r.plural == plural && r.group == group && r.version == version)
    }

    /// Preferred version of a resource.
    pub fn preferred(&self, group: &str, plural: &str) -> Option<&Arc<Resource>> {
        self.resources.iter().find(|r| r.plural == plural && r.group == group)
    }

    pub fn by_kind(&self, api_version: &str, kind: &str) -> Option<&Arc<Resource>> {
        let (group, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
        self.resources.iter().find(|r| r.kind == kind && r.group == group && r.version == version)
    }

    /// Groups in discovery order, each with its versions, preferred one first.
    pub(crate) fn groups(&self) -> Vec<(&str, Vec<&str>)> {
        let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
        for resource in &self.resources {
            let position = groups.iter().position(|(group, _)| *group == resource.group);
            let index = position.unwrap_or_else(|| {
                groups.push((&resource.group, Vec::new()));
                groups.len() - 1
            });
            if let Some((_, versions)) = groups.get_mut(index)
                && !versions.contains(&resource.version.as_str())
            {
                versions.push(&resource.version);
            }
        }
        groups
    }
}
