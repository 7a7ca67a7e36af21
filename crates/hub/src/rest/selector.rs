//! Label selectors, as kubectl writes them.

use std::{collections::BTreeMap, str::FromStr};

use spindrift_model::selector;
use tracing::warn;

/// Selector of objects by the labels that the store keeps of them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct LabelSelector(selector::LabelSelector);

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
        let labels: BTreeMap<String, String> = match serde_json::from_str(labels) {
            Ok(labels) => labels,
            Err(_) if labels.is_empty() => BTreeMap::new(),
            Err(error) => {
                warn!(%error, "labels in the store are not a JSON object of strings; the object matches no label");
                BTreeMap::new()
            }
        };
        self.0.matches(|key| labels.get(key).map(String::as_str))
    }
}

impl FromStr for LabelSelector {
    type Err = InvalidSelector;

    /// Reads one requirement after the other, so that the error quotes the one that is wrong.
    fn from_str(text: &str) -> Result<Self, InvalidSelector> {
        let terms = split(text).map(str::trim).filter(|term| !term.is_empty());
        let requirements = terms.map(|term| term.parse().map_err(|_| InvalidSelector(term.to_owned())));
        Ok(Self(selector::LabelSelector { requirements: requirements.collect::<Result<_, _>>()? }))
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

#[cfg(test)]
mod tests {
    use super::*;

    const LABELS: &str = r#"{"app":"shop","tier":"web","example.com/team":"blue"}"#;

    #[test]
    fn selectors_mean_the_same_as_in_kubectl() {
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
    fn invalid_input_is_quoted_in_the_error() {
        for selector in ["app in shop", "=x", "a b", "app=a b", "app in (a", "é=1"] {
            assert!(selector.parse::<LabelSelector>().is_err(), "{selector}");
        }
    }
}
