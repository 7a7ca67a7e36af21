//! Search over all that names an object, its application or its cluster, in the database: no row leaves it in vain.

use std::collections::HashMap;

use spindrift_model::TenantId;
use spindrift_spinnaker::{Coordinates, Kind, RowKey, SpinnakerKind, row::RowReader, view::SearchTypes};
use sqlx::AnyConnection;

use super::derived::column;
use super::read::Rows;
use crate::store::{Store, StoreError, row::Columns};

/// A search.
#[derive(Debug, Clone)]
pub struct RowSearch {
    /// Any part of a key, in any case.
    pub text: String,
    /// The kinds of objects that are wanted.
    pub types: SearchTypes,
    /// Largest number of rows.
    pub limit: u64,
}

// === impl Store ===

impl Store {
    /// The rows of the wanted kinds whose keys contain a text, and after them those of applications and clusters whose
    /// keys do; both in the order of account, kind, namespace and name. The first page needs no more of them than it
    /// shows.
    pub async fn search_rows(&self, tenant: &TenantId, query: &RowSearch) -> Result<Vec<RowKey>, StoreError> {
        let RowSearch { text, types, limit } = query;
        // Kubernetes has no kinds that are not ASCII, and MariaDB fails to compare them with its ascii columns.
        let kinds: Vec<_> = types.kinds().iter().map(column).filter(|kind| kind.is_ascii()).collect();
        let (kinds, spinnaker_kinds) = (&*kinds, types.spinnaker_kinds());
        if kinds.is_empty() && spinnaker_kinds.is_empty() {
            return Ok(Vec::new());
        }
        let these = |column: &str, count: usize| format!("{column} IN ({})", vec!["?"; count].join(", "));
        let wanted = [("kind", kinds.len()), ("spinnaker_kind", spinnaker_kinds.len())].into_iter();
        let wanted: Vec<_> =
            wanted.filter(|(_, count)| *count > 0).map(|(column, count)| these(column, count)).collect();
        let contains = |key: &str| format!("{}(LOWER(CONCAT({key})), ?) > 0", self.dialect.contains());
        let by_itself =
            contains("'kubernetes.v2:infrastructure:', kind, ':', account, ':', namespace, ':', name");
        let by_application = contains("'kubernetes.v2:logical:applications:', application");
        let by_cluster =
            contains("'kubernetes.v2:logical:clusters:', account, ':', application, ':', cluster");
        let mut statement = self
            .statement(format!(
                "SELECT kind, account, namespace, name, spinnaker_kind, application, cluster FROM spindrift_row \
                 WHERE tenant = ? AND ({}) AND ({by_itself} OR application <> '' AND {by_application} \
                 OR application <> '' AND cluster <> '' AND {by_cluster}) \
                 ORDER BY CASE WHEN {by_itself} THEN 0 ELSE 1 END, account, kind, namespace, name LIMIT ?",
                wanted.join(" OR ")
            ))
            .unprepared()
            .bind(tenant.as_str());
        for kind in kinds {
            statement = statement.bind(&**kind);
        }
        for kind in spinnaker_kinds {
            statement = statement.bind(kind.as_str());
        }
        let text = text.to_lowercase();
        let statement = (0..4).fold(statement, |statement, _| statement.bind(&*text)).bind(*limit);
        let mut connection = self.reader("connect to search rows").await?;
        let rows = statement.fetch_all("search rows", &mut connection).await?;
        let mut reader = RowReader::default();
        let mut kinds: HashMap<String, Kind> = HashMap::new();
        for row in &rows {
            let spelled = row.text("kind")?;
            if !kinds.contains_key(spelled) {
                let kind = self.spell(tenant, spelled, &mut connection).await?;
                kinds.insert(spelled.to_owned(), kind);
            }
        }
        rows.iter()
            .map(|row| {
                let kind = kinds.get(row.text("kind")?).cloned().unwrap_or_else(|| Kind::parse(""));
                Ok(RowKey {
                    account: reader.account(row.text("account")?),
                    object: Coordinates::new(kind, row.text("namespace")?, row.text("name")?),
                    spinnaker_kind: spinnaker_kind(row.text("spinnaker_kind")?)?,
                    application: row.optional_text("application")?,
                    cluster: row.optional_text("cluster")?,
                })
            })
            .collect()
    }

    /// Returns a kind in its own spelling: the column has unknown kinds in lower case, the content of a row has not.
    async fn spell(
        &self,
        tenant: &TenantId,
        kind: &str,
        connection: &mut AnyConnection,
    ) -> Result<Kind, StoreError> {
        let spelled = Kind::parse(kind);
        if spelled.is_known() {
            return Ok(spelled);
        }
        let text = "SELECT account, content FROM spindrift_row WHERE tenant = ? AND kind = ? LIMIT 1";
        let mut rows = Rows::default();
        let statement = self.statement(text).bind(tenant.as_str()).bind(kind);
        rows.add("read how a kind is spelled", statement, connection).await?;
        Ok(rows.rows.pop().map_or(spelled, |row| row.object.kind))
    }
}

fn spinnaker_kind(name: &str) -> Result<SpinnakerKind, StoreError> {
    let unknown = || StoreError::Word { column: "spinnaker_kind", value: name.to_owned() };
    SpinnakerKind::parse(name).ok_or_else(unknown)
}
