//! Order of chart versions. Helm requires semantic versions; shorter ones of older charts are completed: `v1.2` is `1.2.0`.

/// Version, ordered by precedence. A text that is no version is lower than all.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ChartVersion<'a> {
    /// Major, minor and patch without trailing zeros.
    numbers: Vec<u64>,
    is_release: bool,
    identifiers: Vec<Identifier<'a>>,
}

/// Identifier of a pre-release.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Identifier<'a> {
    Number(u64),
    Word(&'a str),
}

// === impl ChartVersion ===

impl<'a> ChartVersion<'a> {
    pub(super) fn of(text: &'a str) -> Self {
        let text = text.strip_prefix('v').unwrap_or(text);
        // Build metadata does not count.
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
