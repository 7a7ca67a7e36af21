//! Columns of a CustomResourceDefinition.

use jiff::Timestamp;
use serde_json::Value;

use crate::{
    JsonPath, age,
    column::{Column, NAME},
    jsonpath::plain,
    look::Look,
};

/// Path and type of a column.
#[derive(Debug, Clone)]
pub(super) struct CustomCell {
    /// `None` if the path is invalid; the API server rejects such definitions.
    path: Option<JsonPath>,
    r#type: String,
}

/// Columns of a version, or `None` if the definition has none.
pub(super) fn columns(definition: &Value, version: &str) -> Option<(Vec<Column>, Vec<CustomCell>)> {
    let versions = definition.list("/spec/versions");
    let version = versions.iter().find(|candidate| candidate.text("/name") == version)?;
    let added = version.list("/additionalPrinterColumns");
    if added.is_empty() {
        return None;
    }
    let mut columns = vec![NAME.column()];
    let mut cells = Vec::new();
    for column in added {
        let text = |pointer| column.text(pointer).to_owned();
        columns.push(Column {
            name: text("/name").into(),
            r#type: text("/type").into(),
            format: text("/format").into(),
            description: text("/description").into(),
            priority: i32::try_from(column.int("/priority")).unwrap_or(i32::MAX),
        });
        let path = JsonPath::parse(&format!("{{{}}}", column.text("/jsonPath"))).ok();
        cells.push(CustomCell { path, r#type: text("/type") });
    }
    Some((columns, cells))
}

// === impl CustomCell ===

impl CustomCell {
    /// First value of the path, if it has the type of the column.
    pub(super) fn show(&self, object: &Value, now: Timestamp) -> Value {
        let found = self.path.as_ref().and_then(|path| path.find(object).ok()?.into_iter().next());
        match (self.r#type.as_str(), found) {
            ("string", Some(value)) => plain(&value).into(),
            ("integer", Some(Value::Number(number))) => integer(&number).map_or(Value::Null, Value::from),
            ("number", Some(number @ Value::Number(_))) => number,
            ("boolean", Some(flag @ Value::Bool(_))) => flag,
            ("date", Some(Value::String(time))) => date(&time, now).into(),
            // Missing, or of another type than declared.
            _ => Value::Null,
        }
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "what is beyond the range becomes its bound, as in any language"
)]
fn integer(number: &serde_json::Number) -> Option<i64> {
    number.as_i64().or_else(|| number.as_f64().map(|float| float as i64))
}

fn date(time: &str, now: Timestamp) -> String {
    if time.parse::<Timestamp>().is_ok() { age::since(now, time) } else { "<invalid>".to_owned() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::Printer;

    #[test]
    fn custom_resources_have_the_columns_of_their_definition() {
        let definition = json!({ "spec": { "versions": [
            { "name": "v1alpha1" },
            { "name": "v1", "additionalPrinterColumns": [
                { "name": "Size", "type": "integer", "jsonPath": ".spec.size" },
                { "name": "Ready", "type": "string", "jsonPath": ".status.conditions[?(@.type=='Ready')].status" },
                { "name": "On", "type": "boolean", "jsonPath": ".spec.on" },
                { "name": "Ratio", "type": "number", "jsonPath": ".spec.ratio", "priority": 1 },
                { "name": "Since", "type": "date", "jsonPath": ".status.since" },
                { "name": "Tags", "type": "string", "jsonPath": ".spec.tags" },
                { "name": "Wrong", "type": "integer", "jsonPath": ".spec.tags" },
                { "name": "Missing", "type": "string", "jsonPath": ".spec.missing.much" },
            ] },
        ] } });
        let object = json!({
            "metadata": { "name": "gear", "creationTimestamp": "2026-11-16T01:00:00Z" },
            "spec": { "size": 3, "on": false, "ratio": 2.5, "tags": ["a", "b"] },
            "status": { "since": "2026-11-16T01:04:00Z", "conditions": [
                { "type": "Synced", "status": "False" }, { "type": "Ready", "status": "True" },
            ] },
        });
        let now = "2026-11-16T01:05:10Z".parse().unwrap();
        let printer = Printer::custom(&definition, "v1");
        assert_eq!(
            json!(printer.cells(&object, now)),
            json!(["gear", 3, "True", false, 2.5, "70s", "[\"a\",\"b\"]", null, null])
        );
        let names: Vec<_> = printer.columns().iter().map(|column| (&*column.name, column.priority)).collect();
        assert_eq!(names[..5], [("Name", 0), ("Size", 0), ("Ready", 0), ("On", 0), ("Ratio", 1)]);
        for without in ["v1alpha1", "v9"] {
            assert_eq!(
                json!(Printer::custom(&definition, without).cells(&object, now)),
                json!(["gear", "5m10s"])
            );
        }
    }
}
