//! Validation of names and labels.

const LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const SERVICE: &str = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";

/// Returns why a name is invalid for a kind, or none if it is valid.
pub(super) fn complaint(kind: &str, name: &str) -> Option<String> {
    let longest = if matches!(kind, "Namespace" | "Service") { 63 } else { 253 };
    if name.len() > longest {
        return Some(format!("must be no more than {longest} characters"));
    }
    match kind {
        "Role" | "ClusterRole" | "RoleBinding" | "ClusterRoleBinding" => path_segment(name),
        "Namespace" => (!is_dns_label(name)).then(|| LABEL.to_owned()),
        "Service" => {
            let fits = is_dns_label(name) && name.starts_with(|first: char| first.is_ascii_lowercase());
            (!fits).then(|| SERVICE.to_owned())
        }
        _ => (!is_dns_subdomain(name)).then(|| SUBDOMAIN.to_owned()),
    }
}

fn path_segment(name: &str) -> Option<String> {
    match name {
        "." | ".." => Some(format!("may not be '{name}'")),
        _ => ['/', '%']
            .into_iter()
            .find(|&sign| name.contains(sign))
            .map(|sign| format!("may not contain '{sign}'")),
    }
}

pub(super) fn is_dns_label(name: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = name.as_bytes();
    let ends = bytes.first().zip(bytes.last()).is_some_and(|(first, last)| inner(*first) && inner(*last));
    ends && bytes.iter().all(|&byte| inner(byte) || byte == b'-')
}

pub(super) fn is_dns_subdomain(name: &str) -> bool {
    name.split('.').all(is_dns_label)
}

/// Returns why a label value is invalid, or none if it is valid.
pub(super) fn label_complaint(value: &str) -> Option<String> {
    if value.len() > 63 {
        return Some("must be no more than 63 characters".to_owned());
    }
    (!value.is_empty() && !is_qualified(value)).then(|| {
        "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')".to_owned()
    })
}

/// Returns why a label key is invalid, or none if it is valid.
pub(super) fn label_key_complaint(key: &str) -> Option<String> {
    let (prefix, name) = key.rsplit_once('/').map_or((None, key), |(prefix, name)| (Some(prefix), name));
    if prefix.is_some_and(|prefix| !is_dns_subdomain(prefix)) {
        return Some(format!("prefix part {SUBDOMAIN}"));
    }
    if name.len() > 63 {
        return Some("name part must be no more than 63 characters".to_owned());
    }
    (!is_qualified(name)).then(|| {
        "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')".to_owned()
    })
}

fn is_qualified(name: &str) -> bool {
    let ends = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = name.as_bytes();
    ends(bytes.first())
        && ends(bytes.last())
        && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
}

#[cfg(test)]
mod tests {
    use super::complaint;

    #[test]
    fn names_follow_the_rules_of_their_kind() {
        for (kind, name, good) in [
            ("Pod", "a.b-c", true),
            ("Pod", "A", false),
            ("Pod", "a..b", false),
            ("Pod", "-a", false),
            ("Service", "1a", false),
            ("Service", "a1", true),
            ("Namespace", "a.b", false),
            ("ClusterRole", "system:node", true),
            ("ClusterRole", "a/b", false),
        ] {
            assert_eq!(complaint(kind, name).is_none(), good, "{kind} {name}");
        }
    }
}
