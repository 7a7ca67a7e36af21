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
        let mut words = Words::new(text);
        let mut requirements = Vec::new();
        loop {
            match words.peek() {
                "" => return Ok(Self(requirements)),
                "," if requirements.is_empty() => {
                    return Err(Status::bad_request(
                        "found ',', expected: !, identifier, or 'end of string'",
                    ));
                }
                _ => requirements.push(words.requirement()?),
            }
            match words.next() {
                "" => return Ok(Self(requirements)),
                "," => {}
                found => {
                    return Err(Status::bad_request(format!(
                        "found '{found}', expected: ',' or 'end of string'"
                    )));
                }
            }
        }
    }

    pub(crate) fn matches(&self, labels: &Value) -> bool {
        self.0
            .iter()
            .all(|requirement| requirement.matches(labels.get(&requirement.key).and_then(Value::as_str)))
    }
}

/// The words of a selector: signs and names.
struct Words<'a> {
    words: std::vec::IntoIter<&'a str>,
}

// === impl Words ===

impl<'a> Words<'a> {
    fn new(text: &'a str) -> Self {
        let mut words = Vec::new();
        let mut rest = text.trim_start();
        while let Some(first) = rest.chars().next() {
            let two = ["==", "!="].into_iter().any(|sign| rest.starts_with(sign));
            let length = match first {
                _ if two => 2,
                '=' | '!' | '(' | ')' | ',' | '<' | '>' => 1,
                _ => rest.find(|sign: char| "=!(),<> ".contains(sign)).unwrap_or(rest.len()),
            };
            let (word, tail) = rest.split_at(length);
            words.push(word);
            rest = tail.trim_start();
        }
        Self { words: words.into_iter() }
    }

    /// The next word; empty at the end.
    fn next(&mut self) -> &'a str {
        self.words.next().unwrap_or_default()
    }

    fn peek(&self) -> &'a str {
        self.words.as_slice().first().copied().unwrap_or_default()
    }

    fn requirement(&mut self) -> Result<Requirement, Status> {
        let absent = self.peek() == "!";
        if absent {
            self.next();
        }
        let key = self.next();
        if is_sign(key) {
            let why = format!("found '{key}', expected: !, identifier, or 'end of string'");
            return Err(Status::bad_request(why));
        }
        check_key(key)?;
        let requirement = |operator, values| Requirement { key: key.to_owned(), operator, values };
        if absent {
            return Ok(requirement(Operator::Absent, Vec::new()));
        }
        if matches!(self.peek(), "" | ",") {
            return Ok(requirement(Operator::Exists, Vec::new()));
        }
        let operator = match self.next() {
            "=" | "==" => Operator::In,
            "!=" => Operator::NotIn,
            ">" => Operator::Greater,
            "<" => Operator::Less,
            "in" => return Ok(requirement(Operator::In, self.set()?)),
            "notin" => return Ok(requirement(Operator::NotIn, self.set()?)),
            found => {
                return Err(unparsable(&format!("found '{found}', expected: in, notin, =, ==, !=, gt, lt")));
            }
        };
        let value = if is_sign(self.peek()) { "" } else { self.next() };
        Ok(requirement(operator, vec![value.to_owned()]))
    }

    fn set(&mut self) -> Result<Vec<String>, Status> {
        let found = self.next();
        if found != "(" {
            return Err(unparsable(&format!("found '{found}' expected: '('")));
        }
        let mut values = Vec::new();
        loop {
            match self.next() {
                ")" => return Ok(values),
                "," => {}
                "" => return Err(unparsable("found '', expected: ',' or ')'")),
                value => values.push(value.to_owned()),
            }
        }
    }
}

fn is_sign(word: &str) -> bool {
    matches!(word, "" | "=" | "==" | "!" | "!=" | "(" | ")" | "," | "<" | ">")
}

fn check_key(key: &str) -> Result<(), Status> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'/');
    if key.bytes().all(plain) {
        return Ok(());
    }
    Err(unparsable(&format!(
        "<nil>: Invalid value: {key:?}: name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
    )))
}

// === impl Requirement ===

impl Requirement {
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
