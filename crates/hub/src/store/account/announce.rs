//! Announcements: a name belongs to the first cluster that claims it.

use spindrift_model::{AccountDescription, AccountName, AgentId, ClusterIdentity, TenantId};
use sqlx::AnyConnection;

use super::cluster;
use crate::store::dialect::OnConflict;
use crate::store::{Store, StoreError};

/// Outcome of an announcement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AnnounceOutcome {
    /// The account is known as described.
    Accepted,
    /// The name belongs to another cluster; the claim is kept as the account's problem.
    Refused { bound_to: ClusterIdentity },
}

const NEW_ACCOUNT: OnConflict =
    OnConflict { table: "spindrift_account", key: &["tenant", "name"], replaced: &[], only_if: None };

// === impl Store ===

impl Store {
    /// Makes the account known, or refuses a second cluster's claim to its name.
    pub async fn announce(
        &self,
        tenant: &TenantId,
        agent: &AgentId,
        description: &AccountDescription,
    ) -> Result<AnnounceOutcome, StoreError> {
        let mut transaction = self.begin("begin an announcement").await?;
        let name = &description.name;
        let mut bound_to = None;
        // Again where the account was just being forgotten: then the insert met a row that is gone now.
        for _ in 0..2 {
            self.insert_unknown(tenant, agent, description, &mut transaction).await?;
            let row = self
                .statement(
                    "SELECT host, cluster_uid, ca_fingerprint FROM spindrift_account WHERE tenant = ? AND name = ? \
                     {for update}",
                )
                .bind(tenant.as_str())
                .bind(name.as_str())
                .fetch_optional("read the account's cluster", &mut transaction)
                .await?;
            bound_to = row.map(|row| cluster(&row)).transpose()?;
            if bound_to.is_some() {
                break;
            }
        }
        let bound_to = bound_to.unwrap_or_default();

        let announced = if bound_to.may_be(&description.cluster) {
            self.describe(tenant, agent, description, &bound_to, &mut transaction).await?;
            AnnounceOutcome::Accepted
        } else {
            let claim = format!("agent {agent} claims the name for another cluster: {}", description.cluster);
            self.store_problem(tenant, name, agent, &claim, &mut transaction).await?;
            AnnounceOutcome::Refused { bound_to }
        };
        self.commit_transaction(transaction, "commit an announcement").await?;
        Ok(announced)
    }

    /// A new name is bound by its insert; of two that come at once, the second then sees the first.
    async fn insert_unknown(
        &self,
        tenant: &TenantId,
        agent: &AgentId,
        description: &AccountDescription,
        connection: &mut AnyConnection,
    ) -> Result<(), StoreError> {
        let name = &description.name;
        self.statement(
            "INSERT INTO spindrift_account (tenant, name, host, cluster_uid, ca_fingerprint, kubernetes_version, \
             namespaces, properties, max_resumable_age, agent_id, first_seen, last_seen, problem, problem_agent, \
             problem_at) VALUES (?, ?, ?, ?, ?, '', '[]', '{}', 0, ?, {now}, {now}, '', '', 0)",
        )
        .push(&self.dialect.on_conflict(&NEW_ACCOUNT))
        .bind(tenant.as_str())
        .bind(name.as_str())
        .bind(&*description.cluster.host)
        .bind(description.cluster.uid.as_deref().unwrap_or_default())
        .bind(description.cluster.ca_fingerprint.as_deref().unwrap_or_default())
        .bind(agent.as_str())
        .execute("insert an account", connection)
        .await
        .map(drop)
    }

    /// Stores a problem of an account for operators, with the agent that caused it.
    pub async fn report_problem(
        &self,
        tenant: &TenantId,
        account: &AccountName,
        agent: &AgentId,
        problem: &str,
    ) -> Result<(), StoreError> {
        let mut connection = self.writer("connect to report a problem").await?;
        self.store_problem(tenant, account, agent, problem, &mut connection).await
    }

    async fn store_problem(
        &self,
        tenant: &TenantId,
        account: &AccountName,
        agent: &AgentId,
        problem: &str,
        connection: &mut AnyConnection,
    ) -> Result<(), StoreError> {
        self.statement(
            "UPDATE spindrift_account SET problem = ?, problem_agent = ?, problem_at = {now} \
             WHERE tenant = ? AND name = ?",
        )
        .bind(problem)
        .bind(agent.as_str())
        .bind(tenant.as_str())
        .bind(account.as_str())
        .execute("record a problem", connection)
        .await
        .map(drop)
    }

    /// Stores new values; parts of the cluster's identity that are missing now keep their stored values.
    async fn describe(
        &self,
        tenant: &TenantId,
        agent: &AgentId,
        description: &AccountDescription,
        bound_to: &ClusterIdentity,
        connection: &mut AnyConnection,
    ) -> Result<(), StoreError> {
        let AccountDescription {
            name,
            cluster,
            kubernetes_version,
            namespaces,
            properties,
            max_resumable_age,
        } = description;
        let uid = cluster.uid.as_deref().or(bound_to.uid.as_deref());
        let ca_fingerprint = cluster.ca_fingerprint.as_deref().or(bound_to.ca_fingerprint.as_deref());
        // An agent that was refused and now comes with the right cluster has solved the problem.
        self.statement(
            "UPDATE spindrift_account SET host = ?, cluster_uid = ?, ca_fingerprint = ?, kubernetes_version = ?, \
             namespaces = ?, properties = ?, max_resumable_age = ?, agent_id = ?, last_seen = {now}, unserved_since = 0, \
             problem = CASE WHEN problem_agent = ? THEN '' ELSE problem END WHERE tenant = ? AND name = ?",
        )
        .bind(&*cluster.host)
        .bind(uid.unwrap_or_default())
        .bind(ca_fingerprint.unwrap_or_default())
        .bind(&**kubernetes_version)
        .bind(&*serde_json::Value::from(namespaces.clone()).to_string())
        .bind(&**properties)
        .bind(*max_resumable_age)
        .bind(agent.as_str())
        .bind(agent.as_str())
        .bind(tenant.as_str())
        .bind(name.as_str())
        .execute("describe an account", connection)
        .await
        .map(drop)
    }
}
