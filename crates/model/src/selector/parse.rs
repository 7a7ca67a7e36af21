//! Parser of label selectors, after `k8s.io/apimachinery/pkg/labels`, with the errors of the API server.

use std::str::FromStr;

use super::label::{LabelRequirement, LabelSelector, Operator};

/// Text that is no label selector; the message is that of the API server.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidLabelSelector(String);

/// Tokens of a selector: symbols, keys, values and the words `in` and `notin`. The empty token is the end.
struct Tokens<'a> {
    tokens: std::vec::IntoIter<&'a str>,
}

const SYMBOLS: &[char] = &['=', '!', '(', ')', ',', '<', '>'];

// === impl LabelSelector ===

impl FromStr for LabelSelector {
    type Err = InvalidLabelSelector;

    fn from_str(text: &str) -> Result<Self, InvalidLabelSelector> {
        let mut tokens = Tokens::new(text);
        let mut requirements = Vec::new();
        loop {
            match tokens.peek() {
                "" => return Ok(Self { requirements }),
                token if is_symbol(token) && token != "!" => {
                    return Err(unexpected(token, "!, identifier, or 'end of string'"));
                }
                _ => requirements.push(tokens.requirement().map_err(in_requirement)?),
            }
            match tokens.next() {
                "" => return Ok(Self { requirements }),
                "," => {}
                token => return Err(unexpected(token, "',' or 'end of string'")),
            }
            match tokens.peek() {
                token if is_symbol(token) && token != "!" => {
                    return Err(unexpected(token, "identifier after ','"));
                }
                _ => {}
            }
        }
    }
}

impl FromStr for LabelRequirement {
    type Err = InvalidLabelSelector;

    /// Reads a selector of exactly one requirement.
    fn from_str(text: &str) -> Result<Self, InvalidLabelSelector> {
        let mut tokens = Tokens::new(text);
        let requirement = tokens.requirement().map_err(in_requirement)?;
        match tokens.next() {
            "" => Ok(requirement),
            token => Err(unexpected(token, "'end of string'")),
        }
    }
}

// === impl Tokens ===

impl<'a> Tokens<'a> {
    fn new(text: &'a str) -> Self {
        let mut tokens = Vec::new();
        let mut rest = text.trim_start();
        while let Some(first) = rest.chars().next() {
            let length = match first {
                _ if rest.starts_with("==") || rest.starts_with("!=") => 2,
                _ if SYMBOLS.contains(&first) => 1,
                _ => {
                    rest.find(|c: char| SYMBOLS.contains(&c) || c.is_ascii_whitespace()).unwrap_or(rest.len())
                }
            };
            let (token, tail) = rest.split_at(length);
            tokens.push(token);
            rest = tail.trim_start();
        }
        Self { tokens: tokens.into_iter() }
    }

    fn next(&mut self) -> &'a str {
        self.tokens.next().unwrap_or_default()
    }

    fn peek(&self) -> &'a str {
        self.tokens.as_slice().first().copied().unwrap_or_default()
    }

    fn requirement(&mut self) -> Result<LabelRequirement, InvalidLabelSelector> {
        let is_negated = self.peek() == "!";
        if is_negated {
            self.next();
        }
        let key = self.identifier()?;
        check_key(key)?;
        let (operator, values) = match self.peek() {
            _ if is_negated => (Operator::DoesNotExist, vec![]),
            "" | "," => (Operator::Exists, vec![]),
            _ => match self.operator()? {
                operator @ (Operator::In | Operator::NotIn) => (operator, self.set()?),
                operator => (operator, vec![self.value()?]),
            },
        };
        check_values(key, operator, &values)?;
        Ok(LabelRequirement { key: key.to_owned(), operator, values })
    }

    fn identifier(&mut self) -> Result<&'a str, InvalidLabelSelector> {
        let token = self.next();
        if is_symbol(token) { Err(unexpected(token, "identifier")) } else { Ok(token) }
    }

    fn operator(&mut self) -> Result<Operator, InvalidLabelSelector> {
        Ok(match self.next() {
            "=" | "==" => Operator::Equals,
            "!=" => Operator::NotEquals,
            "in" => Operator::In,
            "notin" => Operator::NotIn,
            ">" => Operator::GreaterThan,
            "<" => Operator::LessThan,
            token => return Err(unexpected(token, "in, notin, =, ==, !=, gt, lt")),
        })
    }

    /// Reads the value of a comparison; none is the empty value.
    fn value(&mut self) -> Result<String, InvalidLabelSelector> {
        if matches!(self.peek(), "" | ",") { Ok(String::new()) } else { Ok(self.identifier()?.to_owned()) }
    }

    /// Reads `(a,b)`. A comma without a value beside it stands for the empty value, and so does `()`.
    fn set(&mut self) -> Result<Vec<String>, InvalidLabelSelector> {
        match self.next() {
            "(" => {}
            token => return Err(InvalidLabelSelector(format!("found '{token}' expected: '('"))),
        }
        let mut values: Vec<String> = Vec::new();
        loop {
            let value = if matches!(self.peek(), "," | ")") { "" } else { self.next() };
            if is_symbol(value) && !value.is_empty() {
                return Err(unexpected(value, "',', or identifier"));
            }
            if !values.iter().any(|known| known == value) {
                values.push(value.to_owned());
            }
            match self.next() {
                ")" => return Ok(values),
                "," => {}
                token => return Err(unexpected(token, "',' or ')'")),
            }
        }
    }
}

fn is_symbol(token: &str) -> bool {
    token.is_empty() || token.starts_with(SYMBOLS)
}

fn unexpected(found: &str, expected: &str) -> InvalidLabelSelector {
    InvalidLabelSelector(format!("found '{found}', expected: {expected}"))
}

fn in_requirement(InvalidLabelSelector(problem): InvalidLabelSelector) -> InvalidLabelSelector {
    InvalidLabelSelector(format!("unable to parse requirement: {problem}"))
}

fn check_key(key: &str) -> Result<(), InvalidLabelSelector> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'/');
    if key.bytes().all(is_plain) {
        return Ok(());
    }
    Err(InvalidLabelSelector(format!(
        "<nil>: Invalid value: {key:?}: name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
    )))
}

fn check_values(key: &str, operator: Operator, values: &[String]) -> Result<(), InvalidLabelSelector> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    for (index, value) in values.iter().enumerate() {
        if matches!(operator, Operator::GreaterThan | Operator::LessThan) && value.parse::<i64>().is_err() {
            return Err(InvalidLabelSelector(format!(
                "values[{index}]: Invalid value: {value:?}: for 'Gt', 'Lt' operators, the value must be an integer"
            )));
        }
        if !value.bytes().all(is_plain) {
            return Err(InvalidLabelSelector(format!(
                "values[{index}][{key}]: Invalid value: {value:?}: a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
            )));
        }
    }
    Ok(())
}
