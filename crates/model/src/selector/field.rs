//! Requirements on fields: `metadata.name=a`, `status.phase!=Running`.

/// Condition on the value of one field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldRequirement {
    /// Path of the field, such as `status.phase`, as it was written.
    pub field: String,
    /// Value to compare with, without escapes.
    pub value: String,
    /// Set for `=` and `==`, clear for `!=`.
    pub is_equal: bool,
}

/// Splits a field selector at its commas, except those after a backslash.
pub fn split_terms(selector: &str) -> Vec<&str> {
    split_unescaped(selector, ',')
}

// === impl FieldRequirement ===

impl FieldRequirement {
    /// Reads one term of a field selector; none if it has no operator, or the value has a bad escape or another `=`.
    pub fn parse(term: &str) -> Option<Self> {
        let (field, value) = term.split_once('=')?;
        let (field, is_equal) = field.strip_suffix('!').map_or((field, true), |field| (field, false));
        let value = value.strip_prefix('=').filter(|_| is_equal).unwrap_or(value);
        if split_unescaped(value, '=').len() > 1 {
            return None;
        }
        Some(Self { field: field.to_owned(), value: unescape(value, ",=\\")?, is_equal })
    }

    /// Splits the field into the keys on the way to it, in which `\.` stands for a dot of a key; none if one is empty.
    pub fn path(&self) -> Option<Vec<String>> {
        let keys = split_unescaped(self.field.trim_start_matches('.'), '.').into_iter();
        keys.map(|key| unescape(key, ",=\\.").filter(|key| !key.is_empty() && !key.contains(' '))).collect()
    }
}

fn split_unescaped(text: &str, separator: char) -> Vec<&str> {
    let mut is_escaped = false;
    text.split(move |c| {
        let splits = c == separator && !is_escaped;
        is_escaped = c == '\\' && !is_escaped;
        splits
    })
    .collect()
}

/// Drops the backslash before each of these characters; none if one stands before another character.
fn unescape(text: &str, escapable: &str) -> Option<String> {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        plain.push(match c {
            '\\' => rest.next().filter(|c| escapable.contains(*c))?,
            c => c,
        });
    }
    Some(plain)
}
