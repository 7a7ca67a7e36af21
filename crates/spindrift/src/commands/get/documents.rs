//! Objects as JSON, YAML, names, or by a template.

use std::io::Write;

use serde_json::{Value, json};
use spindrift_printer::json;

use super::{
    fetch::FetchedObject,
    output::{Output, yaml},
    target::{QueryFlags, Target},
};

/// Annotation with the account of an object, unless the user selected exactly one account.
pub(crate) const ACCOUNT: &str = "spindrift.io/account";

/// Writes documents to stdout: lists page by page, templates once all objects have arrived.
pub(crate) struct Documents<'a> {
    output: Output,
    query: &'a QueryFlags,
    /// Set if one name was requested: one object that has it is not printed as a list. It comes in one page.
    names_one: bool,
    /// Set if one object was found by one name.
    is_one: bool,
    written: usize,
    /// Objects for the template.
    kept: Vec<Value>,
}

// === impl Documents ===

impl<'a> Documents<'a> {
    pub(crate) fn new(output: Output, query: &'a QueryFlags, names_one: bool) -> Self {
        Self { output, query, names_one, is_one: false, written: 0, kept: Vec::new() }
    }

    pub(crate) fn page(&mut self, target: &Target, page: Vec<FetchedObject>) -> anyhow::Result<()> {
        self.is_one = self.names_one && page.len() == 1;
        let mut out = std::io::stdout().lock();
        for found in page {
            let value = marked(found, self.query);
            match &self.output {
                Output::Name => writeln!(out, "{}", name(target, &value))?,
                Output::JsonPath(_) => self.kept.push(value),
                Output::Yaml if self.is_one => out.write_all(yaml(&value)?.as_bytes())?,
                _ if self.is_one => writeln!(out, "{}", json::pretty(&value))?,
                Output::Yaml => {
                    if self.written == 0 {
                        writeln!(out, "apiVersion: v1\nitems:")?;
                    }
                    out.write_all(yaml(&[value])?.as_bytes())?;
                }
                _ => {
                    let begin = if self.written == 0 {
                        "{\n    \"apiVersion\": \"v1\",\n    \"items\": [\n        "
                    } else {
                        ",\n        "
                    };
                    write!(out, "{begin}{}", json::pretty_at(2, &value))?;
                }
            }
            self.written += 1;
        }
        Ok(())
    }

    /// Whether any object was written.
    pub(crate) fn any(&self) -> bool {
        self.written > 0
    }

    /// Ends the list, or renders the template.
    pub(crate) fn end(self) -> anyhow::Result<()> {
        if self.names_one && self.written == 0 {
            return Ok(());
        }
        let mut out = std::io::stdout().lock();
        match self.output {
            Output::JsonPath(path) => {
                let value = match &self.kept[..] {
                    [only] if self.is_one => only,
                    all => &list(all),
                };
                match path.render(value) {
                    Ok(text) => write!(out, "{text}")?,
                    Err(error) => anyhow::bail!("error executing jsonpath: {error}"),
                }
            }
            _ if self.is_one => {}
            Output::Json if self.written == 0 => writeln!(out, "{}", json::pretty(&list(&[])))?,
            Output::Json => writeln!(
                out,
                "\n    ],\n    \"kind\": \"List\",\n    \"metadata\": {{\n        \"resourceVersion\": \"\"\n    }}\n}}"
            )?,
            Output::Yaml if self.written == 0 => out.write_all(yaml(&list(&[]))?.as_bytes())?,
            Output::Yaml => writeln!(out, "kind: List\nmetadata:\n  resourceVersion: \"\"")?,
            _ => {}
        }
        Ok(())
    }
}

fn list(items: &[Value]) -> Value {
    json!({ "apiVersion": "v1", "items": items, "kind": "List", "metadata": { "resourceVersion": "" } })
}

/// Name as `-o name` prints it: `pod/web`, `deployment.apps/web`.
pub(crate) fn name(target: &Target, value: &Value) -> String {
    let name = value.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
    format!("{}/{name}", target.resource.prefix())
}

/// Object with its account as an annotation, unless the user selected exactly one account.
pub(crate) fn marked(found: FetchedObject, query: &QueryFlags) -> Value {
    let FetchedObject { account, mut value } = found;
    if !query.is_one_account() {
        mark(&mut value, &account);
    }
    value
}

/// Adds the account of an object as an annotation.
pub(crate) fn mark(value: &mut Value, account: &str) {
    let Some(metadata) = value.pointer_mut("/metadata").and_then(Value::as_object_mut) else { return };
    let annotations = metadata.entry("annotations").or_insert_with(|| json!({}));
    if let Some(annotations) = annotations.as_object_mut() {
        annotations.insert(ACCOUNT.to_owned(), account.into());
    }
}
