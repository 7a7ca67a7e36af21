//! Contents of a certificate: subject, names, issuer, validity.

use std::time::Duration;

use jiff::Timestamp;
use x509_parser::prelude::{FromDer, GeneralName, X509Certificate};

use super::Line;

/// Enough time to renew a certificate without hurry.
const SOON: Duration = Duration::from_hours(14 * 24);

/// Fields of a certificate that operators need.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Certificate {
    /// Subject, such as `CN=hub`.
    pub subject: String,
    /// Issuer.
    pub issuer: String,
    /// The host names and addresses it is for.
    pub names: Vec<String>,
    /// When it becomes valid.
    pub not_before: Timestamp,
    /// Until when it is valid.
    pub not_after: Timestamp,
}

// === impl Certificate ===

impl Certificate {
    /// Reads a certificate in DER.
    pub fn parse(der: &[u8]) -> Option<Self> {
        let (_, certificate) = X509Certificate::from_der(der).ok()?;
        let names = certificate.subject_alternative_name().ok().flatten();
        let names = names.map(|names| names.value.general_names.iter().filter_map(host).collect());
        let validity = certificate.validity();
        Some(Self {
            subject: certificate.subject().to_string(),
            issuer: certificate.issuer().to_string(),
            names: names.unwrap_or_default(),
            not_before: Timestamp::from_second(validity.not_before.timestamp()).ok()?,
            not_after: Timestamp::from_second(validity.not_after.timestamp()).ok()?,
        })
    }

    /// Reports whether a certificate is valid now and for some time to come. `whose` is such as "the hub's certificate",
    /// `remedy` where to put the new one.
    pub fn validity(&self, check: &'static str, whose: &str, now: Timestamp, remedy: &str) -> Line {
        let Self { subject, issuer, names: _, not_before, not_after } = self;
        let distance = |from: &Timestamp| in_words(now.duration_since(*from).unsigned_abs());
        if now > *not_after {
            let ago = distance(not_after);
            return Line::wrong(
                check,
                format!("{whose} ({subject}) expired {ago} ago, at {not_after}"),
                remedy,
            );
        }
        if now < *not_before {
            return Line::wrong(
                check,
                format!("{whose} ({subject}) is valid only from {not_before} on"),
                format!("set the clock here, where it is {now:.0}, or: {remedy}"),
            );
        }
        let left = distance(not_after);
        if not_after.duration_since(now).unsigned_abs() < SOON {
            let found = format!("{whose} ({subject}) expires in {left}, at {not_after}");
            return Line::warn(check, found, remedy);
        }
        Line::ok(check, format!("{whose} ({subject}) is valid for {left}, signed by {issuer}"))
    }
}

fn host(name: &GeneralName<'_>) -> Option<String> {
    match name {
        GeneralName::DNSName(name) => Some((*name).to_owned()),
        GeneralName::IPAddress(bytes) => match **bytes {
            [a, b, c, d] => Some(std::net::Ipv4Addr::new(a, b, c, d).to_string()),
            _ => <[u8; 16]>::try_from(*bytes).ok().map(|bytes| std::net::Ipv6Addr::from(bytes).to_string()),
        },
        _ => None,
    }
}

/// Returns a duration in its largest unit: `3 days`, `1 minute`.
pub fn in_words(duration: Duration) -> String {
    let seconds = duration.as_secs();
    let (count, unit) = match seconds {
        0..60 => (seconds, "second"),
        60..3600 => (seconds / 60, "minute"),
        3600..86_400 => (seconds / 3600, "hour"),
        _ => (seconds / 86_400, "day"),
    };
    format!("{count} {unit}{}", if count == 1 { "" } else { "s" })
}
