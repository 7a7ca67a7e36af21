//! Label selectors, as kubectl writes them.

use std::{collections::BTreeMap, str::FromStr};

/// All requirements must hold.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct LabelSelector(Vec<Requirement>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Requirement {
    In(String, Vec<String>),
    NotIn(String, Vec<String>),
    Exists(String),
    NotExists(String),
}

/// A selector that cannot be understood.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected requirements such as app=shop, tier!=cache, env in (a,b), !legacy; found {0:?}")]
pub(super) struct InvalidSelector(String);

// === impl LabelSelector ===

impl LabelSelector {
    /// Whether an object's labels (a JSON object, or nothing) fit.
    pub(super) fn matches(&self, labels: &str) -> bool {
        if self.0.is_empty() {
            return true;
        }
        let labels: BTreeMap<String, String> = serde_json::from_str(labels).unwrap_or_default();
        self.0.iter().all(|requirement| requirement.holds(&labels))
    }
}

impl FromStr for LabelSelector {
    type Err = InvalidSelector;
    fn from_str(text: &str) -> Result<Self, InvalidSelector> {
        split(text)
            .filter(|part| !part.trim().is_empty())
            .map(|part| {
                Requirement::parse(part.trim()).ok_or_else(|| InvalidSelector(part.trim().to_owned()))
            })
            .collect::<Result<_, _>>()
            .map(Self)
    }
}

/// Splits at commas that stand outside of parentheses.
fn split(text: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0;
    text.split(move |c| {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        c == ',' && depth == 0
    })
}

// === impl Requirement ===

impl Requirement {
    fn parse(text: &str) -> Option<Self> {
        let key = |text: &str| {
            let key = text.trim();
            let fits = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
            (!key.is_empty() && key.chars().all(fits)).then(|| key.to_owned())
        };
        let value = |text: &str| {
            let value = text.trim();
            value.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c)).then(|| value.to_owned())
        };
        let values = |text: &str| {
            text.trim()
                .strip_prefix('(')?
                .strip_suffix(')')?
                .split(',')
                .map(value)
                .collect::<Option<Vec<_>>>()
        };
        if let Some((name, set)) = text
            .split_once(" notin ")
            .or_else(|| text.split_once(" notin(").map(|_| split_set(text, "notin")))
        {
            return Some(Self::NotIn(key(name)?, values(set)?));
        }
        if let Some((name, set)) =
            text.split_once(" in ").or_else(|| text.split_once(" in(").map(|_| split_set(text, "in")))
        {
            return Some(Self::In(key(name)?, values(set)?));
        }
        if let Some((name, unwanted)) = text.split_once("!=") {
            return Some(Self::NotIn(key(name)?, vec![value(unwanted)?]));
        }
        if let Some((name, wanted)) = text.split_once("==").or_else(|| text.split_once('=')) {
            return Some(Self::In(key(name)?, vec![value(wanted)?]));
        }
        match text.strip_prefix('!') {
            Some(name) => key(name).map(Self::NotExists),
            None => key(text).map(Self::Exists),
        }
    }

    fn holds(&self, labels: &BTreeMap<String, String>) -> bool {
        match self {
            Self::In(key, values) => labels.get(key).is_some_and(|label| values.contains(label)),
            Self::NotIn(key, values) => labels.get(key).is_none_or(|label| !values.contains(label)),
            Self::Exists(key) => labels.contains_key(key),
            Self::NotExists(key) => !labels.contains_key(key),
        }
    }
}

/// `key in(a,b)`: kubectl allows the parenthesis to follow at once.
fn split_set<'a>(text: &'a str, operator: &str) -> (&'a str, &'a str) {
    let at = text.find('(').unwrap_or(text.len());
    let (head, set) = text.split_at(at);
    (head.trim_end().strip_suffix(operator).unwrap_or(head), set)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LABELS: &str = r#"{"app":"shop","tier":"web","example.com/team":"blue"}"#;

    #[test]
    fn selectors_mean_what_kubectl_means() {
        for (selector, fits) in [
            ("", true),
            ("app=shop", true),
            ("app==shop,tier=web", true),
            ("app=shop,tier=cache", false),
            ("tier!=cache", true),
            ("missing!=x", true),
            ("app", true),
            ("!app", false),
            ("!missing", true),
            ("app in (cart, shop)", true),
            ("app in(cart,shop),tier", true),
            ("app notin (shop)", false),
            ("missing notin (shop)", true),
            ("example.com/team=blue", true),
            ("app=", false),
        ] {
            assert_eq!(selector.parse::<LabelSelector>().unwrap().matches(LABELS), fits, "{selector}");
        }
        assert!(!"app".parse::<LabelSelector>().unwrap().matches(""));
    }

    #[test]
    fn what_cannot_be_understood_is_quoted_back() {
        for selector in ["app in shop", "=x", "a b", "app=a b", "app in (a", "é=1"] {
            assert!(selector.parse::<LabelSelector>().is_err(), "{selector}");
        }
    }
}
