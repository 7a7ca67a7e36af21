//! Schemas as text, one line per kind and per field; the form that is shipped.
//!
//! ```text
//! kind apps/v1 Deployment io.k8s.api.apps.v1.Deployment
//! type io.k8s.api.apps.v1.DeploymentSpec
//!   strategy retainKeys
//!   template of io.k8s.api.core.v1.PodTemplateSpec
//! type io.k8s.api.core.v1.PodSpec
//!   volumes merge retainKeys key name of io.k8s.api.core.v1.Volume
//! ```

use std::fmt::Write as _;

use super::{FieldStrategy, Schema, Strategy};

/// Parses a table; none if a line is invalid.
pub(super) fn read(table: &str) -> Option<Schema> {
    let mut schema = Schema::default();
    let mut current: Option<Box<str>> = None;
    for line in table.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let mut words = line.split_whitespace();
        let first = words.next()?;
        if line.starts_with(' ') {
            let fields = schema.types.get_mut(current.as_deref()?)?;
            fields.insert(first.into(), read_field(words)?);
            continue;
        }
        match first {
            "kind" => {
                let key = (words.next()?.into(), words.next()?.into());
                schema.kinds.insert(key, words.next()?.into());
            }
            "type" => {
                let name: Box<str> = words.next()?.into();
                schema.types.entry(name.clone()).or_default();
                current = Some(name);
            }
            _ => return None,
        }
    }
    Some(schema)
}

fn read_field<'a>(mut words: impl Iterator<Item = &'a str>) -> Option<FieldStrategy> {
    let mut field = FieldStrategy::default();
    while let Some(word) = words.next() {
        match word {
            "merge" => field.strategy = Strategy::Merge,
            "replace" => field.strategy = Strategy::Replace,
            "retainKeys" => field.retain_keys = true,
            "key" => field.merge_key = Some(words.next()?.into()),
            "of" => field.of = Some(words.next()?.into()),
            _ => return None,
        }
    }
    Some(field)
}

/// Writes a table that [`read`] parses.
pub(super) fn write(schema: &Schema) -> String {
    let Schema { kinds, types } = schema;
    let mut table = String::new();
    for ((api_version, kind), name) in kinds {
        writeln!(table, "kind {api_version} {kind} {name}").expect("a String takes everything");
    }
    for (name, fields) in types {
        writeln!(table, "type {name}").expect("a String takes everything");
        for (name, FieldStrategy { strategy, retain_keys, merge_key, of }) in fields {
            table.push_str("  ");
            table.push_str(name);
            match strategy {
                Strategy::Plain => {}
                Strategy::Merge => table.push_str(" merge"),
                Strategy::Replace => table.push_str(" replace"),
            }
            if *retain_keys {
                table.push_str(" retainKeys");
            }
            for (word, value) in [("key", merge_key), ("of", of)] {
                if let Some(value) = value {
                    write!(table, " {word} {value}").expect("a String takes everything");
                }
            }
            table.push('\n');
        }
    }
    table
}
