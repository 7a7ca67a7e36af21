//! Parser of templates.

use serde_json::Value;

use super::{Filter, Operator, Part, Slice, Step, To};

/// Parse error of a template; the texts are kubectl's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SyntaxError {
    #[error("unclosed action")]
    Unclosed,
    #[error("unterminated {what}")]
    Unterminated { what: &'static str },
    #[error("unclosed array expect ]")]
    UnclosedFilter,
    #[error("invalid array index {index}")]
    Index { index: String },
    #[error("invalid multiple recursive descent")]
    Descents,
    #[error("unrecognized identifier {name}")]
    Identifier { name: String },
    #[error("unrecognized character in action: {found:?}")]
    Character { found: char },
    #[error("unrecognized filter operator {operator}")]
    Operator { operator: String },
    #[error("cannot parse number {text}")]
    Number { text: String },
    #[error("not in range, nothing to end")]
    End,
    #[error(
        "unexpected path string, expected a 'name1.name2' or '.name1.name2' or '{{name1.name2}}' or '{{.name1.name2}}': found {expression:?}"
    )]
    Expression { expression: String },
}

/// One pair of braces, before ranges are assembled.
enum Action {
    Path(Vec<Step>),
    Range(Vec<Step>),
    End,
}

/// Unparsed rest of an action.
struct Reader<'a> {
    rest: &'a str,
}

/// Parses a whole template.
pub(super) fn template(text: &str) -> Result<Vec<Part>, SyntaxError> {
    // Stack of parts: those of the template, then those of each open range.
    let mut open = vec![(Vec::new(), Vec::new())];
    let mut rest = text;
    while !rest.is_empty() {
        let (literal, braces) = rest.split_at(rest.find('{').unwrap_or(rest.len()));
        if !literal.is_empty() {
            push(&mut open, Part::Text(literal.to_owned()));
        }
        let Some(inside) = braces.strip_prefix('{') else { break };
        let mut reader = Reader { rest: inside };
        match reader.action(Some('}'))? {
            Action::Path(steps) => push(&mut open, Part::Path(steps)),
            Action::Range(steps) => open.push((steps, Vec::new())),
            Action::End => close(&mut open)?,
        }
        rest = reader.rest;
    }
    // A range without `{end}` extends to the end of the template.
    while open.len() > 1 {
        close(&mut open)?;
    }
    Ok(open.pop().map(|(_, parts)| parts).unwrap_or_default())
}

fn push(open: &mut [(Vec<Step>, Vec<Part>)], part: Part) {
    if let Some((_, parts)) = open.last_mut() {
        parts.push(part);
    }
}

fn close(open: &mut Vec<(Vec<Step>, Vec<Part>)>) -> Result<(), SyntaxError> {
    match open.pop() {
        Some((steps, parts)) if !open.is_empty() => {
            push(open, Part::Range(steps, parts));
            Ok(())
        }
        _ => Err(SyntaxError::End),
    }
}

fn is_terminator(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r' | '\n' | '.' | ',' | '[' | ']' | '$' | '@' | '{' | '}')
}

/// Parses a path without braces: an item of a union, or a side of a comparison.
fn steps(text: &str) -> Result<Vec<Step>, SyntaxError> {
    match (Reader { rest: text }).action(None)? {
        Action::Path(steps) => Ok(steps),
        Action::Range(_) => Err(SyntaxError::Identifier { name: "range".to_owned() }),
        Action::End => Err(SyntaxError::End),
    }
}

// === impl Reader ===

impl<'a> Reader<'a> {
    /// Parses up to the closing character, or to the end without one.
    fn action(&mut self, closing: Option<char>) -> Result<Action, SyntaxError> {
        let mut steps = Vec::new();
        let mut keyword = None;
        loop {
            let Some(c) = self.rest.chars().next() else {
                if closing.is_some() {
                    return Err(SyntaxError::Unclosed);
                }
                break;
            };
            if Some(c) == closing {
                self.rest = &self.rest[1..];
                break;
            }
            if let Some(after) = self.rest.strip_prefix("[?(") {
                self.rest = after;
                steps.push(Step::Filter(self.filter()?));
            } else if let Some(after) = self.rest.strip_prefix("..") {
                if steps.last() == Some(&Step::Descend) {
                    return Err(SyntaxError::Descents);
                }
                self.rest = after;
                steps.push(Step::Descend);
                if after.starts_with(|c: char| c == '_' || c.is_alphanumeric()) {
                    steps.push(self.field());
                }
            } else {
                match c {
                    ' ' | '@' | '$' => self.rest = &self.rest[1..],
                    '\r' | '\n' => return Err(SyntaxError::Unclosed),
                    '[' => self.array(&mut steps)?,
                    '"' | '\'' => steps.push(self.quoted(c)?),
                    '.' => {
                        self.rest = &self.rest[1..];
                        steps.push(self.field());
                    }
                    '+' | '-' | '0'..='9' => steps.push(self.number()?),
                    '_' => keyword = Some(self.word()),
                    c if c.is_alphabetic() => match self.word() {
                        "true" => steps.push(Step::Literal(true.into())),
                        "false" => steps.push(Step::Literal(false.into())),
                        word => keyword = Some(word),
                    },
                    found => return Err(SyntaxError::Character { found }),
                }
            }
        }
        match keyword {
            None => Ok(Action::Path(steps)),
            Some("range") => Ok(Action::Range(steps)),
            Some("end") => Ok(Action::End),
            Some(name) => Err(SyntaxError::Identifier { name: name.to_owned() }),
        }
    }

    fn take(&mut self, length: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(length);
        self.rest = rest;
        taken
    }

    fn word(&mut self) -> &'a str {
        self.take(self.rest.find(is_terminator).unwrap_or(self.rest.len()))
    }

    /// Parses a name up to an unescaped special character.
    fn field(&mut self) -> Step {
        let mut name = String::new();
        let mut characters = self.rest.char_indices();
        let mut end = self.rest.len();
        while let Some((at, c)) = characters.next() {
            if c == '\\' {
                name.extend(characters.next().map(|(_, escaped)| escaped));
            } else if is_terminator(c) {
                end = at;
                break;
            } else {
                name.push(c);
            }
        }
        self.take(end);
        if name == "*" { Step::Wildcard } else { Step::Field(name) }
    }

    fn number(&mut self) -> Result<Step, SyntaxError> {
        let sign = usize::from(self.rest.starts_with(['+', '-']));
        let digits = |c: char| c != '.' && !c.is_ascii_digit();
        let end = self.rest[sign..].find(digits).map_or(self.rest.len(), |at| at + sign);
        let text = self.take(end);
        let integer = text.parse::<i64>().map(Value::from).ok();
        let number = integer.or_else(|| text.parse::<f64>().map(Value::from).ok());
        number.map(Step::Literal).ok_or_else(|| SyntaxError::Number { text: text.to_owned() })
    }

    fn quoted(&mut self, quote: char) -> Result<Step, SyntaxError> {
        let mut text = String::new();
        let mut characters = self.rest.char_indices().skip(1);
        while let Some((at, c)) = characters.next() {
            match c {
                '\n' => break,
                '\\' => match characters.next() {
                    Some((_, 'n')) => text.push('\n'),
                    Some((_, 't')) => text.push('\t'),
                    Some((_, 'r')) => text.push('\r'),
                    Some((_, escaped)) => text.push(escaped),
                    None => break,
                },
                c if c == quote => {
                    self.take(at + 1);
                    return Ok(Step::Literal(text.into()));
                }
                c => text.push(c),
            }
        }
        Err(SyntaxError::Unterminated { what: "quoted string" })
    }

    /// Parses brackets: keys, indexes, slices, or a union of them.
    fn array(&mut self, steps: &mut Vec<Step>) -> Result<(), SyntaxError> {
        let end = self.rest.find([']', '\n']).filter(|at| self.rest[*at..].starts_with(']'));
        let end = end.ok_or(SyntaxError::Unterminated { what: "array" })?;
        let inside = &self.take(end + 1)[1..end];
        if inside.contains(',') {
            let items = inside.split(',').map(|item| Ok(vec![bracket(item.trim_matches(' '))?]));
            steps.push(Step::Union(items.collect::<Result<_, _>>()?));
        } else {
            steps.push(bracket(inside)?);
        }
        Ok(())
    }

    /// Parses a filter between `[?(` and `)]`; ignores parentheses in quotes.
    fn filter(&mut self) -> Result<Filter, SyntaxError> {
        let mut quote = None;
        let mut escaped = false;
        for (at, c) in self.rest.char_indices() {
            match (quote, c) {
                (_, '\n') => break,
                (Some(open), c) if c == open && !escaped => quote = None,
                (None, '"' | '\'') => quote = Some(c),
                (None, ')') => {
                    let text = self.take(at + 1);
                    if self.take(usize::from(self.rest.starts_with(']'))).is_empty() {
                        return Err(SyntaxError::UnclosedFilter);
                    }
                    return Filter::parse(&text[..at]);
                }
                _ => {}
            }
            escaped = c == '\\';
        }
        Err(SyntaxError::Unterminated { what: "filter" })
    }
}

/// Parses one item of a bracket.
fn bracket(text: &str) -> Result<Step, SyntaxError> {
    const ALL: Slice = Slice { from: None, to: To::End, step: None };
    for quote in ['\'', '"'] {
        if let Some(key) = text.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote)) {
            let plain = key.replace('\\', "");
            return Ok(match steps(&format!(".{key}"))? {
                path if path.len() > 1 => Step::Quoted(plain, path),
                _ => Step::Field(plain),
            });
        }
    }
    let invalid = || SyntaxError::Index { index: text.to_owned() };
    let number = |text: &str| match text {
        "" => Ok(None),
        text => text.parse().map(Some).map_err(|_| invalid()),
    };
    match text.split(':').collect::<Vec<_>>()[..] {
        ["*"] => Ok(Step::Slice(ALL)),
        [""] => Err(invalid()),
        [index] => Ok(Step::Slice(Slice { from: number(index)?, to: To::One, step: None })),
        [from, to] => Ok(Step::Slice(Slice { from: number(from)?, to: To::parse(number(to)?), step: None })),
        [from, to, step] => {
            Ok(Step::Slice(Slice { from: number(from)?, to: To::parse(number(to)?), step: number(step)? }))
        }
        _ => Err(invalid()),
    }
}

// === impl To ===

impl To {
    fn parse(before: Option<i64>) -> Self {
        before.map_or(Self::End, Self::Before)
    }
}

// === impl Filter ===

impl Filter {
    fn parse(text: &str) -> Result<Self, SyntaxError> {
        let is_operator = |c: char| matches!(c, '!' | '<' | '>' | '=');
        let Some(at) = text.find(is_operator) else {
            return Ok(Self { left: steps(text)?, compare: None });
        };
        let (left, rest) = text.split_at(at);
        let (operator, right) = rest.split_at(rest.find(|c| !is_operator(c)).unwrap_or(rest.len()));
        let operator = match operator {
            "==" => Operator::Equal,
            "!=" => Operator::NotEqual,
            "<" => Operator::Less,
            "<=" => Operator::LessOrEqual,
            ">" => Operator::Greater,
            ">=" => Operator::GreaterOrEqual,
            operator => return Err(SyntaxError::Operator { operator: operator.to_owned() }),
        };
        Ok(Self { left: steps(left)?, compare: Some((operator, steps(right)?)) })
    }
}
