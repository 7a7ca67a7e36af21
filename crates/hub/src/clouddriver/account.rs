//! Accounts as Spinnaker knows them: what an agent announced, and what the hub's own configuration says on top.

use std::sync::Arc;

use serde::Deserialize;
use spindrift_model::{AccountName, TenantId};
use spindrift_spinnaker::{
    CustomResource, KindRules, RowRules,
    view::{AccountSettings, KindExpressions},
};

use crate::{
    config::Runtime,
    store::{AccountRow, Store, StoreError},
};

/// The accounts of this hub.
#[derive(Debug, Clone)]
pub struct Accounts {
    store: Store,
    tenant: TenantId,
    runtime: Arc<Runtime>,
}

/// An account.
#[derive(Debug, Clone)]
pub struct Account {
    pub name: AccountName,
    /// What `/credentials` shows.
    pub settings: AccountSettings,
    /// Objects without an application by annotation are left out.
    pub only_managed: bool,
    /// Everything with an application belongs to it, whatever its kind.
    pub all_applications: bool,
    /// The only namespaces; all if empty.
    pub namespaces: Vec<String>,
    pub omit_namespaces: Vec<String>,
    /// The only kinds; all if empty.
    pub kinds: Vec<String>,
    pub omit_kinds: Vec<String>,
    /// What `/rawResources` shows.
    pub raw_resources: KindExpressions,
    /// Whether pods' metrics are read.
    pub metrics: bool,
}

/// What an agent tells of an account (`properties`), beside the cluster.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Announced {
    environment: Option<String>,
    account_type: Option<String>,
    only_spinnaker_managed: Option<bool>,
    custom_resources: Option<Vec<CustomResource>>,
    cache_all_application_relationships: bool,
    namespaces: Vec<String>,
    omit_namespaces: Vec<String>,
    kinds: Vec<String>,
    omit_kinds: Vec<String>,
}

// === impl Accounts ===

impl Accounts {
    pub fn new(store: Store, tenant: TenantId, runtime: Arc<Runtime>) -> Self {
        Self { store, tenant, runtime }
    }

    /// All of them, by name.
    pub async fn all(&self) -> Result<Vec<Account>, StoreError> {
        let rows = self.store.accounts(&self.tenant).await?;
        Ok(rows.iter().map(|row| Account::new(row, &self.runtime)).collect())
    }

    /// The one of this name.
    pub async fn find(&self, name: &str) -> Result<Option<Account>, StoreError> {
        Ok(self.all().await?.into_iter().find(|account| account.name.as_str() == name))
    }
}

// === impl Account ===

impl Account {
    /// As it was announced; where the hub's configuration says otherwise, that counts.
    pub fn new(row: &AccountRow, runtime: &Runtime) -> Self {
        let description = &row.description;
        let announced: Announced = serde_json::from_str(&description.properties).unwrap_or_default();
        let name = description.name.clone();
        let only_managed =
            runtime.only_spinnaker_managed(&name).or(announced.only_spinnaker_managed).unwrap_or(false);
        let custom = runtime.custom_resources(&name).or(announced.custom_resources).unwrap_or_default();
        let settings = AccountSettings {
            name: name.to_string(),
            environment: announced.environment,
            account_type: announced.account_type,
            namespaces: description.namespaces.clone(),
            kinds: KindRules::new(custom),
            ..AccountSettings::default()
        };
        Self {
            name,
            settings,
            only_managed,
            all_applications: announced.cache_all_application_relationships,
            namespaces: announced.namespaces,
            omit_namespaces: announced.omit_namespaces,
            kinds: announced.kinds,
            omit_kinds: announced.omit_kinds,
            raw_resources: KindExpressions::default(),
            metrics: true,
        }
    }

    /// How its objects become rows.
    pub fn row_rules(&self) -> RowRules<'_> {
        RowRules {
            kinds: &self.settings.kinds,
            only_managed: self.only_managed,
            all_applications: self.all_applications,
        }
    }
}
