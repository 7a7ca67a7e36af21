//! Table of `get` for one kind: the columns of the kind, and those of the flags.

use jiff::Timestamp;
use serde_json::Value;

use crate::{
    Printer, format_labels,
    look::{Look, entry},
    text::cell_text,
};

/// Columns in addition to those of the kind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TableOptions {
    /// Shows the account column.
    pub account: bool,
    /// Shows the namespace column.
    pub namespace: bool,
    /// Shows columns of lower priority.
    pub wide: bool,
    /// Prefix of the name, as in `deployment.apps/web`.
    pub kind_prefix: Option<String>,
    /// Labels with a column each.
    pub label_columns: Vec<String>,
    /// Shows all labels in the last column.
    pub show_labels: bool,
}

/// Converts objects of one kind to rows.
#[derive(Debug, Clone)]
pub struct Table {
    printer: Printer,
    options: TableOptions,
}

// === impl Table ===

impl Table {
    pub fn new(printer: Printer, options: TableOptions) -> Self {
        Self { printer, options }
    }

    /// Names of the columns, in capitals.
    pub fn header(&self) -> Vec<String> {
        let TableOptions { account, namespace, wide, kind_prefix: _, label_columns, show_labels } =
            &self.options;
        let mut header = Vec::new();
        header.extend(account.then(|| "ACCOUNT".to_owned()));
        header.extend(namespace.then(|| "NAMESPACE".to_owned()));
        let columns = self.printer.columns().iter().filter(|column| *wide || column.priority == 0);
        header.extend(columns.map(|column| column.name.to_uppercase()));
        // `ZONE` for `topology.kubernetes.io/zone`.
        let last = |label: &String| label.rsplit('/').next().unwrap_or(label).to_uppercase();
        header.extend(label_columns.iter().map(last));
        header.extend(show_labels.then(|| "LABELS".to_owned()));
        header
    }

    /// Cells of an object, as many as in the header.
    pub fn row(&self, account: &str, object: &Value, now: Timestamp) -> Vec<String> {
        let TableOptions { account: with_account, namespace, wide, kind_prefix, label_columns, show_labels } =
            &self.options;
        let mut row = Vec::new();
        row.extend(with_account.then(|| account.to_owned()));
        row.extend(namespace.then(|| object.text("/metadata/namespace").to_owned()));
        let mut unnamed = kind_prefix.as_deref();
        for (column, cell) in self.printer.columns().iter().zip(self.printer.cells(object, now)) {
            let prefix = if column.format == "name" { unnamed.take() } else { None };
            if *wide || column.priority == 0 {
                let text = cell_text(&cell);
                row.push(prefix.map_or_else(|| text.clone(), |prefix| format!("{prefix}/{text}")));
            }
        }
        let label = |label: &String| entry(object, "/metadata/labels", label).unwrap_or_default().to_owned();
        row.extend(label_columns.iter().map(label));
        row.extend(show_labels.then(|| format_labels(object.at("/metadata/labels"))));
        row
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::KindRef;

    #[test]
    fn flags_add_columns_to_those_of_the_kind() {
        let options = TableOptions {
            account: true,
            namespace: true,
            kind_prefix: Some("service".to_owned()),
            label_columns: vec!["example.com/tier".to_owned(), "app".to_owned()],
            show_labels: true,
            ..TableOptions::default()
        };
        let table = Table::new(Printer::of(KindRef { group: "", kind: "Service" }), options);
        let service = json!({
            "metadata": { "name": "web", "namespace": "shop", "labels": { "example.com/tier": "front" } },
            "spec": { "type": "ExternalName", "externalName": "example.com" },
        });
        let shown: Vec<_> =
            table.header().into_iter().zip(table.row("prod", &service, Timestamp::UNIX_EPOCH)).collect();
        let expected = [
            ("ACCOUNT", "prod"),
            ("NAMESPACE", "shop"),
            ("NAME", "service/web"),
            ("TYPE", "ExternalName"),
            ("CLUSTER-IP", "<none>"),
            ("EXTERNAL-IP", "example.com"),
            ("PORT(S)", "<none>"),
            ("AGE", "<unknown>"),
            ("TIER", "front"),
            ("APP", ""),
            ("LABELS", "example.com/tier=front"),
        ];
        assert_eq!(shown, expected.map(|(column, cell)| (column.to_owned(), cell.to_owned())));
    }
}
