//! Resolution of the kind that a request names to a resource of the API server.

use spindrift_model::{ErrorKind, OperationError, Resource};

use super::OperationContext;
use crate::operate::errors;

// === impl OperationContext ===

impl OperationContext {
    /// Resource of a kind, by any of its names, in the version that the request names, if any.
    pub async fn resolve(&self, api_version: Option<&str>, kind: &str) -> Result<Resource, OperationError> {
        let mut attempts = self.attempts();
        let found = loop {
            match self.account.resolver.resolve(self.api(), api_version, kind, self.kinds).await {
                Ok(found) => break found,
                Err(error) => attempts.after(error).await.map_err(|error| errors::of_read(&error))?,
            }
        };
        found.ok_or_else(|| self.no_such_kind(api_version, kind))
    }

    fn no_such_kind(&self, api_version: Option<&str>, kind: &str) -> OperationError {
        let account = &self.account.description.name;
        let message = if let Some(api_version) = api_version.filter(|version| !version.is_empty()) {
            let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
            format!(
                "no matches for kind {kind:?} in version {api_version:?} (group {group:?}, version {version:?}) of account {account}"
            )
        } else {
            let (name, group) = kind.split_once('.').unwrap_or((kind, ""));
            format!(
                "the server doesn't have a resource type {name:?} in group {group:?}, in account {account}"
            )
        };
        OperationError::agent(ErrorKind::NoKindMatch, message)
    }
}
