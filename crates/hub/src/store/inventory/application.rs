//! The rows that the views of an application are made of.
//!
//! ```text
//! own rows ◀──own── replica sets, instances       owned by its managers and server groups
//!     ▲──near────── services                      of the namespaces of its server groups: do they send traffic to them?
//!     └──near────── workloads                     of the namespaces of its services: do those send traffic to them?
//! ```

use std::collections::BTreeMap;

use spindrift_model::{AccountName, TenantId};
use spindrift_spinnaker::{
    Inventory, Row, SpinnakerKind,
    row::{InstanceRows, RECORDS},
};
use sqlx::AnyConnection;

use super::derived::{SEVERAL, owner_column};
use super::read::{Rows, read_contents, warn_of_unread};
use crate::store::{Store, StoreError, statement::Statement};

/// Selection of instances, which are most of all rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Instances {
    Wanted,
    Unwanted,
    Only,
}

/// The rows that lists of an application are made of.
#[derive(Debug)]
pub struct ApplicationRows {
    /// All but instances.
    rows: Vec<Row>,
    instances: InstanceRows,
}

/// The kinds that a service can send traffic to, as the column has them.
pub(super) const BALANCED: &str = "'replicaset', 'statefulset'";

/// Names in one statement.
const OWNERS_AT_ONCE: usize = 256;

// === impl Store ===

impl Store {
    /// All rows that the views of an application need: its own, those that its server groups and managers own, the
    /// services near them, and the workloads that its services send traffic to.
    pub async fn rows_of_application(
        &self,
        tenant: &TenantId,
        application: &str,
    ) -> Result<Vec<Row>, StoreError> {
        self.application(tenant, application, Instances::Wanted).await
    }

    /// The same with instances as lists show them, which are most of it.
    pub async fn listing_of_application(
        &self,
        tenant: &TenantId,
        application: &str,
    ) -> Result<ApplicationRows, StoreError> {
        let rows = self.application(tenant, application, Instances::Unwanted).await?;
        let is_foreign = |row: &&Row| {
            row.spinnaker_kind == SpinnakerKind::ServerGroups
                && row.application.as_deref() != Some(application)
        };
        let foreign: Vec<_> = rows.iter().filter(is_foreign).collect();
        let statements = [
            self.own(tenant, application, Instances::Only),
            self.owned(tenant, application, Instances::Only),
            self.shared(tenant, application, Instances::Only),
        ];
        let of_others = self.owned_by(tenant, &foreign).into_iter();
        let of_others = of_others.map(|statement| statement.push(" AND spinnaker_kind = 'instances'"));
        let statements = statements.into_iter().chain(of_others);
        let mut instances = InstanceRows::default();
        let mut connection = self.reader("connect to read the instances of an application").await?;
        for statement in statements {
            let add = |account: &str, contents: &[u8]| instances.add(account, contents);
            read_contents("read the instances of an application", statement, &mut connection, add).await?;
        }
        Ok(ApplicationRows { rows, instances })
    }

    /// The same without instances, for lists that show none.
    pub async fn rows_of_application_without_instances(
        &self,
        tenant: &TenantId,
        application: &str,
    ) -> Result<Vec<Row>, StoreError> {
        self.application(tenant, application, Instances::Unwanted).await
    }

    /// All rows that are listed under an application, and no others.
    pub async fn rows_listed_under(
        &self,
        tenant: &TenantId,
        application: &str,
    ) -> Result<Vec<Row>, StoreError> {
        let mut connection = self.reader("connect to read an application").await?;
        let mut rows = Rows::default();
        let own = self.own(tenant, application, Instances::Wanted);
        rows.add("read what is listed under an application", own, &mut connection).await?;
        Ok(rows.rows)
    }

    /// All rows that Spinnaker takes for this, of one account or of all.
    pub async fn rows_of_kind(
        &self,
        tenant: &TenantId,
        kind: SpinnakerKind,
        account: Option<&AccountName>,
    ) -> Result<Vec<Row>, StoreError> {
        // Not bound: a partial index is used only where its condition is in the text.
        let text = format!(
            "SELECT account, content FROM spindrift_row WHERE tenant = ? AND spinnaker_kind = '{kind}'"
        );
        let mut statement = self.statement(text).bind(tenant.as_str());
        if let Some(account) = account {
            statement = statement.push(" AND account = ?").bind(account.as_str());
        }
        let mut connection = self.reader("connect to read rows of a kind").await?;
        let mut rows = Rows::default();
        rows.add("read rows of a kind", statement, &mut connection).await?;
        Ok(rows.rows)
    }

    async fn application(
        &self,
        tenant: &TenantId,
        application: &str,
        instances: Instances,
    ) -> Result<Vec<Row>, StoreError> {
        let mut connection = self.reader("connect to read an application").await?;
        let mut rows = Rows::default();
        let own = self.own(tenant, application, instances);
        rows.add("read the rows of an application", own, &mut connection).await?;
        if rows.rows.is_empty() {
            return Ok(rows.rows);
        }
        let services = self.services_near(tenant, application);
        rows.add("read the services near an application", services, &mut connection).await?;
        let foreign = self.balanced_elsewhere(tenant, application, &rows.rows, &mut connection).await?;
        if instances == Instances::Wanted {
            for statement in self.owned_by(tenant, &foreign.iter().collect::<Vec<_>>()) {
                rows.add("read what is owned", statement, &mut connection).await?;
            }
        }
        let reaches_out = !foreign.is_empty();
        rows.rows.extend(foreign);
        let owned = self.owned(tenant, application, instances);
        rows.add("read what the parts of an application own", owned, &mut connection).await?;
        let before = rows.rows.len();
        let shared = self.shared(tenant, application, instances);
        rows.add("read what has several owners", shared, &mut connection).await?;
        // Duplicates are rare, so ten thousand names are compared only if there can be any.
        Ok(if reaches_out || rows.rows.len() > before { rows.distinct() } else { rows.rows })
    }

    fn own(&self, tenant: &TenantId, application: &str, instances: Instances) -> Statement {
        const OWN: &str = "r.tenant = ? AND r.application = ? AND r.application <> ''";
        let wanted = instances.condition();
        let text = match self.dialect.gathered("r.content", RECORDS) {
            Some(gathered) => format!(
                "SELECT r.account AS account, {gathered} AS content FROM spindrift_row r WHERE {OWN}{wanted} \
                 GROUP BY r.account"
            ),
            None => format!(
                "SELECT r.account AS account, r.content AS content FROM spindrift_row r WHERE {OWN}{wanted}"
            ),
        };
        self.statement(text).bind(tenant.as_str()).bind(application)
    }

    /// Rows owned by one server group or manager of the application that are not listed under it themselves.
    fn owned(&self, tenant: &TenantId, application: &str, instances: Instances) -> Statement {
        const OWNERS: &str = "g.tenant = ? AND g.application = ? AND g.application <> '' \
            AND g.spinnaker_kind IN ('serverGroups', 'serverGroupManagers')";
        const OWNED: &str = "r.tenant = g.tenant AND r.account = g.account AND r.namespace = g.namespace \
            AND r.owner = CONCAT(g.kind, ' ', g.name) AND r.application <> g.application";
        let wanted = instances.condition();
        let text = match self.dialect.gathered("r.content", RECORDS) {
            Some(gathered) => format!(
                "SELECT g.account AS account, (SELECT {gathered} FROM spindrift_row r WHERE {OWNED}{wanted}) AS content \
                 FROM spindrift_row g WHERE {OWNERS}"
            ),
            None => format!(
                "SELECT r.account AS account, r.content AS content FROM spindrift_row g CROSS JOIN spindrift_row r \
                 WHERE {OWNERS} AND {OWNED}{wanted}"
            ),
        };
        self.statement(text).bind(tenant.as_str()).bind(application)
    }

    /// Rows with several owners, near the application; the views find their owners.
    fn shared(&self, tenant: &TenantId, application: &str, instances: Instances) -> Statement {
        let text = "SELECT r.account AS account, r.content AS content FROM (SELECT DISTINCT account, namespace \
                    FROM spindrift_row WHERE tenant = ? AND application = ? AND application <> '' \
                    AND spinnaker_kind IN ('serverGroups', 'serverGroupManagers')) g CROSS JOIN spindrift_row r \
                    WHERE r.tenant = ? AND r.account = g.account AND r.namespace = g.namespace AND r.owner = ? \
                    AND r.application <> ?";
        let statement = self.statement(text).bind(tenant.as_str()).bind(application).bind(tenant.as_str());
        statement.bind(SEVERAL).bind(application).push(instances.condition())
    }

    fn services_near(&self, tenant: &TenantId, application: &str) -> Statement {
        let text = "SELECT r.account AS account, r.content AS content FROM (SELECT DISTINCT account, namespace \
                    FROM spindrift_row WHERE tenant = ? AND application = ? AND application <> '' \
                    AND spinnaker_kind = 'serverGroups') g CROSS JOIN spindrift_row r WHERE r.tenant = ? \
                    AND r.kind = 'service' AND r.account = g.account AND r.namespace = g.namespace \
                    AND r.application <> ?";
        self.statement(text).bind(tenant.as_str()).bind(application).bind(tenant.as_str()).bind(application)
    }

    /// Workloads of other applications that the services of this one send traffic to.
    async fn balanced_elsewhere(
        &self,
        tenant: &TenantId,
        application: &str,
        rows: &[Row],
        connection: &mut AnyConnection,
    ) -> Result<Vec<Row>, StoreError> {
        let is_own = |row: &&Row| row.application.as_deref() == Some(application) && row.kind().is("service");
        let services: Vec<_> = rows.iter().filter(is_own).collect();
        if services.is_empty() {
            return Ok(Vec::new());
        }
        let text = format!(
            "SELECT r.account AS account, r.content AS content FROM (SELECT DISTINCT account, namespace \
             FROM spindrift_row WHERE tenant = ? AND application = ? AND application <> '' AND kind = 'service') s \
             CROSS JOIN spindrift_row r WHERE r.tenant = ? AND r.kind IN ({BALANCED}) AND r.account = s.account \
             AND r.namespace = s.namespace AND r.application <> ?"
        );
        let statement = self.statement(text).bind(tenant.as_str()).bind(application).bind(tenant.as_str());
        let mut near = Rows::default();
        near.add("read the workloads near an application", statement.bind(application), connection).await?;
        let balanced = |workload: &Row| {
            services.iter().any(|service| service.is_beside(workload) && service.balances(workload))
        };
        Ok(near.rows.into_iter().filter(balanced).collect())
    }

    /// Rows owned by these, and rows with several owners in their namespaces.
    pub(super) fn owned_by(&self, tenant: &TenantId, owners: &[&Row]) -> Vec<Statement> {
        let mut places: BTreeMap<(&str, &str), Vec<String>> = BTreeMap::new();
        for owner in owners {
            let names = places.entry((&*owner.account, &*owner.object.namespace)).or_default();
            names.push(owner_column(&owner.object.full_name()));
        }
        let of = |(account, namespace): (&str, &str), names: &[String]| {
            let text = format!(
                "SELECT account, content FROM spindrift_row WHERE tenant = ? AND account = ? AND namespace = ? \
                 AND owner IN ({}, '{SEVERAL}')",
                vec!["?"; names.len()].join(", ")
            );
            let statement = self.statement(text).unprepared();
            let statement = statement.bind(tenant.as_str()).bind(account).bind(namespace);
            names.iter().fold(statement, |statement, name| statement.bind(&**name))
        };
        let places = places.iter();
        places
            .flat_map(|(place, names)| names.chunks(OWNERS_AT_ONCE).map(|names| of(*place, names)))
            .collect()
    }
}

// === impl ApplicationRows ===

impl ApplicationRows {
    /// Returns the rows with their relations.
    pub fn inventory(&self) -> Inventory<'_> {
        let mut unread = 0;
        let instances =
            self.instances.read().filter_map(|instance| instance.inspect_err(|_| unread += 1).ok());
        let inventory = Inventory::new(&self.rows).with_instances(instances);
        warn_of_unread(unread);
        inventory
    }

    /// About as long as the lists that are made of it.
    pub fn bytes(&self) -> usize {
        self.instances.bytes()
    }
}

// === impl Instances ===

impl Instances {
    fn condition(self) -> &'static str {
        match self {
            Self::Wanted => "",
            Self::Unwanted => " AND r.spinnaker_kind <> 'instances'",
            Self::Only => " AND r.spinnaker_kind = 'instances'",
        }
    }
}
