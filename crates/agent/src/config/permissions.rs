//! Permissions of an account: Fiat's roles, in both shapes that users write.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

/// Role that no user has, announced to the hub if permissions cannot be parsed. Empty permissions would open the account
/// to everyone.
const NOBODY: &str = "spindrift:nobody";

/// Roles by permission.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub struct Permissions {
    /// Roles that may see it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub read: Vec<String>,
    /// Roles that may change it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub write: Vec<String>,
    /// Fiat's other two, which mean nothing for accounts; who writes them is not shut out for it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub execute: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub create: Vec<String>,
}

// === impl Permissions ===

impl Permissions {
    /// Reads `[{READ: […]}, {WRITE: […]}]` or `{READ: […], WRITE: […]}`; roles lose white space around them.
    pub fn parse(written: &Value) -> Result<Self, String> {
        let mut permissions = Self::default();
        match written {
            Value::Null => {}
            Value::Object(entries) => permissions.add(entries.iter())?,
            Value::Array(items) => {
                for item in items {
                    let entries = item.as_object().ok_or_else(|| expected("a list of maps", item))?;
                    permissions.add(entries.iter())?;
                }
            }
            other => return Err(expected("READ and WRITE, each with a list of roles", other)),
        }
        Ok(permissions)
    }

    /// Returns permissions that deny everyone.
    pub fn nobody() -> Self {
        Self { read: vec![NOBODY.into()], write: vec![NOBODY.into()], ..Self::default() }
    }

    fn add<'v>(&mut self, entries: impl Iterator<Item = (&'v String, &'v Value)>) -> Result<(), String> {
        // In a fixed order, independent of the map's.
        for (authorization, roles) in entries.collect::<BTreeMap<_, _>>() {
            let known = match authorization.trim().to_ascii_uppercase().as_str() {
                "READ" => &mut self.read,
                "WRITE" => &mut self.write,
                "EXECUTE" => &mut self.execute,
                "CREATE" => &mut self.create,
                _ => return Err(format!("expected READ or WRITE, found {authorization:?}")),
            };
            for role in roles_of(roles)? {
                if !known.contains(&role) {
                    known.push(role);
                }
            }
        }
        Ok(())
    }
}

/// Reads a list of roles, or a single one; YAML makes numbers of roles that look like such.
fn roles_of(written: &Value) -> Result<Vec<String>, String> {
    let role = |value: &Value| match value {
        Value::String(text) if !text.trim().is_empty() => Ok(text.trim().to_owned()),
        Value::Number(number) => Ok(number.to_string()),
        Value::Bool(word) => Ok(word.to_string()),
        other => Err(expected("the name of a role", other)),
    };
    match written {
        Value::Array(items) => items.iter().map(role).collect(),
        Value::Null => Ok(vec![]),
        single => role(single).map(|role| vec![role]),
    }
}

fn expected(what: &str, found: &Value) -> String {
    format!("expected {what}, found {found}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn both_shapes_are_read_and_white_space_is_cut() {
        let expected = Permissions {
            read: vec!["dev".into(), "42".into()],
            write: vec!["ops".into()],
            ..Permissions::default()
        };
        for written in [
            json!({ "READ": [" dev ", 42], "WRITE": ["ops\n"] }),
            json!([{ "READ": ["dev", "42"] }, { "WRITE": " ops" }]),
            json!([{ "read": ["dev"] }, { "Write": ["ops", "ops "] }, { "READ": ["42"] }]),
        ] {
            assert_eq!(Permissions::parse(&written), Ok(expected.clone()), "{written}");
        }
        assert_eq!(Permissions::parse(&Value::Null), Ok(Permissions::default()));
    }

    #[test]
    fn what_cannot_be_read_is_refused_with_what_was_expected() {
        for (written, says) in [
            (json!("dev"), "expected READ and WRITE"),
            (json!(["dev"]), "expected a list of maps, found \"dev\""),
            (json!({ "LOOK": ["dev"] }), "expected READ or WRITE, found \"LOOK\""),
            (json!({ "READ": [["dev"]] }), "expected the name of a role, found [\"dev\"]"),
            (json!({ "READ": ["dev", "  "] }), "expected the name of a role"),
        ] {
            let error = Permissions::parse(&written).unwrap_err();
            assert!(error.starts_with(says), "{written}: {error}");
        }
    }
}
