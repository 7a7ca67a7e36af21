//! `urlRestrictions`: servers that artifacts are fetched from, as Clouddriver's operators write it.

use serde::{Deserialize, Serialize};

/// `artifacts.….urlRestrictions`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct UrlRestrictionSettings {
    /// Hosts that may be requested, each a name or a regular expression for all of it. If empty, all that no other
    /// setting excludes. A name that is listed literally is allowed in spite of `allowedHostnamesRegex` and
    /// `excludedDomains`.
    pub allowed_domains: Vec<String>,
    /// Regular expression for the whole name of a host. The default excludes names without a dot, which are services of
    /// the hub's own namespace.
    pub allowed_hostnames_regex: String,
    /// Schemes that may be requested.
    pub allowed_schemes: Vec<String>,
    /// Domains that are not requested, with all names below them.
    pub excluded_domains: Vec<String>,
    /// Environment variables of the hub that name further such domains, for example `POD_NAMESPACE`.
    pub excluded_domains_from_environment: Vec<String>,
    /// Regular expressions for names of hosts that are not requested.
    pub extra_excluded_patterns: Vec<String>,
    /// Refuses loopback and unspecified addresses, those of the hub's own interfaces, and the name `localhost`.
    pub reject_localhost: bool,
    /// Refuses link-local addresses, among them the metadata services of clouds.
    pub reject_link_local: bool,
    /// Refuses addresses of private networks. Not in Clouddriver, which allows them.
    pub reject_private_ips: bool,
    /// Refuses URLs with an address instead of a name.
    pub reject_verbatim_ips: bool,
    /// Addresses and networks (CIDR) that are refused; before `allowedIps`.
    pub rejected_ips: Vec<String>,
    /// Addresses and networks (CIDR) that are allowed in spite of the settings above, also in URLs. Not in Clouddriver.
    pub allowed_ips: Vec<String>,
}

// === impl UrlRestrictionSettings ===

impl Default for UrlRestrictionSettings {
    /// As in Clouddriver, and without private networks.
    fn default() -> Self {
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        Self {
            allowed_domains: vec![],
            allowed_hostnames_regex: r".*\..+".to_owned(),
            allowed_schemes: texts(&["http", "https"]),
            excluded_domains: texts(&["spinnaker", "local", "localdomain", "internal"]),
            excluded_domains_from_environment: vec![],
            extra_excluded_patterns: vec![],
            reject_localhost: true,
            reject_link_local: true,
            reject_private_ips: true,
            reject_verbatim_ips: true,
            rejected_ips: vec![],
            allowed_ips: vec![],
        }
    }
}
