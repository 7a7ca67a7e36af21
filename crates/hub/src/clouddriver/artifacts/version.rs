//! Versions of charts, by precedence. Helm asks for semantic versions; what older charts are called is read alike: `v1.2`
//! is `1.2.0`.

/// A version; higher ones are greater. What is none is lower than all.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ChartVersion<'a> {
    /// Without the zeros at their end.
    numbers: Vec<u64>,
    is_release: bool,
    identifiers: Vec<Identifier<'a>>,
}

/// A part of what follows the hyphen of a version that comes before its release.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Identifier<'a> {
    Number(u64),
    Word(&'a str),
}

// === impl ChartVersion ===

impl<'a> ChartVersion<'a> {
    pub(super) fn of(text: &'a str) -> Self {
        let text = text.strip_prefix('v').unwrap_or(text);
        // What was built makes no difference.
        let text = text.split_once('+').map_or(text, |(version, _)| version);
        let (numbers, identifiers) = text.split_once('-').unwrap_or((text, ""));
        let mut numbers: Vec<u64> =
            numbers.split('.').map(str::parse).collect::<Result<_, _>>().unwrap_or_default();
        while numbers.last() == Some(&0) {
            numbers.pop();
        }
        let identifiers = identifiers.split('.').filter(|part| !part.is_empty());
        let identifiers: Vec<_> = identifiers.map(Identifier::of).collect();
        Self { numbers, is_release: identifiers.is_empty(), identifiers }
    }
}

// === impl Identifier ===

impl<'a> Identifier<'a> {
    fn of(text: &'a str) -> Self {
        text.parse().map_or(Self::Word(text), Self::Number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_ordered_by_precedence() {
        let ascending = [
            "latest",
            "0.9.0",
            "1.0.0-alpha",
            "1.0.0-alpha.1",
            "1.0.0-alpha.beta",
            "1.0.0-beta.2",
            "1.0.0-beta.11",
            "1.0.0-rc.1",
            "1.0.0",
            "v1.2",
            "1.10.0",
            "2",
            "20261117120000.0.1",
        ];
        for pair in ascending.windows(2) {
            assert!(ChartVersion::of(pair[0]) < ChartVersion::of(pair[1]), "{pair:?}");
        }
        for (one, other) in [("1.0.0+a", "1.0.0+b"), ("v1.2", "1.2.0")] {
            assert_eq!(ChartVersion::of(one), ChartVersion::of(other));
        }
    }
}
