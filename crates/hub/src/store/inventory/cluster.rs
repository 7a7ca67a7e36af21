//! Which applications and clusters there are.

use spindrift_model::TenantId;

use crate::store::{Store, StoreError, row::Columns};

/// An application in an account, and one of its clusters there; without one, something belongs to the application that
/// is no part of a cluster.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ClusterPlace {
    pub application: String,
    pub account: String,
    pub cluster: Option<String>,
}

// === impl Store ===

impl Store {
    /// Which applications have which clusters where: of all applications, or of one. An index answers this alone.
    pub async fn cluster_refs(
        &self,
        tenant: &TenantId,
        application: Option<&str>,
    ) -> Result<Vec<ClusterPlace>, StoreError> {
        let text = "SELECT DISTINCT application, account, cluster FROM spindrift_row \
                    WHERE tenant = ? AND application <> ''";
        let mut statement = self.statement(text).bind(tenant.as_str());
        if let Some(application) = application {
            statement = statement.push(" AND application = ?").bind(application);
        }
        let mut connection = self.reader("connect to read clusters").await?;
        let rows = statement
            .push(" ORDER BY application, account, cluster")
            .fetch_all("read clusters", &mut connection)
            .await?;
        rows.iter()
            .map(|row| {
                Ok(ClusterPlace {
                    application: row.text("application")?.to_owned(),
                    account: row.text("account")?.to_owned(),
                    cluster: row.optional_text("cluster")?,
                })
            })
            .collect()
    }
}
