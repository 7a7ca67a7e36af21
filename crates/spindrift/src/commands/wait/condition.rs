//! Value of `--for`.

use std::str::FromStr;

use anyhow::{bail, ensure};
use serde_json::Value;
use spindrift_printer::JsonPath;

/// Condition of an object.
#[derive(Debug, Clone)]
pub(super) enum WaitCondition {
    Created,
    Deleted,
    /// Type and status of an entry of `status.conditions`.
    Status {
        name: String,
        value: String,
    },
    /// Path that has this value, or any.
    Path {
        text: String,
        path: JsonPath,
        value: Option<String>,
    },
}

// === impl WaitCondition ===

impl PartialEq for WaitCondition {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Created, Self::Created) | (Self::Deleted, Self::Deleted) => true,
            (Self::Status { name, value }, Self::Status { name: other_name, value: other_value }) => {
                (name, value) == (other_name, other_value)
            }
            (Self::Path { text, .. }, Self::Path { text: other, .. }) => text == other,
            _ => false,
        }
    }
}

impl FromStr for WaitCondition {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        if let Some(condition) = text.strip_prefix("condition=") {
            let (name, value) = condition.split_once('=').unwrap_or((condition, "true"));
            return Ok(Self::Status { name: name.to_owned(), value: value.to_owned() });
        }
        if let Some(input) = text.strip_prefix("jsonpath=") {
            return path(input);
        }
        match text.to_lowercase().as_str() {
            "create" => Ok(Self::Created),
            "delete" => Ok(Self::Deleted),
            _ => bail!(
                "unrecognized condition: {text:?}; expected create, delete, condition=NAME[=VALUE] or \
                 jsonpath='{{EXPRESSION}}'[=VALUE]"
            ),
        }
    }
}

fn path(input: &str) -> anyhow::Result<WaitCondition> {
    let parts = split(input);
    ensure!(
        parts.len() <= 2,
        "jsonpath wait format must be --for=jsonpath='{{.status.readyReplicas}}'=3 or \
         --for=jsonpath='{{.status.readyReplicas}}'"
    );
    let expression = parts.first().map(String::as_str).unwrap_or_default();
    let expression = expression.trim_start_matches('{').trim_end_matches('}');
    ensure!(!expression.is_empty(), "jsonpath expression cannot be empty");
    let dot = if expression.starts_with(['.', '[', '$']) { "" } else { "." };
    let path = JsonPath::parse(&format!("{{{dot}{expression}}}"))
        .map_err(|error| anyhow::anyhow!("error parsing jsonpath {expression}, {error}"))?;
    let value = parts.get(1).map(|value| value.trim_matches(['\'', '"']).to_owned());
    ensure!(
        value.as_deref() != Some(""),
        "jsonpath wait has to have a value after equal sign, like --for=jsonpath='{{.status.readyReplicas}}'=3"
    );
    Ok(WaitCondition::Path { text: input.to_owned(), path, value })
}

/// Splits at single equal signs; a double one belongs to the expression.
fn split(input: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut rest = input.chars().peekable();
    while let Some(c) = rest.next() {
        if c == '=' && rest.next_if_eq(&'=').is_none() {
            parts.push(String::new());
        } else if let Some(part) = parts.last_mut() {
            part.push_str(if c == '=' { "==" } else { "" });
            if c != '=' {
                part.push(c);
            }
        }
    }
    parts
}

impl WaitCondition {
    /// Whether an existing object meets the condition.
    pub(super) fn is_met(&self, live: &Value) -> Result<bool, String> {
        match self {
            Self::Created => Ok(true),
            Self::Deleted => Ok(false),
            Self::Status { name, value } => Ok(has_status(live, name, value)),
            Self::Path { path, value, .. } => {
                // A missing key may appear later.
                let Ok(found) = path.render(live) else { return Ok(false) };
                match value {
                    None => Ok(!found.trim().is_empty()),
                    Some(_) if found.trim_start().starts_with(['{', '[']) => {
                        Err("error: jsonpath leads to a nested object or list which is not supported"
                            .to_owned())
                    }
                    Some(value) => Ok(found.trim() == value.trim()),
                }
            }
        }
    }
}

fn has_status(live: &Value, name: &str, value: &str) -> bool {
    let conditions = live.pointer("/status/conditions").and_then(Value::as_array);
    let is_named =
        |condition: &&Value| condition["type"].as_str().is_some_and(|kind| kind.eq_ignore_ascii_case(name));
    let Some(condition) = conditions.into_iter().flatten().find(is_named) else { return false };
    // The controller has not seen the newest specification yet.
    let observed = condition["observedGeneration"].as_i64().or(live["status"]["observedGeneration"].as_i64());
    if let (Some(generation), Some(observed)) = (live["metadata"]["generation"].as_i64(), observed)
        && observed < generation
    {
        return false;
    }
    condition["status"].as_str().is_some_and(|status| status.eq_ignore_ascii_case(value))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn met(condition: &str, object: &Value) -> Result<bool, String> {
        condition.parse::<WaitCondition>().map_err(|error| error.to_string())?.is_met(object)
    }

    #[test]
    fn conditions_are_those_of_kubectl() {
        let object = json!({
            "metadata": { "generation": 2, "name": "web" },
            "status": { "observedGeneration": 2, "phase": "Running", "readyReplicas": 3, "list": [{ "a": 1 }],
                "conditions": [{ "type": "Ready", "status": "True" }, { "type": "Old", "status": "True", "observedGeneration": 1 }] },
        });
        for (condition, expected) in [
            ("condition=Ready", Ok(true)),
            ("condition=ready=TRUE", Ok(true)),
            ("condition=Ready=false", Ok(false)),
            ("condition=Old", Ok(false)),
            ("condition=Missing", Ok(false)),
            ("jsonpath={.status.phase}=Running", Ok(true)),
            ("jsonpath=.status.phase='Running'", Ok(true)),
            ("jsonpath=status.readyReplicas=3", Ok(true)),
            ("jsonpath={.status.readyReplicas}=4", Ok(false)),
            ("jsonpath={.status.missing}=4", Ok(false)),
            ("jsonpath={.status.phase}", Ok(true)),
            ("jsonpath={.status.missing}", Ok(false)),
            ("jsonpath={.status.conditions[?(@.type==\"Ready\")].status}=True", Ok(true)),
            ("create", Ok(true)),
            ("Delete", Ok(false)),
        ] {
            assert_eq!(met(condition, &object), expected, "{condition}");
        }
        for (condition, expected) in [
            ("ready", "unrecognized condition: \"ready\""),
            ("jsonpath=", "cannot be empty"),
            ("jsonpath={.a}=", "has to have a value"),
            ("jsonpath={.a}=b=c", "format must be"),
            ("jsonpath={.status.conditions}=x", "nested object or list"),
        ] {
            let error = met(condition, &object).unwrap_err();
            assert!(error.contains(expected), "{condition}: {error}");
        }
    }

    #[test]
    fn an_outdated_status_is_not_met() {
        let object = json!({ "metadata": { "generation": 3 }, "status": { "observedGeneration": 2,
            "conditions": [{ "type": "Available", "status": "True" }] } });
        assert_eq!(met("condition=Available", &object), Ok(false));
    }
}
