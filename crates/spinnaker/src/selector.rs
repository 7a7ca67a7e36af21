//! Label selectors of Spinnaker's requests: their JSON, kubectl's text form, and matching.

use std::fmt;

use serde::Deserialize;
use spindrift_model::selector::Operator;

use crate::lenient;

/// Requirements that must all match.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
pub struct LabelSelectors {
    #[serde(default, deserialize_with = "lenient::or_default")]
    selectors: Vec<LabelSelector>,
}

/// One requirement.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct LabelSelector {
    kind: SelectorKind,
    #[serde(default, deserialize_with = "lenient::text_or_empty")]
    key: String,
    #[serde(default, deserialize_with = "lenient::texts")]
    values: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
enum SelectorKind {
    Any,
    Equals,
    NotEquals,
    Contains,
    NotContains,
    Exists,
    NotExists,
}

// === impl LabelSelectors ===

impl LabelSelectors {
    /// Whether there are no requirements.
    pub fn is_empty(&self) -> bool {
        self.selectors.is_empty()
    }

    /// Whether labels, looked up with `label`, match.
    pub fn matches<'a>(&self, label: impl Fn(&str) -> Option<&'a str>) -> bool {
        self.selectors.iter().all(|selector| selector.matches(label(&selector.key)))
    }
}

/// Text form for kubectl's `-l`.
impl fmt::Display for LabelSelectors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, selector) in self.selectors.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            write!(f, "{comma}{selector}")?;
        }
        Ok(())
    }
}

// === impl LabelSelector ===

impl LabelSelector {
    fn matches(&self, value: Option<&str>) -> bool {
        // A comparison takes only the first of several values.
        let first = self.values.get(..1).unwrap_or_default();
        match self.kind {
            SelectorKind::Any => true,
            SelectorKind::Equals => Operator::Equals.matches(first, value),
            // Without a value, Clouddriver compares with null, which every label differs from.
            SelectorKind::NotEquals if first.is_empty() => Operator::Exists.matches(first, value),
            SelectorKind::NotEquals => Operator::NotEquals.matches(first, value),
            SelectorKind::Contains => Operator::In.matches(&self.values, value),
            SelectorKind::NotContains => Operator::NotIn.matches(&self.values, value),
            SelectorKind::Exists => Operator::Exists.matches(&[], value),
            SelectorKind::NotExists => Operator::DoesNotExist.matches(&[], value),
        }
    }
}

impl fmt::Display for LabelSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, key, values } = self;
        let first = values.first().map_or("", String::as_str);
        match kind {
            SelectorKind::Any => Ok(()),
            SelectorKind::Equals => write!(f, "{key} = {first}"),
            SelectorKind::NotEquals => write!(f, "{key} != {first}"),
            SelectorKind::Contains => write!(f, "{key} in ({})", values.join(", ")),
            SelectorKind::NotContains => write!(f, "{key} notin ({})", values.join(", ")),
            SelectorKind::Exists => write!(f, "{key}"),
            SelectorKind::NotExists => write!(f, "!{key}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn selectors(list: Value) -> LabelSelectors {
        serde_json::from_value(json!({"selectors": list})).unwrap()
    }

    #[test]
    fn selectors_read_as_kubectl_takes_them_and_match_as_it_does() {
        // kind, values, text, matches "one", matches "two", matches nothing
        let table = [
            ("ANY", json!([]), "", true, true, true),
            ("EQUALS", json!(["one"]), "pick = one", true, false, false),
            ("NOT_EQUALS", json!(["one"]), "pick != one", false, true, true),
            ("CONTAINS", json!(["one", "three"]), "pick in (one, three)", true, false, false),
            ("NOT_CONTAINS", json!(["one", "three"]), "pick notin (one, three)", false, true, true),
            ("EXISTS", json!(null), "pick", true, true, false),
            ("NOT_EXISTS", json!([]), "!pick", false, false, true),
        ];
        for (kind, values, text, one, two, nothing) in table {
            let selectors = selectors(json!([{"kind": kind, "key": "pick", "values": values}]));
            assert_eq!(selectors.to_string(), text);
            let matches = |value: Option<&'static str>| selectors.matches(|_| value);
            assert_eq!(
                (matches(Some("one")), matches(Some("two")), matches(None)),
                (one, two, nothing),
                "{kind}"
            );
        }
    }

    #[test]
    fn all_selectors_must_match() {
        let both = selectors(
            json!([{"kind": "EXISTS", "key": "a"}, {"kind": "EQUALS", "key": "b", "values": ["1"]}]),
        );
        assert_eq!(both.to_string(), "a,b = 1");
        assert!(both.matches(|_| Some("1")) && !both.matches(|key| (key == "b").then_some("1")));
        assert!(LabelSelectors::default().is_empty() && LabelSelectors::default().matches(|_| None));
        let unset: LabelSelectors = serde_json::from_value(json!({"selectors": null})).unwrap();
        assert!(unset.is_empty());
        assert!(
            serde_json::from_value::<LabelSelectors>(json!({"selectors": [{"kind": "WIBBLE"}]})).is_err()
        );
    }
}
