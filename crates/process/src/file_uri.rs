//! Paths as Spring users write them.

use std::path::PathBuf;

/// Accepts `file:///path`, `file:/path`, `file:path` and a bare path.
pub(crate) fn to_path(location: &str) -> PathBuf {
    let location = location.trim();
    let path =
        location.strip_prefix("file://").or_else(|| location.strip_prefix("file:")).unwrap_or(location);
    PathBuf::from(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_spellings_name_the_same_file() {
        for location in ["file:///etc/a.pem", "file:/etc/a.pem", "/etc/a.pem", " /etc/a.pem "] {
            assert_eq!(to_path(location), PathBuf::from("/etc/a.pem"), "{location}");
        }
        assert_eq!(to_path("file:a.pem"), PathBuf::from("a.pem"));
    }
}
