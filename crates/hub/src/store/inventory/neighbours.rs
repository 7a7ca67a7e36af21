//! One object and its neighbours.

use spindrift_model::{AccountName, TenantId};
use spindrift_spinnaker::{Coordinates, Row, SpinnakerKind};
use sqlx::AnyConnection;

use super::application::BALANCED;
use super::derived::column;
use super::read::Rows;
use crate::store::{Store, StoreError, statement::Statement};

// === impl Store ===

impl Store {
    /// Returns the row of an object first, then the neighbours that its details need: its owners, the rows it owns, the
    /// services of its namespace; for a service, its workloads. Empty if the object has no row.
    pub async fn rows_with_neighbours(
        &self,
        tenant: &TenantId,
        account: &AccountName,
        object: &Coordinates,
    ) -> Result<Vec<Row>, StoreError> {
        // Kubernetes gives no such names, and MariaDB fails to compare them with its ascii columns.
        let kind = column(&object.kind);
        if !kind.is_ascii() || !object.namespace.is_ascii() {
            return Ok(Vec::new());
        }
        let place = AccountNamespace { tenant, account, namespace: &object.namespace };
        let mut connection = self.reader("connect to read an object's neighbours").await?;
        let mut rows = Rows::default();
        let statement = self.of_kinds(place, "?").bind(&*kind).push(" AND name = ?").bind(&*object.name);
        rows.add("read the row of an object", statement, &mut connection).await?;
        let Some(row) = rows.rows.first().cloned() else { return Ok(Vec::new()) };

        for statement in self.owned_by(tenant, &[&row]) {
            rows.add("read what an object owns", statement, &mut connection).await?;
        }
        match row.spinnaker_kind {
            SpinnakerKind::ServerGroups => {
                let services = self.of_kinds(place, "'service'");
                rows.add("read the services near an object", services, &mut connection).await?;
            }
            SpinnakerKind::LoadBalancers => {
                self.add_balanced(place, &row, &mut rows, &mut connection).await?;
            }
            _ => {}
        }
        for owner in &row.owners {
            let kind = column(&owner.kind);
            if kind.is_ascii() {
                let owner = self.of_kinds(place, "?").bind(&*kind).push(" AND name = ?").bind(&*owner.name);
                rows.add("read the owner of an object", owner, &mut connection).await?;
            }
        }
        Ok(rows.distinct())
    }

    async fn add_balanced(
        &self,
        place: AccountNamespace<'_>,
        service: &Row,
        rows: &mut Rows,
        connection: &mut AnyConnection,
    ) -> Result<(), StoreError> {
        let mut near = Rows::default();
        near.add("read the workloads near a service", self.of_kinds(place, BALANCED), connection).await?;
        let balanced: Vec<_> = near.rows.into_iter().filter(|workload| service.balances(workload)).collect();
        for statement in self.owned_by(place.tenant, &balanced.iter().collect::<Vec<_>>()) {
            rows.add("read the instances behind a service", statement, connection).await?;
        }
        rows.rows.extend(balanced);
        Ok(())
    }

    /// Rows of these kinds in a namespace.
    fn of_kinds(&self, place: AccountNamespace<'_>, kinds: &str) -> Statement {
        let AccountNamespace { tenant, account, namespace } = place;
        self.statement(
            "SELECT account, content FROM spindrift_row WHERE tenant = ? AND account = ? AND namespace = ?",
        )
        .bind(tenant.as_str())
        .bind(account.as_str())
        .bind(namespace)
        .push(&format!(" AND kind IN ({kinds})"))
    }
}

/// A namespace of an account.
#[derive(Clone, Copy)]
struct AccountNamespace<'a> {
    tenant: &'a TenantId,
    account: &'a AccountName,
    namespace: &'a str,
}
