//! Namespaces, config maps, secrets and service accounts.

use serde_json::Value;

use super::{Page, RelatedObjects, time};
use crate::look::{Look, scalar};

pub(super) fn namespace(namespace: &Value, related: &RelatedObjects, page: &mut Page) {
    page.metadata(namespace);
    page.field(0, "Status", namespace.text("/status/phase"));
    let conditions = namespace.list("/status/conditions");
    if !conditions.is_empty() {
        page.line(0, "Conditions:");
        page.line(1, "Type\tStatus\tLastTransitionTime\tReason\tMessage");
        page.line(1, "----\t------\t------------------\t------\t-------");
    }
    for condition in conditions {
        let (kind, status) = (condition.text("/type"), condition.text("/status"));
        let at = time(condition, "/lastTransitionTime");
        let (reason, message) = (condition.text("/reason"), condition.text("/message"));
        page.line(1, format!("{kind}\t{status}\t{at}\t{reason}\t{message}"));
    }
    if related.has("ResourceQuota") {
        page.put("\n");
        quotas(related, page);
    }
    if related.has("LimitRange") {
        page.put("\n");
        limits(related, page);
    }
}

fn quotas(related: &RelatedObjects, page: &mut Page) {
    let mut quotas: Vec<_> = related.all("ResourceQuota").collect();
    quotas.sort_by_key(|quota| quota.text("/metadata/name"));
    if quotas.is_empty() {
        page.line(0, "No resource quota.");
        return;
    }
    page.line(0, "Resource Quotas");
    for quota in quotas {
        page.field(1, "Name", quota.text("/metadata/name"));
        let mut scopes: Vec<_> = quota.list("/spec/scopes").iter().filter_map(Value::as_str).collect();
        scopes.sort_unstable();
        if !scopes.is_empty() {
            page.field(1, "Scopes", scopes.join(", "));
        }
        for help in scopes.into_iter().filter_map(scope_help) {
            page.line(1, format!("* {help}"));
        }
        page.line(1, "Resource\tUsed\tHard");
        page.line(1, "--------\t---\t---");
        for (resource, hard) in quota.at("/status/hard").as_object().into_iter().flatten() {
            let used =
                quota.at("/status/used").get(resource).and_then(scalar).unwrap_or_else(|| "0".to_owned());
            page.line(1, format!("{resource}\t{used}\t{}", scalar(hard).unwrap_or_default()));
        }
    }
}

fn scope_help(scope: &str) -> Option<&'static str> {
    Some(match scope {
        "Terminating" => {
            "Matches all pods that have an active deadline. These pods have a limited lifespan on a node before being actively terminated by the system."
        }
        "NotTerminating" => {
            "Matches all pods that do not have an active deadline. These pods usually include long running pods whose container command is not expected to terminate."
        }
        "BestEffort" => {
            "Matches all pods that do not have resource requirements set. These pods have a best effort quality of service."
        }
        "NotBestEffort" => {
            "Matches all pods that have at least one resource requirement set. These pods have a burstable or guaranteed quality of service."
        }
        _ => return None,
    })
}

/// Fields of a limit, in the order of their columns.
const COLUMNS: [&str; 5] = ["/min", "/max", "/defaultRequest", "/default", "/maxLimitRequestRatio"];

fn limits(related: &RelatedObjects, page: &mut Page) {
    let ranges: Vec<_> = related.all("LimitRange").collect();
    if ranges.is_empty() {
        page.line(0, "No LimitRange resource.");
        return;
    }
    page.line(
        0,
        "Resource Limits\n Type\tResource\tMin\tMax\tDefault Request\tDefault Limit\tMax Limit/Request Ratio",
    );
    page.line(0, " ----\t--------\t---\t---\t---------------\t-------------\t-----------------------");
    for item in ranges.iter().flat_map(|range| range.list("/spec/limits")) {
        let mut names: Vec<_> = COLUMNS
            .iter()
            .flat_map(|column| item.at(column).as_object().into_iter().flatten())
            .map(|(name, _)| name)
            .collect();
        names.sort_unstable();
        names.dedup();
        for name in names {
            let value =
                |column: &&str| item.at(column).get(name).and_then(scalar).unwrap_or_else(|| "-".to_owned());
            let cells: Vec<_> = COLUMNS.iter().map(value).collect();
            page.line(0, format!(" {}\t{name}\t{}", item.text("/type"), cells.join("\t")));
        }
    }
}

pub(super) fn config_map(map: &Value, page: &mut Page) {
    page.metadata(map);
    page.put("\nData\n====\n");
    for (key, value) in map.at("/data").as_object().into_iter().flatten() {
        page.put(format!("{key}:\n----\n{}\n\n", value.as_str().unwrap_or_default()));
    }
    page.put("\nBinaryData\n====\n");
    for (key, value) in map.at("/binaryData").as_object().into_iter().flatten() {
        page.put(format!("{key}: {} bytes\n", decoded_length(value.as_str().unwrap_or_default())));
    }
    page.put("\n");
}

/// Number of bytes that a base64 text encodes.
fn decoded_length(text: &str) -> usize {
    text.trim_end_matches('=').len() * 3 / 4
}

/// Describes a secret, of which the hub has only the metadata.
pub(super) fn secret(secret: &Value, page: &mut Page) {
    page.metadata(secret);
    page.put(format!("\nType:\t{}\n", secret.text_or("/type", "<hidden>")));
    page.put("\nData\n====\n<hidden>\n");
}

pub(super) fn service_account(account: &Value, page: &mut Page) {
    page.metadata(account);
    let names: Vec<_> = account.list("/imagePullSecrets").iter().map(|secret| secret.text("/name")).collect();
    if names.is_empty() {
        page.line(0, "Image pull secrets:\t<none>");
    }
    for (index, name) in names.iter().enumerate() {
        let title = if index == 0 { "Image pull secrets:" } else { "                   " };
        page.line(0, format!("{title}\t{name}"));
    }
}
