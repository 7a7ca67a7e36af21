//! Validation of a request before its task is created: nothing runs unless all of it is valid.

use std::sync::Arc;

use spindrift_process::report;
use spindrift_spinnaker::{
    InvalidRequest, Kind, Manifest, OperationDescription, Refusal, SubmittedOperation, TaskError,
    TaskRequest, Violation,
    manifest::{self, InvalidInput},
    operation::validate,
};
use tracing::error;

use crate::{
    clouddriver::{Account, Accounts, Caller},
    dispatch::VaultError,
    store::StoreError,
};

/// The only supported provider.
pub(super) const PROVIDER: &str = "kubernetes";

/// Reason why a request is rejected.
#[derive(Debug)]
pub enum Rejected {
    Refused(Refusal),
    Store(StoreError),
}

/// Validates all operations of a request.
pub(super) async fn check(
    accounts: &Accounts,
    provider: &str,
    request: TaskRequest,
    caller: &Caller,
) -> Result<(), Rejected> {
    if provider != PROVIDER {
        return Err(Refusal::unknown_provider(provider).into());
    }
    let submissions = request.submissions(provider)?;
    let names: Vec<&str> = submissions.iter().filter_map(|submission| submission.account.wanted()).collect();
    let accounts = accounts.all_with(&names).await?;
    for submission in submissions {
        let SubmittedOperation { operation, account: names, description } = &submission;
        let account = account_of(&accounts, &submission)?;
        let is_known = |name: &String| accounts.iter().any(|account| account.name.as_str() == name);
        let unknown = names.credentials.as_ref().filter(|name| !is_known(name));
        if let Some(violation) = unknown.and_then(|_| Violation::account_not_found(*operation)) {
            return Err(Refusal::from(vec![violation]).into());
        }
        // The scope of unknown kinds is read when the task runs, not before it is accepted.
        let manifests = manifests(account, description, |_| None)?;
        let violations = validate(*operation, description, &manifests, &account.namespace_rules());
        if !violations.is_empty() {
            return Err(Refusal::from(violations).into());
        }
        if !account.may_change(caller) {
            return Err(Refusal::not_authorized(caller.name(), account.name.as_str(), *operation).into());
        }
    }
    Ok(())
}

/// Account of an operation.
pub(super) fn account_of<'a>(
    accounts: &'a [Arc<Account>],
    submission: &SubmittedOperation,
) -> Result<&'a Account, Refusal> {
    let wanted = submission.account.wanted().unwrap_or_default();
    let found = accounts.iter().find(|account| account.name.as_str() == wanted);
    found
        .map(|account| &**account)
        .ok_or_else(|| Refusal::unknown_account(wanted, accounts.iter().map(|account| account.name.as_str())))
}

/// Manifests of a deployment in their final namespaces; `is_namespaced` decides for kinds without rules.
pub(super) fn manifests(
    account: &Account,
    description: &OperationDescription,
    is_namespaced: impl Fn(&Kind) -> Option<bool>,
) -> Result<Vec<Manifest>, InvalidInput> {
    let mut manifests = description.manifests()?;
    if let OperationDescription::Deploy(deploy) = description {
        let namespace = deploy.namespace_override.as_deref().unwrap_or_default();
        manifest::override_namespace(&mut manifests, namespace, &account.settings.kinds, is_namespaced);
    }
    Ok(manifests)
}

// === impl Rejected ===

impl From<Refusal> for Rejected {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<InvalidRequest> for Rejected {
    fn from(error: InvalidRequest) -> Self {
        Self::Refused(error.into())
    }
}

impl From<InvalidInput> for Rejected {
    fn from(error: InvalidInput) -> Self {
        Self::Refused(error.into())
    }
}

impl From<TaskError> for Rejected {
    fn from(error: TaskError) -> Self {
        Self::Refused(error.into())
    }
}

impl From<StoreError> for Rejected {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<VaultError> for Rejected {
    fn from(failure: VaultError) -> Self {
        error!(error = %report(&failure), "a task could not be encrypted");
        Self::Refused(Refusal::internal("the hub could not encrypt the task; see its log"))
    }
}
