//! Limits of an account, from the properties that its agent announces: one parser for the hub, which denies by default.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// Namespaces that an account may change.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct NamespaceLimits {
    /// Allowed namespaces; all if empty.
    pub(crate) namespaces: Vec<String>,
    /// Namespaces that are not allowed.
    pub(crate) omit_namespaces: Vec<String>,
}

/// Announced properties, read field by field: an invalid field invalidates itself only.
#[derive(Debug)]
pub(crate) struct Properties {
    fields: Map<String, Value>,
    /// Sentences that name the field, for the operator.
    pub(crate) problems: Vec<String>,
}

// === impl NamespaceLimits ===

impl NamespaceLimits {
    /// Parses announced properties. The error names the first invalid field; the caller has to deny then.
    pub(crate) fn parse(properties: &str) -> Result<Self, String> {
        let mut properties = Properties::parse(properties);
        let limits = Self::take(&mut properties);
        match properties.problems.into_iter().next() {
            Some(problem) => Err(problem),
            None => Ok(limits),
        }
    }

    /// Takes the limits out of properties; problems are added to theirs.
    pub(crate) fn take(properties: &mut Properties) -> Self {
        let namespaces = properties.take("namespaces");
        Self { namespaces, omit_namespaces: properties.take("omitNamespaces") }
    }

    /// Whether the account may change a namespace.
    pub(crate) fn allow(&self, namespace: &str) -> bool {
        let is_in = |list: &[String]| list.iter().any(|name| name == namespace);
        (self.namespaces.is_empty() || is_in(&self.namespaces)) && !is_in(&self.omit_namespaces)
    }
}

// === impl Properties ===

impl Properties {
    pub(crate) fn parse(properties: &str) -> Self {
        if properties.trim().is_empty() {
            return Self { fields: Map::new(), problems: Vec::new() };
        }
        match serde_json::from_str(properties) {
            Ok(fields) => Self { fields, problems: Vec::new() },
            Err(error) => {
                let problem = format!("properties: expected a JSON object: {error}");
                Self { fields: Map::new(), problems: vec![problem] }
            }
        }
    }

    /// Takes an optional field. One that cannot be parsed is a problem, and counts as absent.
    pub(crate) fn take<T: DeserializeOwned + Default>(&mut self, name: &str) -> T {
        match self.fields.remove(name) {
            None | Some(Value::Null) => T::default(),
            Some(value) => serde_json::from_value(value).unwrap_or_else(|error| {
                self.problems.push(format!("{name}: {error}"));
                T::default()
            }),
        }
    }
}
