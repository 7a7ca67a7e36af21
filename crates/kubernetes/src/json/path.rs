//! Paths into objects: `data.*`, `spec.containers[*].env[*].value`, `metadata.annotations['example.com/token']`.

use std::{fmt, str::FromStr};

/// FieldPath from the top of an object to some of its values.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct FieldPath(Vec<Step>);

#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Step {
    /// The member of this name.
    Member(Box<str>),
    /// Every member of an object.
    AnyMember,
    /// Every element of an array.
    AnyElement,
}

/// Text that is not a valid path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidPath {
    /// The text is empty.
    #[error("it is empty")]
    Empty,
    /// Two dots in a row, or one at the end.
    #[error("a name is missing at character {0}")]
    NoName(usize),
    /// The brackets contain neither `*` nor a quoted name.
    #[error("expected [*] or ['name'] at character {0}")]
    Bracket(usize),
    /// Something else than a dot or a bracket follows a step.
    #[error("expected a dot or a bracket at character {0}")]
    NoStep(usize),
    /// A name with a star in it.
    #[error(
        "* stands for a whole name and cannot be part of one, at character {0}; a name with a star is written ['…']"
    )]
    PartialWildcard(usize),
}

/// Parser of a path.
struct Reader<'a> {
    text: &'a str,
    at: usize,
}

// === impl FieldPath ===

impl FieldPath {
    /// Returns the path of members with these names.
    pub(crate) fn of_names<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        Self(names.into_iter().map(|name| Step::Member(name.into())).collect())
    }

    /// Returns the path of every member of the object itself.
    pub(crate) fn any_member() -> Self {
        Self(vec![Step::AnyMember])
    }

    /// Appends a step.
    pub(crate) fn then(&self, step: Step) -> Self {
        Self([&self.0[..], &[step]].concat())
    }

    pub(crate) fn steps(&self) -> &[Step] {
        &self.0
    }

    /// Prepends another path.
    pub(crate) fn within(&self, outer: &[Step]) -> Self {
        Self([outer, &self.0].concat())
    }

    /// Whether the path selects this value or one that contains it.
    pub(crate) fn covers(&self, names: &[&str]) -> bool {
        let fits = |(step, name): (&Step, &&str)| *step == Step::AnyMember || step.name() == Some(name);
        self.0.len() <= names.len() && self.0.iter().zip(names).all(fits)
    }
}

impl FromStr for FieldPath {
    type Err = InvalidPath;

    fn from_str(text: &str) -> Result<Self, InvalidPath> {
        let mut reader = Reader { text, at: 0 };
        // As in kubectl's JSONPath, the first name may have a dot before it.
        let mut steps = match reader.rest().trim() {
            "" | "." => return Err(InvalidPath::Empty),
            rest if rest.starts_with(['.', '[']) => vec![],
            _ => vec![reader.name()?],
        };
        while !reader.rest().is_empty() {
            steps.push(reader.step()?);
        }
        Ok(Self(steps))
    }
}

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, step) in self.0.iter().enumerate() {
            let dot = if i == 0 { "" } else { "." };
            match step {
                Step::Member(name) if is_plain(name) => write!(f, "{dot}{name}")?,
                Step::Member(name) => write!(f, "['{}']", name.replace('\'', "''"))?,
                Step::AnyMember => write!(f, "{dot}*")?,
                Step::AnyElement => f.write_str("[*]")?,
            }
        }
        Ok(())
    }
}

/// Whether a name needs no quotes.
fn is_plain(name: &str) -> bool {
    !name.is_empty() && name.trim() == name && !name.contains(['.', '[', ']', '\'', '*'])
}

// === impl Step ===

impl Step {
    pub(crate) fn name(&self) -> Option<&str> {
        match self {
            Self::Member(name) => Some(name),
            Self::AnyMember | Self::AnyElement => None,
        }
    }
}

// === impl Reader ===

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// Position in characters, counted from 1, for messages.
    fn position(&self) -> usize {
        self.text[..self.at].chars().count() + 1
    }

    fn step(&mut self) -> Result<Step, InvalidPath> {
        if self.rest().starts_with('.') {
            self.at += 1;
            self.name()
        } else if self.rest().starts_with('[') {
            self.bracket()
        } else {
            Err(InvalidPath::NoStep(self.position()))
        }
    }

    fn name(&mut self) -> Result<Step, InvalidPath> {
        let rest = self.rest();
        let name = &rest[..rest.find(['.', '[', ']']).unwrap_or(rest.len())];
        let step = match name {
            "" => return Err(InvalidPath::NoName(self.position())),
            "*" => Step::AnyMember,
            _ if name.contains('*') => return Err(InvalidPath::PartialWildcard(self.position())),
            _ => Step::Member(name.into()),
        };
        self.at += name.len();
        Ok(step)
    }

    /// Parses `[*]` or `['name']`, in which a quote is doubled.
    fn bracket(&mut self) -> Result<Step, InvalidPath> {
        if self.rest().starts_with("[*]") {
            self.at += "[*]".len();
            return Ok(Step::AnyElement);
        }
        let invalid = InvalidPath::Bracket(self.position());
        let Some(quoted) = self.rest().strip_prefix("['") else { return Err(invalid) };
        let mut name = String::new();
        let mut chars = quoted.char_indices().peekable();
        while let Some((at, c)) = chars.next() {
            if c != '\'' {
                name.push(c);
            } else if chars.next_if(|(_, next)| *next == '\'').is_some() {
                name.push('\'');
            } else if quoted[at..].starts_with("']") {
                self.at += "['".len() + at + "']".len();
                return Ok(Step::Member(name.into()));
            } else {
                return Err(invalid);
            }
        }
        Err(invalid)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn member(name: &str) -> Step {
        Step::Member(name.into())
    }

    #[test]
    fn paths_are_parsed() {
        for (text, steps) in [
            ("data", vec![member("data")]),
            (".data.*", vec![member("data"), Step::AnyMember]),
            ("args[*]", vec![member("args"), Step::AnyElement]),
            ("a[*][*].b-c/d", vec![member("a"), Step::AnyElement, Step::AnyElement, member("b-c/d")]),
            ("a['x.y/z'].b", vec![member("a"), member("x.y/z"), member("b")]),
            ("['it''s *']", vec![member("it's *")]),
            ("['é']['']", vec![member("é"), member("")]),
            ("[' '].a", vec![member(" "), member("a")]),
        ] {
            assert_eq!(text.parse(), Ok(FieldPath(steps)), "{text}");
        }
    }

    #[test]
    fn a_name_with_blanks_around_it_is_written_in_quotes() {
        assert_eq!(FieldPath(vec![member(" "), member("a b"), member("c ")]).to_string(), "[' '].a b['c ']");
    }

    #[test]
    fn errors_name_the_position() {
        for (text, error) in [
            ("", InvalidPath::Empty),
            (" ", InvalidPath::Empty),
            (".", InvalidPath::Empty),
            ("a..b", InvalidPath::NoName(3)),
            ("a.", InvalidPath::NoName(3)),
            ("é[0]", InvalidPath::Bracket(2)),
            ("a[", InvalidPath::Bracket(2)),
            ("a['b]", InvalidPath::Bracket(2)),
            ("a['b'x]", InvalidPath::Bracket(2)),
            ("a[*]b", InvalidPath::NoStep(5)),
            ("a]", InvalidPath::NoStep(2)),
            ("a.pass*", InvalidPath::PartialWildcard(3)),
        ] {
            assert_eq!(text.parse::<FieldPath>(), Err(error), "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_written_path_is_parsed_as_the_same(names in prop::collection::vec("\\PC{0,6}|\\*|[.'\\[\\]]{1,3}", 1..5)) {
            let path = FieldPath(names.iter().map(|name| match name.as_str() {
                "*" => Step::AnyMember,
                "[" => Step::AnyElement,
                name => member(name),
            }).collect());
            prop_assert_eq!(path.to_string().parse(), Ok(path));
        }
    }
}
