//! Proxies on the way out: which one, if any, and a tunnel through it.
//!
//! ```text
//! HTTP_PROXY, HTTPS_PROXY, NO_PROXY ─▶ Proxies ──to(host)──▶ Proxy ──tunnel──▶ TCP, as if dialled
//! ```
//!
//! The rules are those of Go, since the variables of a machine are mostly set for programs that are written in it: a
//! name in `NO_PROXY` also stands for everything below it, and the way to this machine itself leads through no proxy.

mod error;
mod exception;
mod tunnel;

#[cfg(test)]
mod tests;

use std::fmt;

use base64::{Engine, prelude::BASE64_STANDARD};
use percent_encoding::percent_decode_str;

pub use self::error::ProxyError;
use self::exception::Exception;
use crate::config::Env;

/// The proxies that the environment names, and for whom they are not meant.
#[derive(Debug, Clone, Default)]
pub struct Proxies {
    http: Option<Named>,
    https: Option<Named>,
    exceptions: Vec<Exception>,
}

/// An HTTP proxy that tunnels a connection after `CONNECT`.
#[derive(Clone, PartialEq, Eq)]
pub struct Proxy {
    host: String,
    port: u16,
    /// The value of `Proxy-Authorization`.
    authorization: Option<String>,
}

/// Protocol of the destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Speaks {
    /// Plaintext: `HTTP_PROXY` is meant.
    Http,
    /// TLS: `HTTPS_PROXY` is meant.
    Https,
}

/// A variable that is set. Its value is parsed only when it is used, so that an error affects nothing else.
#[derive(Clone)]
struct Named {
    variable: &'static str,
    url: String,
}

// === impl Proxies ===

impl Proxies {
    /// Takes them from the environment; of a variable's two spellings the upper one counts first.
    pub fn of(env: &Env) -> Self {
        let either = |upper: &'static str, lower: &'static str| {
            [upper, lower].into_iter().find_map(|name| Some((name, env.get(name)?.to_owned())))
        };
        let named = |(variable, url)| Named { variable, url };
        let exceptions = either("NO_PROXY", "no_proxy").map(|(_, list)| Exception::parse_list(&list));
        Self {
            http: either("HTTP_PROXY", "http_proxy").map(named),
            https: either("HTTPS_PROXY", "https_proxy").map(named),
            exceptions: exceptions.unwrap_or_default(),
        }
    }

    /// The proxy on the way to a host, if there is one.
    pub fn to(&self, host: &str, port: u16, speaks: Speaks) -> Result<Option<Proxy>, ProxyError> {
        let host = host.trim_matches(['[', ']']);
        let named = match speaks {
            Speaks::Http => &self.http,
            Speaks::Https => &self.https,
        };
        let Some(Named { variable, url }) = named else { return Ok(None) };
        if exception::is_here(host) || self.exceptions.iter().any(|exception| exception.covers(host, port)) {
            return Ok(None);
        }
        Proxy::parse(variable, url).map(Some)
    }
}

// === impl Proxy ===

impl Proxy {
    /// Reads `http://user:password@host:port`; the scheme, the port and the user may be left out.
    ///
    /// Errors name the setting, and never quote its value.
    pub fn parse(setting: &str, url: &str) -> Result<Self, ProxyError> {
        let wrong = |problem| ProxyError::Address { setting: setting.to_owned(), problem };
        let (scheme, rest) = url.trim().split_once("://").unwrap_or(("http", url.trim()));
        match scheme.to_ascii_lowercase().as_str() {
            "http" => {}
            "https" => return Err(wrong("proxies that are spoken to by TLS (https://) are not supported")),
            "socks4" | "socks5" | "socks5h" => return Err(wrong("proxies of SOCKS are not supported")),
            _ => return Err(wrong("this is not a proxy of HTTP")),
        }
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let (user, place) = match authority.rsplit_once('@') {
            Some((user, place)) => (Some(user), place),
            None => (None, authority),
        };
        let (host, port) = match place.rsplit_once(':') {
            // The last colon of an address of IPv6 is not that of a port.
            Some((host, port)) if !port.contains(']') => {
                (host, port.parse().map_err(|_| wrong("its port is not a number"))?)
            }
            _ => (place, 80),
        };
        let host = host.trim_matches(['[', ']']).to_owned();
        if host.is_empty() {
            return Err(wrong("it names no host"));
        }
        let authorization = user.map(|user| {
            let (name, password) = user.split_once(':').unwrap_or((user, ""));
            let decode = |text: &str| percent_decode_str(text).collect::<Vec<u8>>();
            let plain = [decode(name), b":".to_vec(), decode(password)].concat();
            format!("Basic {}", BASE64_STANDARD.encode(plain))
        });
        Ok(Self { host, port, authorization })
    }

    /// Value of `Proxy-Authorization`, for requests that the proxy receives itself.
    pub fn authorization(&self) -> Option<axum::http::HeaderValue> {
        let mut value = axum::http::HeaderValue::try_from(self.authorization.as_deref()?).ok()?;
        value.set_sensitive(true);
        Some(value)
    }
}

/// Without the password that may belong to it.
impl fmt::Display for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, port, authorization: _ } = self;
        if host.contains(':') {
            write!(f, "http://[{host}]:{port}")
        } else {
            write!(f, "http://{host}:{port}")
        }
    }
}

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Debug for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The address may hold a password.
        f.write_str(self.variable)
    }
}
