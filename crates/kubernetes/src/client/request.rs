//! GET requests, whose paths and queries are percent-encoded.

use bytes::Bytes;
use http::{Request, header};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// GET request.
#[derive(Debug, Clone)]
pub(crate) struct Get {
    /// Method and path.
    title: String,
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
        let mut title = format!("{METHOD} ");
        for segment in segments {
            title.push('/');
            percent_encode(segment, &mut title);
        }
        Self { title, query: String::new(), accept: "application/json", accept_gzip: false }
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

    pub(crate) fn build(&self) -> http::Result<Request<Bytes>> {
        let Self { title, query, accept, accept_gzip } = self;
        let path = &title[METHOD.len() + 1..];
        let encoding = if *accept_gzip { "gzip" } else { "identity" };
        Request::get(format!("{path}{query}"))
            .header(header::ACCEPT, *accept)
            .header(header::ACCEPT_ENCODING, encoding)
            .body(Bytes::new())
    }
}

pub(crate) fn percent_encode(text: &str, out: &mut String) {
    out.extend(utf8_percent_encode(text, RESERVED));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_change_the_rest_of_the_url() {
        let get = Get::new(["api", "v1", "namespaces", "a/../b?c"])
            .query("continue", "x&limit=0")
            .query("limit", "5");
        assert_eq!(
            get.build().unwrap().uri(),
            "/api/v1/namespaces/a%2F..%2Fb%3Fc?continue=x%26limit%3D0&limit=5"
        );
    }
}
