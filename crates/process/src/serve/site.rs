//! Protection against requests that a web page sends from a user's browser.
//!
//! A browser reaches ports that are closed to everybody else: those of the user's machine. It sends requests of any page
//! there, and a page may call the port by a name of its own, which it rebinds to 127.0.0.1. So the name in `Host` is checked
//! on loopback addresses, and the page in `Origin`, where the browser names it, everywhere.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::extract::Request;
use axum::http::uri::Authority;
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::{Json, Router};
use serde_json::json;

/// Names and pages from which a port accepts requests.
#[derive(Debug, Clone)]
pub struct SitePolicy {
    is_loopback: bool,
    hosts: Vec<String>,
    origins: Vec<String>,
}

/// Request that a page of another site may have sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CrossSiteRequest {
    /// The port was called by a name that is not its own.
    #[error(
        "Host: {0:?} is not a name of this port; expected localhost, an address of this machine, or a name in \
         server.allowedHosts"
    )]
    Host(String),
    /// A page of another site sent it.
    #[error(
        "Origin: {0:?} is another site; expected the host of the request, or an entry of server.allowedOrigins"
    )]
    Origin(String),
}

// === impl SitePolicy ===

impl SitePolicy {
    /// Creates the policy of a port that listens on this address. On a loopback address only names of this machine and
    /// `hosts` are accepted; elsewhere all names are, unless `hosts` lists some. Pages of `origins` may send requests
    /// besides the port's own.
    pub fn new(address: SocketAddr, hosts: &[String], origins: &[String]) -> Self {
        let plain = |texts: &[String]| texts.iter().map(|text| normal(text)).collect();
        Self { is_loopback: is_loopback(address.ip()), hosts: plain(hosts), origins: plain(origins) }
    }

    /// Refuses a request by its target and headers.
    pub fn check(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), CrossSiteRequest> {
        let mut named = Vec::new();
        for value in headers.get_all(header::HOST) {
            named.push(value.to_str().unwrap_or_default());
        }
        named.extend(uri.authority().map(Authority::as_str));
        for name in &named {
            self.check_host(name)?;
        }
        for value in headers.get_all(header::ORIGIN) {
            let origin = value.to_str().unwrap_or_default();
            if !self.allows_origin(origin, &named) {
                return Err(CrossSiteRequest::Origin(origin.chars().take(LONGEST_QUOTE).collect()));
            }
        }
        Ok(())
    }

    /// Checks every request before the router handles it.
    pub fn protect(self, router: Router) -> Router {
        let policy = Arc::new(self);
        router.layer(middleware::from_fn(move |request: Request, next: Next| {
            let policy = Arc::clone(&policy);
            async move {
                match policy.check(request.uri(), request.headers()) {
                    Ok(()) => next.run(request).await,
                    Err(foreign) => foreign.into_response(),
                }
            }
        }))
    }

    fn check_host(&self, authority: &str) -> Result<(), CrossSiteRequest> {
        if !self.is_loopback && self.hosts.is_empty() {
            return Ok(());
        }
        let name = authority.parse().ok().map(|authority: Authority| normal(authority.host()));
        let is_known = name.is_some_and(|name| {
            let address: Option<IpAddr> = name.trim_matches(['[', ']']).parse().ok();
            // A name can be rebound to another address, and an address cannot.
            let is_address = address.is_some_and(|address| !self.is_loopback || is_loopback(address));
            is_address || name == "localhost" || name.ends_with(".localhost") || self.hosts.contains(&name)
        });
        if is_known {
            return Ok(());
        }
        Err(CrossSiteRequest::Host(authority.chars().take(LONGEST_QUOTE).collect()))
    }

    /// Whether a page is of this port, by any of the names in the request, or is listed.
    fn allows_origin(&self, origin: &str, named: &[&str]) -> bool {
        let origin = normal(origin);
        if self.origins.contains(&origin) {
            return true;
        }
        let Some((scheme, authority)) = origin.split_once("://") else { return false };
        let default = if scheme == "https" { ":443" } else { ":80" };
        let bare = |authority: &str| authority.strip_suffix(default).unwrap_or(authority).to_owned();
        named.iter().any(|name| bare(&normal(name)) == bare(authority))
    }
}

/// Longest part of a header that an error quotes.
const LONGEST_QUOTE: usize = 200;

/// Form in which names and pages are compared.
fn normal(text: &str) -> String {
    text.trim().trim_end_matches(['.', '/']).to_ascii_lowercase()
}

fn is_loopback(address: IpAddr) -> bool {
    address.to_canonical().is_loopback()
}

// === impl CrossSiteRequest ===

impl IntoResponse for CrossSiteRequest {
    fn into_response(self) -> Response {
        let status = StatusCode::FORBIDDEN;
        let body = json!({ "status": status.as_u16(), "error": "Forbidden", "message": self.to_string() });
        (status, Json(body)).into_response()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(address: &str, hosts: &[&str], origins: &[&str]) -> SitePolicy {
        let texts = |texts: &[&str]| texts.iter().map(ToString::to_string).collect::<Vec<_>>();
        SitePolicy::new(address.parse().unwrap(), &texts(hosts), &texts(origins))
    }

    fn accepts(policy: &SitePolicy, host: &str, origin: Option<&str>) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, host.parse().unwrap());
        if let Some(origin) = origin {
            headers.insert(header::ORIGIN, origin.parse().unwrap());
        }
        policy.check(&Uri::from_static("/v1/accounts"), &headers).is_ok()
    }

    #[test]
    fn a_loopback_port_is_called_by_names_of_this_machine_only() {
        let local = policy("127.0.0.1:7002", &["hub.test"], &[]);
        for host in [
            "localhost:7002",
            "LOCALHOST",
            "localhost.:1",
            "127.0.0.1",
            "127.8.9.1:7002",
            "[::1]:7002",
            "hub.test:1",
        ] {
            assert!(accepts(&local, host, None), "{host}");
        }
        for host in [
            "evil.test:7002",
            "127.0.0.1.evil.test",
            "10.0.0.1",
            "hub.test.evil",
            "",
            "a b",
            "localhost@evil",
        ] {
            assert!(!accepts(&local, host, None), "{host}");
        }
        assert!(policy("[::ffff:127.0.0.1]:1", &[], &[]).is_loopback);
        let headers = HeaderMap::new();
        assert_eq!(local.check(&Uri::from_static("/"), &headers), Ok(()), "no browser omits it");
        let absolute = Uri::from_static("http://evil.test/health");
        assert!(local.check(&absolute, &headers).is_err(), "HTTP/2 has the name in the target");
    }

    #[test]
    fn other_ports_are_called_by_any_name_unless_some_are_listed() {
        let open = policy("0.0.0.0:7002", &[], &[]);
        assert!(accepts(&open, "spindrift-hub:7002", None) && accepts(&open, "10.1.2.3", None));
        let listed = policy("0.0.0.0:7002", &["Hub.example.com"], &[]);
        assert!(accepts(&listed, "hub.example.com", None) && accepts(&listed, "10.1.2.3:7002", None));
        assert!(!accepts(&listed, "evil.test", None));
    }

    #[test]
    fn pages_of_other_sites_are_refused_everywhere() {
        for address in ["127.0.0.1:7002", "0.0.0.0:7002"] {
            let port = policy(address, &[], &["https://deck.example.com/"]);
            for origin in ["http://localhost:7002", "https://deck.example.com"] {
                assert!(accepts(&port, "localhost:7002", Some(origin)), "{origin}");
            }
            for origin in [
                "http://evil.test",
                "null",
                "http://localhost:8080",
                "",
                "https://deck.example.com.evil",
                "localhost:7002",
            ] {
                assert!(!accepts(&port, "localhost:7002", Some(origin)), "{origin}");
            }
            assert!(accepts(&port, "localhost:80", Some("http://localhost")), "the default port");
        }
    }
}
