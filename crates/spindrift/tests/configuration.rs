//! The tables of `docs/configuration.md` are generated from the settings types: names, defaults and meanings.
//!
//! After a change of a setting: `make docs`, which is `UPDATE_GENERATED=1 cargo test -p spindrift --test configuration`.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

use std::{collections::BTreeMap, fmt::Write, path::PathBuf};

use serde_json::Value;
use spindrift_agent::config::AgentConfig;
use spindrift_hub::config::HubConfig;
use spindrift_process::config::{Schema, Unused};

const PAGE: &str = "docs/configuration.md";

/// Where the settings types are written.
const SOURCES: [&str; 3] =
    ["crates/agent/src/config", "crates/hub/src/config", "crates/process/src/logging/config"];

/// A struct of settings as it is written.
type Struct = Vec<Setting>;

/// One of its fields.
struct Setting {
    name: String,
    of: String,
    meaning: String,
}

/// All structs by name, apart for each daemon: both have a `Server`.
struct Types(BTreeMap<String, Struct>);

#[test]
fn the_page_has_the_tables_of_the_types() {
    let page = root().join(PAGE);
    let written = std::fs::read_to_string(&page).unwrap();
    let mut expected = written.clone();
    for (name, table) in [
        ("agent", table::<AgentConfig>(&Types::read(&["agent", "process"]), "AgentConfig")),
        ("agent without effect", unused(AgentConfig::unused())),
        ("hub", table::<HubConfig>(&Types::read(&["hub", "process"]), "HubConfig")),
    ] {
        expected = replaced(&expected, name, &table);
    }
    if std::env::var_os("UPDATE_GENERATED").is_some() {
        std::fs::write(&page, &expected).unwrap();
    }
    let differs = written.lines().zip(expected.lines()).find(|(is, ought)| is != ought);
    assert!(
        std::env::var_os("UPDATE_GENERATED").is_some() || written == expected,
        "{PAGE} is not what the settings say; run `make docs`. First difference: {differs:#?}"
    );
}

/// Every setting has a meaning: one without would be a line without a sentence.
#[test]
fn every_setting_is_explained() {
    for crates in [&["agent", "process"][..], &["hub", "process"]] {
        for (name, settings) in Types::read(crates).0 {
            for setting in settings {
                assert!(!setting.meaning.is_empty(), "{name}.{} has no doc comment", setting.name);
            }
        }
    }
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Puts a table between its marks.
fn replaced(page: &str, name: &str, table: &str) -> String {
    let (begin, end) = (format!("<!-- generated: {name} -->\n"), "<!-- end of generated -->");
    let (before, rest) = page.split_once(&begin).unwrap_or_else(|| panic!("{PAGE} has no mark {begin:?}"));
    let (_, after) = rest.split_once(end).unwrap_or_else(|| panic!("{PAGE} has no end for {name}"));
    format!("{before}{begin}\n{table}\n{end}{after}")
}

fn table<T: Schema + Default>(types: &Types, root: &str) -> String {
    let mut table = String::from("| key | default | meaning |\n| --- | --- | --- |\n");
    let (defaults, example) = (json(&T::default()), json(&T::example()));
    types.rows(root, "", &defaults, &example, &mut table);
    table
}

fn json(settings: &impl serde::Serialize) -> Value {
    serde_json::to_value(settings).unwrap()
}

fn unused(options: &[Unused]) -> String {
    let mut table = String::from("| key | why it has no effect |\n| --- | --- |\n");
    for Unused { path, because } in options {
        writeln!(table, "| `{path}` | {because} |").unwrap();
    }
    table
}

// === impl Types ===

impl Types {
    /// Reads the settings of these crates out of their sources.
    fn read(crates: &[&str]) -> Self {
        let mut types = BTreeMap::new();
        for source in
            SOURCES.iter().filter(|source| crates.iter().any(|name| source.contains(&format!("/{name}/"))))
        {
            let mut files = vec![root().join(format!("{source}.rs"))];
            if let Ok(entries) = std::fs::read_dir(root().join(source)) {
                files.extend(entries.map(|entry| entry.unwrap().path()));
            }
            files.sort();
            for file in
                files.iter().filter(|file| file.extension().is_some_and(|extension| extension == "rs"))
            {
                let Ok(text) = std::fs::read_to_string(file) else { continue };
                types.extend(structs(&text));
            }
        }
        Self(types)
    }

    fn rows(&self, name: &str, path: &str, defaults: &Value, example: &Value, table: &mut String) {
        let settings = self.0.get(name).unwrap_or_else(|| panic!("there is no struct {name}"));
        for Setting { name, of, meaning } in settings {
            let (default, example) = (&defaults[name], &example[name]);
            let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            let inner = of.trim_start_matches("Option<").trim_start_matches("Vec<").trim_end_matches('>');
            if !self.0.contains_key(inner) {
                writeln!(table, "| `{path}` | {} | {} |", shown(default), escaped(meaning)).unwrap();
            } else if of.trim_start_matches("Option<").starts_with("Vec<") {
                writeln!(table, "| `{path}[]` | {} | {} |", shown(default), escaped(meaning)).unwrap();
                self.rows(inner, &format!("{path}[]"), &example[0], &example[0], table);
            } else {
                self.rows(inner, &path, default, example, table);
            }
        }
    }
}

/// The structs of a source whose keys are written in camel case, as all settings are.
fn structs(text: &str) -> BTreeMap<String, Struct> {
    let mut structs: BTreeMap<String, Struct> = BTreeMap::new();
    let (mut current, mut is_settings, mut meaning) = (None, false, String::new());
    for line in text.lines() {
        let code = line.trim();
        if code == "#[cfg(test)]" {
            break;
        } else if let Some(sentence) = code.strip_prefix("///") {
            meaning.push_str(sentence);
        } else if code.starts_with("#[serde") && code.contains("camelCase") {
            is_settings = true;
        } else if let Some(rest) = code.strip_prefix("pub struct ").filter(|_| code.ends_with('{')) {
            current = is_settings.then(|| rest.trim_end_matches(" {").to_owned());
            if let Some(name) = &current {
                structs.insert(name.clone(), Vec::new());
            }
            (is_settings, meaning) = (false, String::new());
        } else if line == "}" {
            current = None;
        } else if let Some(field) = code.strip_prefix("pub ").and_then(|field| field.strip_suffix(',')) {
            if let (Some(name), Some((field, of))) = (&current, field.split_once(": ")) {
                let meaning = std::mem::take(&mut meaning).trim().to_owned();
                let setting = Setting { name: camel(field), of: of.to_owned(), meaning };
                structs.get_mut(name).unwrap().push(setting);
            }
        } else if !code.starts_with("#[") {
            meaning.clear();
        }
    }
    structs
}

fn camel(name: &str) -> String {
    let mut words = name.trim_start_matches("r#").split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |name, word| {
        let (head, tail) = word.split_at(1);
        name + &head.to_uppercase() + tail
    })
}

/// A default as users would write it.
fn shown(default: &Value) -> String {
    match default {
        Value::Null => "–".into(),
        // Things that have keys of their own are only there as examples.
        Value::Array(items) if items.iter().all(Value::is_object) => "none".into(),
        Value::Array(items) if items.len() > 4 => "see below".into(),
        Value::Array(items) => {
            let items: Vec<_> =
                items.iter().map(|item| item.as_str().map_or(item.to_string(), str::to_owned)).collect();
            format!("`{}`", items.join(", "))
        }
        Value::Object(entries) if entries.is_empty() => "none".into(),
        Value::String(text) if text.is_empty() => "empty".into(),
        Value::String(text) => format!("`{text}`"),
        other => format!("`{other}`"),
    }
}

/// A bar would end the cell.
fn escaped(text: &str) -> String {
    text.replace('|', "\\|")
}
