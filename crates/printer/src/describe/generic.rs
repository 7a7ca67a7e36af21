//! Kinds without a description of their own: all fields, with names in words.

use serde_json::Value;

use super::Page;
use crate::look::scalar;

/// Fields that are printed before the others, or not at all.
const SKIPPED: [&str; 5] = [
    ".metadata.managedFields",
    ".metadata.name",
    ".metadata.namespace",
    ".metadata.labels",
    ".metadata.annotations",
];
/// Words that are written in capitals.
const ACRONYMS: [&str; 4] = ["API", "URL", "UID", "GUID"];

pub(super) fn describe(object: &Value, page: &mut Page) {
    page.metadata(object);
    content(object, 0, "", page);
}

fn content(object: &Value, level: usize, path: &str, page: &mut Page) {
    for (field, value) in object.as_object().into_iter().flatten() {
        let path = format!("{path}.{field}");
        if SKIPPED.contains(&path.as_str()) {
            continue;
        }
        let name = title(field);
        match value {
            Value::Object(_) => {
                page.line(level, format!("{name}:"));
                content(value, level + 1, &path, page);
            }
            Value::Array(items) => {
                page.line(level, format!("{name}:"));
                for item in items {
                    match item {
                        Value::Object(_) => content(item, level + 1, &path, page),
                        item => page.line(level + 1, text(item)),
                    }
                }
            }
            value => page.field(level, &name, text(value)),
        }
    }
}

fn text(value: &Value) -> String {
    scalar(value).unwrap_or_else(|| if value.is_null() { "<nil>".to_owned() } else { value.to_string() })
}

/// Converts `creationTimestamp` to `Creation Timestamp`; keeps words in capitals together.
fn title(field: &str) -> String {
    if field.chars().any(|c| !c.is_alphabetic() && c != '-') {
        return field.to_owned();
    }
    let mut words = Vec::new();
    for word in merged(split(field)) {
        let upper = word.to_uppercase();
        words.push(if ACRONYMS.contains(&upper.as_str()) {
            upper
        } else if word.to_lowercase() == word {
            let mut letters = word.chars();
            letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
        } else {
            word
        });
    }
    words.join(" ")
}

/// Splits at changes of case, as Go's `camelcase` does: `externalIPs` has the words `external`, `I` and `Ps`.
fn split(field: &str) -> Vec<String> {
    #[derive(PartialEq, Clone, Copy)]
    enum CharClass {
        Lower,
        Upper,
        Other,
    }
    let class = |c: char| match c {
        c if c.is_lowercase() => CharClass::Lower,
        c if c.is_uppercase() => CharClass::Upper,
        _ => CharClass::Other,
    };
    let mut runs: Vec<(CharClass, String)> = Vec::new();
    for c in field.chars() {
        match runs.last_mut() {
            Some((last, run)) if *last == class(c) => run.push(c),
            _ => runs.push((class(c), c.to_string())),
        }
    }
    // The last capital before small letters begins their word.
    for index in 1..runs.len() {
        if runs[index - 1].0 == CharClass::Upper
            && runs[index].0 == CharClass::Lower
            && let Some(capital) = runs[index - 1].1.pop()
        {
            runs[index].1.insert(0, capital);
        }
    }
    runs.into_iter().map(|(_, run)| run).filter(|run| !run.is_empty()).collect()
}

/// Joins a word of several capitals with a following one that begins with a capital: `IP` and `Ps`.
fn merged(words: Vec<String>) -> Vec<String> {
    let mut merged: Vec<String> = Vec::new();
    let mut is_open = false;
    for word in words {
        let begins_upper = word.chars().next().is_some_and(char::is_uppercase);
        match merged.last_mut() {
            Some(last) if is_open && begins_upper => {
                last.push_str(&word);
                is_open = false;
            }
            _ => {
                is_open = word.len() >= 2 && !word.chars().any(|c| c.is_alphabetic() && !c.is_uppercase());
                merged.push(word);
            }
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_split_into_words() {
        for (field, expected) in [
            ("creationTimestamp", "Creation Timestamp"),
            ("uid", "UID"),
            ("apiVersion", "API Version"),
            ("kind", "Kind"),
            ("serverURL", "Server URL"),
            ("a.b/c", "a.b/c"),
        ] {
            assert_eq!(title(field), expected, "{field}");
        }
    }
}
