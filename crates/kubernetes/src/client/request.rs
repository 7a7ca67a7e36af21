//! GET requests, whose paths and queries are percent-encoded.

use bytes::Bytes;
use http::{Request, header};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use spindrift_model::{InvalidSegment, check_path_segment};

use crate::client::error::ApiError;

/// Path of a request, one segment after the other. A segment that the API server would read as several, as none or as a
/// step back makes the whole path invalid, since it would address another object.
#[derive(Debug, Clone, Default)]
pub(crate) struct UrlPath {
    text: String,
    invalid: Option<InvalidSegment>,
}

/// GET request.
#[derive(Debug, Clone)]
pub(crate) struct Get {
    /// Method and path.
    title: String,
    invalid: Option<InvalidSegment>,
    query: String,
    accept: &'static str,
    accept_gzip: bool,
}

const METHOD: &str = "GET";

/// Characters that are encoded: all but the unreserved ones of RFC 3986.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

// === impl Get ===

impl Get {
    /// Creates a request for JSON at the path of these segments.
    pub(crate) fn new<'a>(segments: impl IntoIterator<Item = &'a str>) -> Self {
        let UrlPath { text, invalid } = segments.into_iter().collect();
        let title = format!("{METHOD} {text}");
        Self { title, invalid, query: String::new(), accept: "application/json", accept_gzip: false }
    }

    pub(crate) fn accept(self, accept: &'static str) -> Self {
        Self { accept, ..self }
    }

    /// Accepts a compressed response; the reader has to detect the compression.
    pub(crate) fn accept_gzip(self) -> Self {
        Self { accept_gzip: true, ..self }
    }

    pub(crate) fn query(mut self, key: &'static str, value: &str) -> Self {
        self.query.push(if self.query.is_empty() { '?' } else { '&' });
        self.query.push_str(key);
        self.query.push('=');
        percent_encode(value, &mut self.query);
        self
    }

    /// Method and path, for errors.
    pub(crate) fn title(&self) -> &str {
        &self.title
    }

    pub(crate) fn build(&self) -> Result<Request<Bytes>, ApiError> {
        let Self { title, invalid, query, accept, accept_gzip } = self;
        if let Some(invalid) = invalid {
            return Err(ApiError::InvalidPath { method: METHOD.to_owned(), source: invalid.clone() });
        }
        let path = &title[METHOD.len() + 1..];
        let encoding = if *accept_gzip { "gzip" } else { "identity" };
        Request::get(format!("{path}{query}"))
            .header(header::ACCEPT, *accept)
            .header(header::ACCEPT_ENCODING, encoding)
            .body(Bytes::new())
            .map_err(|source| ApiError::Build { request: title.clone(), source })
    }
}

// === impl UrlPath ===

impl UrlPath {
    /// Appends a segment.
    pub(crate) fn push(&mut self, segment: &str) {
        self.require(check_path_segment("path segment", segment));
        self.text.push('/');
        percent_encode(segment, &mut self.text);
    }

    /// Makes the path invalid if a check of it failed.
    pub(crate) fn require(&mut self, check: Result<(), InvalidSegment>) {
        if let Err(invalid) = check {
            self.invalid.get_or_insert(invalid);
        }
    }

    /// The path as text, for errors also if it is invalid.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// First invalid segment.
    pub(crate) fn invalid(&self) -> Option<&InvalidSegment> {
        self.invalid.as_ref()
    }
}

impl<'a> FromIterator<&'a str> for UrlPath {
    fn from_iter<T: IntoIterator<Item = &'a str>>(segments: T) -> Self {
        let mut path = Self::default();
        segments.into_iter().for_each(|segment| path.push(segment));
        path
    }
}

/// Appends text, percent-encoded.
pub(crate) fn percent_encode(text: &str, out: &mut String) {
    out.extend(utf8_percent_encode(text, RESERVED));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_change_the_rest_of_the_url() {
        let get =
            Get::new(["api", "v1", "namespaces", "a?b#c"]).query("continue", "x&limit=0").query("limit", "5");
        assert_eq!(get.build().unwrap().uri(), "/api/v1/namespaces/a%3Fb%23c?continue=x%26limit%3D0&limit=5");
    }

    #[test]
    fn a_segment_that_is_not_one_makes_the_request_invalid() {
        for name in ["a/b", "..", ".", "", "a%2Fb"] {
            let refused = Get::new(["api", "v1", "namespaces", name]).build().unwrap_err();
            assert!(matches!(refused, ApiError::InvalidPath { .. }), "{refused:?}");
        }
    }
}
