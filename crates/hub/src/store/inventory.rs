//! A stand-in until the real one is merged.
use super::{Store, StoreError};
use spindrift_model::{AccountName, TenantId};
use spindrift_spinnaker::{Coordinates, Row, SpinnakerKind};
pub struct ClusterPlace {
    pub application: String,
    pub account: String,
    pub cluster: Option<String>,
}
#[allow(clippy::unused_async)]
impl Store {
    pub async fn cluster_refs(&self, _: &TenantId, _: Option<&str>) -> Result<Vec<ClusterPlace>, StoreError> {
        Ok(vec![])
    }
    pub async fn rows_of_application(&self, _: &TenantId, _: &str) -> Result<Vec<Row>, StoreError> {
        Ok(vec![])
    }
    pub async fn rows_of_application_without_instances(
        &self,
        _: &TenantId,
        _: &str,
    ) -> Result<Vec<Row>, StoreError> {
        Ok(vec![])
    }
    pub async fn rows_listed_under(&self, _: &TenantId, _: &str) -> Result<Vec<Row>, StoreError> {
        Ok(vec![])
    }
    pub async fn rows_of_kind(
        &self,
        _: &TenantId,
        _: SpinnakerKind,
        _: Option<&AccountName>,
    ) -> Result<Vec<Row>, StoreError> {
        Ok(vec![])
    }
    pub async fn rows_around(
        &self,
        _: &TenantId,
        _: &AccountName,
        _: &Coordinates,
    ) -> Result<Vec<Row>, StoreError> {
        Ok(vec![])
    }
}
