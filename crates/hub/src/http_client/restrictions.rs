//! Servers that the hub may request for a caller: by the URL first, and by the resolved addresses when it connects.
//!
//! The rules and their names are those of Clouddriver's `urlRestrictions`. In addition, addresses of private networks are
//! refused, and servers that the configuration names are always allowed.

use std::net::{IpAddr, SocketAddr};

use anyhow::Context as _;
use axum::http::Uri;
use ipnet::IpNet;
use regex::Regex;
use spindrift_process::config::Env;
use url::{Host, Origin, Url};

use super::address::{AddressClass, is_own};
use crate::config::UrlRestrictionSettings;

/// Restrictions of an artifact account.
#[derive(Debug)]
pub(crate) struct UrlRestrictions {
    /// Name of the settings in the configuration, for messages.
    setting: &'static str,
    /// Servers that the configuration names.
    trusted: Vec<Origin>,
    schemes: Vec<String>,
    hostnames: Regex,
    domains: Vec<AllowedDomain>,
    excluded_domains: Vec<String>,
    excluded_patterns: Vec<Regex>,
    reject_localhost: bool,
    reject_link_local: bool,
    reject_private: bool,
    reject_verbatim: bool,
    rejected: Vec<IpNet>,
    allowed: Vec<IpNet>,
}

/// Entry of `allowedDomains`.
#[derive(Debug)]
struct AllowedDomain {
    name: String,
    pattern: Regex,
}

/// Reason why a server is not requested.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{target} is not allowed: {why} ({setting}.{option})")]
pub(crate) struct TargetRefused {
    /// Host or address.
    target: String,
    why: &'static str,
    setting: &'static str,
    /// Setting that decides it.
    option: &'static str,
}

// === impl UrlRestrictions ===

impl UrlRestrictions {
    /// Checks the settings at `setting`; `trusted` are servers that the configuration names.
    pub(crate) fn build(
        setting: &'static str,
        settings: &UrlRestrictionSettings,
        trusted: Vec<Origin>,
        env: &Env,
    ) -> anyhow::Result<Self> {
        let UrlRestrictionSettings {
            allowed_domains,
            allowed_hostnames_regex,
            allowed_schemes,
            excluded_domains,
            excluded_domains_from_environment,
            extra_excluded_patterns,
            reject_localhost,
            reject_link_local,
            reject_private_ips,
            reject_verbatim_ips,
            rejected_ips,
            allowed_ips,
        } = settings;
        let named = |option: &str| format!("{setting}.{option}");
        let patterns =
            |texts: &[String]| texts.iter().map(|text| whole_match(text)).collect::<Result<Vec<_>, _>>();
        let domain = |text: &String| {
            Ok::<_, regex::Error>(AllowedDomain { name: host_name(text), pattern: whole_match(text)? })
        };
        let from_environment = excluded_domains_from_environment.iter().filter_map(|name| env.get(name));
        let excluded_domains = excluded_domains.iter().map(String::as_str).chain(from_environment);
        Ok(Self {
            setting,
            trusted,
            schemes: allowed_schemes.iter().map(|scheme| scheme.to_ascii_lowercase()).collect(),
            hostnames: whole_match(allowed_hostnames_regex)
                .with_context(|| named("allowedHostnamesRegex"))?,
            domains: allowed_domains
                .iter()
                .map(domain)
                .collect::<Result<_, _>>()
                .with_context(|| named("allowedDomains"))?,
            excluded_domains: excluded_domains.map(host_name).collect(),
            excluded_patterns: patterns(extra_excluded_patterns)
                .with_context(|| named("extraExcludedPatterns"))?,
            reject_localhost: *reject_localhost,
            reject_link_local: *reject_link_local,
            reject_private: *reject_private_ips,
            reject_verbatim: *reject_verbatim_ips,
            rejected: networks(rejected_ips).with_context(|| named("rejectedIps"))?,
            allowed: networks(allowed_ips).with_context(|| named("allowedIps"))?,
        })
    }

    /// Checks a URL before it is requested.
    pub(super) fn check_url(&self, url: &Url) -> Result<(), TargetRefused> {
        let Some(host) = url.host() else {
            return Err(self.refused(&url.scheme(), "it is no server", "allowedSchemes"));
        };
        if self.trusted.contains(&url.origin()) {
            return Ok(());
        }
        if !self.schemes.iter().any(|scheme| scheme == url.scheme()) {
            return Err(self.refused(&host, "its scheme is not allowed", "allowedSchemes"));
        }
        let address = match host {
            Host::Domain(name) => return self.check_name(&host_name(name)),
            Host::Ipv4(address) => IpAddr::V4(address),
            Host::Ipv6(address) => IpAddr::V6(address),
        };
        self.check_address(address)?;
        if self.allowed.iter().any(|network| network.contains(&address)) {
            return Ok(());
        }
        if self.reject_verbatim {
            return Err(self.refused(&address, "it is an address instead of a name", "rejectVerbatimIps"));
        }
        if !self.domains.is_empty() && !self.is_allowed_domain(&address.to_string()) {
            return Err(self.refused(&address, "it is not one of the allowed hosts", "allowedDomains"));
        }
        Ok(())
    }

    /// Checks the addresses of a server before it is dialled.
    pub(super) fn check_addresses(&self, to: &Uri, addresses: &[SocketAddr]) -> Result<(), TargetRefused> {
        if self.is_trusted(to) {
            return Ok(());
        }
        addresses.iter().try_for_each(|address| self.check_address(address.ip()))
    }

    /// Checks a name that only a proxy can resolve. Its addresses cannot be checked, so it has to be allowed by name.
    pub(super) fn check_unresolved(&self, to: &Uri, host: &str) -> Result<(), TargetRefused> {
        let name = host_name(host);
        if self.is_trusted(to) || self.is_allowed_domain(&name) {
            return Ok(());
        }
        let why = "the hub cannot resolve it, and so cannot check its address";
        Err(self.refused(&name, why, "allowedDomains"))
    }

    fn is_trusted(&self, to: &Uri) -> bool {
        let origin = Url::parse(&to.to_string()).map(|url| url.origin());
        origin.is_ok_and(|origin| self.trusted.contains(&origin))
    }

    fn check_name(&self, host: &str) -> Result<(), TargetRefused> {
        if host == "localhost" || host.ends_with(".localhost") {
            return if self.reject_localhost {
                Err(self.refused(&host, "it is this host", "rejectLocalhost"))
            } else {
                Ok(())
            };
        }
        if self.domains.iter().any(|domain| domain.name == host) {
            return Ok(());
        }
        if !self.domains.is_empty() && !self.is_allowed_domain(host) {
            return Err(self.refused(&host, "it is not one of the allowed hosts", "allowedDomains"));
        }
        if !self.hostnames.is_match(host) {
            return Err(self.refused(&host, "its name is not allowed", "allowedHostnamesRegex"));
        }
        let is_below = |domain: &String| {
            host.strip_suffix(domain.as_str()).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
        };
        if self.excluded_domains.iter().any(is_below) {
            return Err(self.refused(&host, "its domain is excluded", "excludedDomains"));
        }
        if self.excluded_patterns.iter().any(|pattern| pattern.is_match(host)) {
            return Err(self.refused(&host, "its name is excluded", "extraExcludedPatterns"));
        }
        Ok(())
    }

    fn is_allowed_domain(&self, host: &str) -> bool {
        self.domains.iter().any(|domain| domain.name == host || domain.pattern.is_match(host))
    }

    fn check_address(&self, address: IpAddr) -> Result<(), TargetRefused> {
        // An IPv4 address in IPv6's notation is the same server.
        let address = address.to_canonical();
        let is_in = |networks: &[IpNet]| networks.iter().any(|network| network.contains(&address));
        if is_in(&self.rejected) {
            return Err(self.refused(&address, "the address is rejected", "rejectedIps"));
        }
        if is_in(&self.allowed) {
            return Ok(());
        }
        match AddressClass::of(address) {
            AddressClass::Localhost if self.reject_localhost => {
                Err(self.refused(&address, "it is this host", "rejectLocalhost"))
            }
            AddressClass::LinkLocal if self.reject_link_local => {
                Err(self.refused(&address, "it is a link-local address", "rejectLinkLocal"))
            }
            AddressClass::Private if self.reject_private => {
                Err(self.refused(&address, "it is an address of a private network", "rejectPrivateIps"))
            }
            AddressClass::Reserved => {
                Err(self.refused(&address, "it is the address of no server", "allowedIps"))
            }
            AddressClass::Private | AddressClass::Public if self.reject_localhost && is_own(address) => {
                Err(self.refused(&address, "it is this host", "rejectLocalhost"))
            }
            _ => Ok(()),
        }
    }

    fn refused(
        &self,
        target: &dyn std::fmt::Display,
        why: &'static str,
        option: &'static str,
    ) -> TargetRefused {
        TargetRefused { target: target.to_string(), why, setting: self.setting, option }
    }
}

/// Regular expression for a whole text, as Java's `matches`.
fn whole_match(text: &str) -> Result<Regex, regex::Error> {
    Regex::new(&format!("^(?:{text})$"))
}

/// Name of a host or domain as it is compared: in lower case, without the dot of the root.
fn host_name(text: &str) -> String {
    text.trim().trim_matches('.').to_ascii_lowercase()
}

/// Parses addresses and networks in CIDR notation.
fn networks(texts: &[String]) -> anyhow::Result<Vec<IpNet>> {
    let parse = |text: &String| {
        let text = text.trim();
        let address = text.parse::<IpAddr>().map(IpNet::from);
        let network = address.or_else(|_| text.parse::<IpNet>());
        network.ok().with_context(|| format!("expected an address or a network (CIDR), found {text:?}"))
    };
    texts.iter().map(parse).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn restrictions(settings: serde_json::Value) -> UrlRestrictions {
        let trusted = vec![Url::parse("http://10.9.9.9:8080").unwrap().origin()];
        let settings = serde_json::from_value(settings).unwrap();
        let env = [("POD_NAMESPACE", "prod")].into_iter().collect();
        UrlRestrictions::build("urlRestrictions", &settings, trusted, &env).unwrap()
    }

    fn refusal(restrictions: &UrlRestrictions, url: &str) -> Option<&'static str> {
        restrictions.check_url(&Url::parse(url).unwrap()).err().map(|refused| refused.option)
    }

    #[test]
    fn urls_are_refused_by_default_as_in_clouddriver() {
        let restrictions = restrictions(json!({}));
        for (url, option) in [
            ("https://files.example.com/a", None),
            ("http://example.com", None),
            // Trusted by scheme, host and port.
            ("http://10.9.9.9:8080/x", None),
            ("https://10.9.9.9:8080/x", Some("rejectPrivateIps")),
            ("http://10.9.9.9/x", Some("rejectPrivateIps")),
            ("https://orca", Some("allowedHostnamesRegex")),
            ("https://clouddriver.svc.cluster.local", Some("excludedDomains")),
            ("https://metadata.google.internal.", Some("excludedDomains")),
            ("https://orca.spinnaker/admin", Some("excludedDomains")),
            ("http://localhost:7002", Some("rejectLocalhost")),
            ("http://a.LocalHost", Some("rejectLocalhost")),
            ("http://8.8.8.8", Some("rejectVerbatimIps")),
            // Every notation of an address that URLs allow.
            ("http://127.0.0.1", Some("rejectLocalhost")),
            ("http://127.1", Some("rejectLocalhost")),
            ("http://2130706433", Some("rejectLocalhost")),
            ("http://0x7f000001", Some("rejectLocalhost")),
            ("http://0177.0.0.1", Some("rejectLocalhost")),
            ("http://0/", Some("rejectLocalhost")),
            ("http://[::1]", Some("rejectLocalhost")),
            ("http://[::]", Some("rejectLocalhost")),
            ("http://[::ffff:127.0.0.1]", Some("rejectLocalhost")),
            ("http://[::ffff:a9fe:a9fe]", Some("rejectLinkLocal")),
            ("http://169.254.169.254/latest", Some("rejectLinkLocal")),
            ("http://192.168.0.1", Some("rejectPrivateIps")),
            ("http://224.0.0.1", Some("allowedIps")),
        ] {
            assert_eq!(refusal(&restrictions, url), option, "{url}");
        }
    }

    #[test]
    fn settings_allow_and_refuse_more() {
        let open = restrictions(json!({
            "rejectLocalhost": false, "rejectLinkLocal": false, "rejectPrivateIps": false,
            "rejectVerbatimIps": false, "rejectedIps": ["10.1.0.0/16"], "excludedDomains": [],
            "excludedDomainsFromEnvironment": ["POD_NAMESPACE"], "extraExcludedPatterns": ["a[0-9]+\\.example\\.com"],
        }));
        for (url, option) in [
            ("http://localhost", None),
            ("http://[::1]:80", None),
            ("http://169.254.1.1", None),
            ("http://10.0.0.1", None),
            ("http://10.1.0.1", Some("rejectedIps")),
            ("http://[::ffff:10.1.0.1]", Some("rejectedIps")),
            ("http://echo.internal", None),
            ("http://echo.prod", Some("excludedDomains")),
            ("http://a12.example.com", Some("extraExcludedPatterns")),
            ("http://224.0.0.1", Some("allowedIps")),
        ] {
            assert_eq!(refusal(&open, url), option, "{url}");
        }
        let narrow = restrictions(json!({
            "allowedDomains": ["files", "[a-z]+\\.example\\.com"], "allowedSchemes": ["https"], "allowedIps": ["10.2.3.4"],
        }));
        for (url, option) in [
            ("https://files/x", None),
            ("http://files/x", Some("allowedSchemes")),
            ("https://a.example.com", None),
            ("https://a1.example.com", Some("allowedDomains")),
            ("https://a.example.com.evil.org", Some("allowedDomains")),
            ("https://10.2.3.4", None),
            ("https://10.2.3.5", Some("rejectPrivateIps")),
        ] {
            assert_eq!(refusal(&narrow, url), option, "{url}");
        }
    }

    #[test]
    fn one_refused_address_of_a_name_refuses_it() {
        let restrictions = restrictions(json!({}));
        let check = |url: &str, addresses: &[&str]| {
            let addresses: Vec<SocketAddr> =
                addresses.iter().map(|address| SocketAddr::new(address.parse().unwrap(), 80)).collect();
            restrictions
                .check_addresses(&url.parse().unwrap(), &addresses)
                .err()
                .map(|refused| refused.option)
        };
        assert_eq!(check("http://a.example.com/", &["1.1.1.1", "2606:4700::1"]), None);
        assert_eq!(check("http://a.example.com/", &["1.1.1.1", "10.0.0.1"]), Some("rejectPrivateIps"));
        assert_eq!(check("http://a.example.com/", &["::ffff:127.0.0.1"]), Some("rejectLocalhost"));
        assert_eq!(check("http://10.9.9.9:8080/", &["10.9.9.9"]), None, "the configuration names it");
    }

    #[test]
    fn invalid_settings_are_named() {
        for (settings, named) in [
            (json!({ "allowedHostnamesRegex": "(" }), "artifacts.http.urlRestrictions.allowedHostnamesRegex"),
            (json!({ "allowedDomains": ["["] }), "artifacts.http.urlRestrictions.allowedDomains"),
            (
                json!({ "allowedIps": ["10.0.0.0/33"] }),
                "artifacts.http.urlRestrictions.allowedIps: expected an address or a network",
            ),
        ] {
            let settings = serde_json::from_value(settings).unwrap();
            let built =
                UrlRestrictions::build("artifacts.http.urlRestrictions", &settings, vec![], &Env::default());
            let error = format!("{:#}", built.unwrap_err());
            assert!(error.starts_with(named), "{error}");
        }
    }
}
