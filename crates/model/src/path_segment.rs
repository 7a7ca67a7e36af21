//! Segments of the paths in an API server's URLs.

/// Text that cannot be one segment of a path. The API server decodes `%2F`, so encoding does not help: the path would
/// address another object.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {value:?} {reason}")]
pub struct InvalidSegment {
    field: String,
    value: String,
    reason: &'static str,
}

/// Longest part of the text that an error quotes.
const LONGEST_QUOTE: usize = 253;

/// Checks one segment by the rules of client-go (`IsValidPathSegmentName`); the field is named in the error.
pub fn check_path_segment(field: &str, value: &str) -> Result<(), InvalidSegment> {
    let reason = match value {
        "" => "may not be empty",
        "." => "may not be '.'",
        ".." => "may not be '..'",
        _ if value.contains('/') => "may not contain '/'",
        _ if value.contains('%') => "may not contain '%'",
        _ => return Ok(()),
    };
    Err(InvalidSegment::new(field, value, reason))
}

/// Checks a subresource of a namespace: the API server reads any other name after a namespace as the collection of that
/// resource in it, which a DELETE would empty.
pub fn check_namespace_subresource(value: &str) -> Result<(), InvalidSegment> {
    match value {
        "status" | "finalize" => Ok(()),
        _ => Err(InvalidSegment::new(
            "subresource",
            value,
            "may only be 'status' or 'finalize' for a namespace",
        )),
    }
}

// === impl InvalidSegment ===

impl InvalidSegment {
    fn new(field: &str, value: &str, reason: &'static str) -> Self {
        Self { field: field.to_owned(), value: value.chars().take(LONGEST_QUOTE).collect(), reason }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_follow_the_rules_of_client_go() {
        for (value, reason) in [
            ("", Some("may not be empty")),
            (".", Some("may not be '.'")),
            ("..", Some("may not be '..'")),
            ("a/b", Some("may not contain '/'")),
            ("a%2Fb", Some("may not contain '%'")),
            ("...", None),
            ("system:node", None),
            ("a b", None),
        ] {
            let error = check_path_segment("target.name", value).err().map(|error| error.to_string());
            let expected = reason.map(|reason| format!("target.name: {value:?} {reason}"));
            assert_eq!(error, expected);
        }
    }
}
