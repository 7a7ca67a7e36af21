//! Kinds without a description of their own: all fields, with names in words.

use serde_json::Value;

use super::{Page, metadata};
use crate::look::{Look, scalar};

pub(super) fn describe(object: &Value, page: &mut Page) {
    metadata(object, page);
    page.field("API Version", object.text("/apiVersion"));
    page.field("Kind", object.text("/kind"));
    let mut meta = Page::default();
    for (key, value) in object.at("/metadata").as_object().into_iter().flatten() {
        // Already printed above.
        if !matches!(key.as_str(), "name" | "namespace" | "labels" | "annotations" | "managedFields") {
            add(key, value, &mut meta);
        }
    }
    page.section("Metadata", meta);
    for (key, value) in object.as_object().into_iter().flatten() {
        if !matches!(key.as_str(), "apiVersion" | "kind" | "metadata") {
            add(key, value, page);
        }
    }
}

fn add(key: &str, value: &Value, page: &mut Page) {
    let name = title(key);
    match value {
        Value::Object(entries) => {
            let mut inner = Page::default();
            for (key, value) in entries {
                add(key, value, &mut inner);
            }
            page.section(&name, inner);
        }
        Value::Array(items) if items.iter().any(Value::is_object) => {
            let mut inner = Page::default();
            for item in items {
                for (key, value) in item.as_object().into_iter().flatten() {
                    add(key, value, &mut inner);
                }
            }
            page.section(&name, inner);
        }
        Value::Array(items) => page.values(&name, items.iter().map(text).collect()),
        value => page.field(&name, text(value)),
    }
}

fn text(value: &Value) -> String {
    scalar(value).unwrap_or_else(|| if value.is_null() { "<nil>".to_owned() } else { value.to_string() })
}

/// Converts `creationTimestamp` to `Creation Timestamp`; keeps words in capitals together.
fn title(key: &str) -> String {
    if key == "uid" {
        return "UID".to_owned();
    }
    let mut title = String::new();
    let mut before_is_lower = false;
    for (index, c) in key.chars().enumerate() {
        if index == 0 {
            title.extend(c.to_uppercase());
        } else {
            if c.is_uppercase() && before_is_lower {
                title.push(' ');
            }
            title.push(c);
        }
        before_is_lower = c.is_lowercase() || c.is_ascii_digit();
    }
    title
}
