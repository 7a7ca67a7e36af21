//! `app=web,tier in (a, b),!legacy`.

use serde_json::Value;

use super::unparsable;
use crate::status::Status;

/// All requirements have to hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct LabelSelector(Vec<Requirement>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Requirement {
    key: String,
    operator: Operator,
    values: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    In,
    NotIn,
    Exists,
    Absent,
    Greater,
    Less,
}

// === impl LabelSelector ===

impl LabelSelector {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn parse(text: &str) -> Result<Self, Status> {
        let requirements = split(text).into_iter().map(Requirement::parse);
        Ok(Self(requirements.collect::<Result<_, _>>()?))
    }

    pub(crate) fn matches(&self, labels: &Value) -> bool {
        self.0
            .iter()
            .all(|requirement| requirement.matches(labels.get(&requirement.key).and_then(Value::as_str)))
    }
}

/// Splits at commas that are not in parentheses.
fn split(text: &str) -> Vec<&str> {
    let mut depth = 0_u32;
    let parts = text.split(|sign: char| {
        match sign {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        sign == ',' && depth == 0
    });
    parts.map(str::trim).filter(|part| !part.is_empty()).collect()
}

// === impl Requirement ===

impl Requirement {
    fn parse(part: &str) -> Result<Self, Status> {
        let requirement = |key: &str, operator, values: Vec<String>| {
            let key = key.trim();
            let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'/');
            if key.is_empty() || !key.bytes().all(plain) {
                return Err(unparsable(&format!(
                    "<nil>: Invalid value: {key:?}: name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
                )));
            }
            Ok(Self { key: key.to_owned(), operator, values })
        };
        if let Some(key) = part.strip_prefix('!') {
            return requirement(key, Operator::Absent, Vec::new());
        }
        if let Some((head, set)) = part.split_once('(') {
            let Some(set) = set.strip_suffix(')') else {
                return Err(unparsable("found '', expected: ',' or ')'"));
            };
            let values = set.split(',').map(|value| value.trim().to_owned()).collect();
            let mut words = head.split_whitespace();
            return match (words.next(), words.next(), words.next()) {
                (Some(key), Some("in"), None) => requirement(key, Operator::In, values),
                (Some(key), Some("notin"), None) => requirement(key, Operator::NotIn, values),
                _ => Err(unparsable("expected: in, notin, =, ==, !=, gt, lt")),
            };
        }
        for (sign, operator) in [
            ("!=", Operator::NotIn),
            ("==", Operator::In),
            ("=", Operator::In),
            (">", Operator::Greater),
            ("<", Operator::Less),
        ] {
            if let Some((key, value)) = part.split_once(sign) {
                return requirement(key, operator, vec![value.trim().to_owned()]);
            }
        }
        requirement(part, Operator::Exists, Vec::new())
    }

    fn matches(&self, found: Option<&str>) -> bool {
        let listed = |found: &str| self.values.iter().any(|value| value == found);
        let number = |text: &str| text.parse::<i64>().ok();
        let bound = self.values.first().and_then(|value| number(value));
        match self.operator {
            Operator::In => found.is_some_and(listed),
            Operator::NotIn => !found.is_some_and(listed),
            Operator::Exists => found.is_some(),
            Operator::Absent => found.is_none(),
            Operator::Greater => {
                found.and_then(number).zip(bound).is_some_and(|(found, bound)| found > bound)
            }
            Operator::Less => found.and_then(number).zip(bound).is_some_and(|(found, bound)| found < bound),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::LabelSelector;

    #[test]
    fn every_operator_selects_as_kubernetes_does() {
        let labels = json!({"app": "web", "tier": "front", "rank": "7"});
        for (selector, selects) in [
            ("", true),
            ("app=web", true),
            ("app==web,tier!=back", true),
            ("app=db", false),
            ("app in (web, db)", true),
            ("app notin (web,db)", false),
            ("none notin (a)", true),
            ("none!=a", true),
            ("app", true),
            ("!app", false),
            ("!none,app in (web),rank>6", true),
            ("rank<7", false),
        ] {
            assert_eq!(LabelSelector::parse(selector).unwrap().matches(&labels), selects, "{selector}");
        }
    }

    #[test]
    fn broken_selectors_are_refused() {
        for selector in ["app in (a", "app on (a)", "a b=c", "=x"] {
            assert_eq!(LabelSelector::parse(selector).unwrap_err().code, 400, "{selector}");
        }
    }
}
