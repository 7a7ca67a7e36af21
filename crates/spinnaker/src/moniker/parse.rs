//! Application and cluster from a name: `app-stack-detail-v001`.

/// Parts of a name by Spinnaker's convention.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NameParts<'a> {
    pub app: Option<&'a str>,
    pub stack: Option<&'a str>,
    pub detail: Option<&'a str>,
    pub cluster: Option<&'a str>,
    pub sequence: Option<i64>,
}

// === impl NameParts ===

impl<'a> NameParts<'a> {
    /// Parses a name; one that does not follow the convention has no parts.
    pub fn parse(name: &'a str) -> Self {
        let (stem, sequence) = split_sequence(name);
        if stem.starts_with("system:") {
            return Self { app: Some("system"), cluster: Some(stem), ..Self::default() };
        }
        // The first word may not have what only a detail may: `~` and `^`.
        let mut words = stem.splitn(3, '-');
        let (app, stack, detail) = (words.next().unwrap_or_default(), words.next(), words.next());
        let is_conventional = !app.is_empty()
            && app.bytes().all(is_plain)
            && stack.is_none_or(|stack| stack.bytes().all(is_plain))
            && detail.is_none_or(|detail| detail.bytes().all(|byte| is_in_detail(byte) || byte == b'-'));
        if !is_conventional {
            return Self::default();
        }
        let named = |word: Option<&'a str>| word.filter(|word| !word.is_empty());
        Self { app: Some(app), stack: named(stack), detail: named(detail), cluster: Some(stem), sequence }
    }
}

/// Splits off `-v` and three to six digits.
fn split_sequence(name: &str) -> (&str, Option<i64>) {
    let cut = name.rsplit_once("-v").and_then(|(stem, digits)| {
        let fits = (3..=6).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
        let stem_fits =
            stem.starts_with("system:") || stem.bytes().all(|byte| is_in_detail(byte) || byte == b'-');
        (fits && stem_fits).then(|| Some((stem, digits.parse().ok()?))).flatten()
    });
    cut.map_or((name, None), |(stem, sequence)| (stem, Some(sequence)))
}

fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'.' || byte == b'_'
}

fn is_in_detail(byte: u8) -> bool {
    is_plain(byte) || byte == b'~' || byte == b'^'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_taken_apart_by_convention() {
        // name, app, cluster, sequence
        let table = [
            ("junk-web-blue", Some("junk"), Some("junk-web-blue"), None),
            ("junk-web-blue-7658d64bc4", Some("junk"), Some("junk-web-blue-7658d64bc4"), None),
            ("plain-v003", Some("plain"), Some("plain"), Some(3)),
            ("shop-v1000", Some("shop"), Some("shop"), Some(1000)),
            ("shop-v01", Some("shop"), Some("shop-v01"), None),
            ("shop-v1234567", Some("shop"), Some("shop-v1234567"), None),
            ("shop-web-a-b-v012", Some("shop"), Some("shop-web-a-b"), Some(12)),
            (
                "crontabs.stable.example.com",
                Some("crontabs.stable.example.com"),
                Some("crontabs.stable.example.com"),
                None,
            ),
            ("shop--detail", Some("shop"), Some("shop--detail"), None),
            ("shop-a-b~c^d", Some("shop"), Some("shop-a-b~c^d"), None),
            ("shop~x", None, None, None),
            ("-shop", None, None, None),
            ("", None, None, None),
            ("a:b", None, None, None),
            ("system:node-v001", Some("system"), Some("system:node"), None),
            ("system:controller:x", Some("system"), Some("system:controller:x"), None),
        ];
        for (name, app, cluster, sequence) in table {
            let parts = NameParts::parse(name);
            let read = (parts.app, parts.cluster, parts.sequence);
            assert_eq!(read, (app, cluster, sequence), "{name}");
        }
    }

    #[test]
    fn any_name_is_read_without_a_panic() {
        proptest::proptest!(|(name in ".*")| {
            let parts = NameParts::parse(&name);
            proptest::prop_assert!(parts.cluster.is_none_or(|cluster| name.starts_with(cluster)));
        });
    }
}
