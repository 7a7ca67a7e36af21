//! The page at `/`: purpose, accounts and their state, links, and the API as `/openapi.json` describes it.
//!
//! Three static files without anything from other hosts. The script reads `/v1/accounts` and `/openapi.json` as any other
//! client does, and inserts values as text only. A client that does not accept HTML gets Clouddriver's 404.

use axum::{
    Router,
    http::{HeaderMap, Uri, header},
    response::{IntoResponse, Response},
    routing::get,
};

use crate::clouddriver::routes::no_such_route;

const PAGE: &str = include_str!("home/index.html");
const SCRIPT: &str = include_str!("home/home.js");
const STYLE: &str = include_str!("home/home.css");

/// Nothing from elsewhere, nothing inline, and no page may frame it.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; \
                      form-action 'none'; frame-ancestors 'none'";

pub(super) fn router() -> Router {
    Router::new()
        .route("/", get(page))
        .route("/ui/home.js", get(|| async { file("text/javascript; charset=utf-8", SCRIPT) }))
        .route("/ui/home.css", get(|| async { file("text/css; charset=utf-8", STYLE) }))
}

async fn page(uri: Uri, headers: HeaderMap) -> Response {
    let mut accepted = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    if accepted.any(|types| types.contains("text/html")) {
        return ([(header::VARY, "accept")], file("text/html; charset=utf-8", PAGE)).into_response();
    }
    no_such_route(&uri)
}

fn file(media_type: &'static str, content: &'static str) -> Response {
    let headers = [
        (header::CONTENT_TYPE, media_type),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        // The files change with the release.
        (header::CACHE_CONTROL, "no-cache"),
    ];
    (headers, content).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_loads_nothing_from_other_hosts_and_runs_nothing_inline() {
        for content in [PAGE, SCRIPT, STYLE] {
            assert!(!content.contains("//cdn") && !content.contains("https://"), "{content}");
        }
        assert!(!PAGE.contains("<style") && !PAGE.contains("onclick") && !PAGE.contains("<script>"));
        assert!(!SCRIPT.contains("innerHTML"), "values must be inserted as text");
    }
}
