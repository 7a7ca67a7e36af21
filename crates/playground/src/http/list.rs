//! Lists: pages of a snapshot, in the requested format.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::Response;
use serde_json::{Value, json};

use super::negotiate::{self, ObjectCount};
use super::request::ApiRequest;
use super::route::RequestTarget;
use crate::catalogue::Resource;
use crate::cluster::Body;
use crate::selector::{FieldSelector, Selector, parse_labels};
use crate::status::{Cause, Status};
use crate::storage::collection::{Collection, Snapshot, SnapshotItem};

mod write;

pub(crate) use write::write_metadata;

use write::{ListMetadata, ListWriter};

/// Start of a list: resource version and position.
struct ListStart {
    /// Path after which the page begins.
    after: Option<String>,
    at: Option<u64>,
    continued: bool,
}

pub(crate) fn list(call: &ApiRequest, target: &RequestTarget) -> Result<Response<Body>, Status> {
    let view = negotiate::view(call, ObjectCount::Many)?;
    let collection = call.cluster.collection(&target.resource);
    let selector = selector(call, &target.resource)?;
    let limit =
        call.query.number::<i64>("limit")?.and_then(|limit| usize::try_from(limit).ok()).filter(|&l| l > 0);
    let start = start(call, &*collection, limit)?;
    let prefix = target.prefix();
    let after = start.after.as_ref().map(|path| format!("{prefix}{path}"));
    let snapshot = collection.snapshot(&prefix, after.as_deref(), start.at).map_err(|_| match &start {
        ListStart { after: Some(after), continued: true, .. } => {
            Status::continue_expired(Some(token(None, after)))
        }
        _ => Status::new(410, "Expired", "The resourceVersion for the provided list is too old."),
    })?;
    let Snapshot { revision, count, items } = snapshot;
    let everything = selector.is_everything();
    let mut items = items.filter(move |item| selector.matches(&item.object));
    let mut head = ListMetadata { revision, resume: None, remaining: None };
    let items: Box<dyn Iterator<Item = SnapshotItem> + Send> = match limit {
        None => Box::new(items),
        Some(limit) => {
            let page: Vec<SnapshotItem> = items.by_ref().take(limit).collect();
            if let Some(last) = page.last()
                && items.next().is_some()
            {
                let path = last.path.strip_prefix(prefix.as_str()).unwrap_or(&last.path);
                head.resume = Some(token(Some(revision), path));
                head.remaining = everything.then(|| count.saturating_sub(page.len() as u64));
            }
            Box::new(page.into_iter())
        }
    };
    Ok(ListWriter::new(call, &target.resource, view, &head, items)?.respond(call))
}

/// Selector of a list or watch request.
pub(crate) fn selector(call: &ApiRequest, resource: &Resource) -> Result<Selector, Status> {
    Ok(Selector {
        labels: parse_labels(call.query.get("labelSelector").unwrap_or_default())?,
        fields: FieldSelector::parse(resource, call.query.get("fieldSelector").unwrap_or_default())?,
    })
}

fn start(call: &ApiRequest, collection: &dyn Collection, limit: Option<usize>) -> Result<ListStart, Status> {
    let (version, rule, resume) = (
        call.query.get("resourceVersion"),
        call.query.get("resourceVersionMatch"),
        call.query.get("continue"),
    );
    check_options(version, rule, call.query.get("sendInitialEvents"), resume)?;
    if let Some(resume) = resume {
        let (at, after) = parse_token(resume)?;
        if version.is_some_and(|version| version != "0") {
            let message = "specifying resource version is not allowed when using continue";
            return Err(Status::bad_request(message));
        }
        return Ok(ListStart { after: Some(after), at, continued: true });
    }
    let Some(asked) = version.map(parse_version).transpose()?.filter(|&asked| asked > 0) else {
        return Ok(ListStart { after: None, at: None, continued: false });
    };
    let current = collection.revision();
    if asked > current {
        return Err(Status::too_large(asked, current));
    }
    // Without `resourceVersionMatch`, a page has exactly this resource version and a complete list is not older.
    let exact = rule == Some("Exact") || (rule.is_none() && limit.is_some());
    Ok(ListStart { after: None, at: exact.then_some(asked), continued: false })
}

fn check_options(
    version: Option<&str>,
    rule: Option<&str>,
    initial: Option<&str>,
    resume: Option<&str>,
) -> Result<(), Status> {
    let mut causes = Vec::new();
    let field = "resourceVersionMatch";
    if let Some(rule) = rule {
        if resume.is_some() {
            causes
                .push(Cause::forbidden(field, "resourceVersionMatch is forbidden when continue is provided"));
        }
        if version.is_none() {
            let why = "resourceVersionMatch is forbidden unless resourceVersion is provided";
            causes.push(Cause::forbidden(field, why));
        }
        if !matches!(rule, "Exact" | "NotOlderThan") {
            causes.push(Cause::unsupported(field, &rule.into(), &["Exact", "NotOlderThan", ""]));
        }
        if rule == "Exact" && version == Some("0") {
            let why = "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"";
            causes.push(Cause::forbidden(field, why));
        }
    }
    if initial.is_some() {
        causes.push(Cause::forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"));
    }
    refuse_options("ListOptions", &causes)
}

/// Rejects options that exclude each other.
pub(crate) fn refuse_options(kind: &str, causes: &[Cause]) -> Result<(), Status> {
    if causes.is_empty() {
        return Ok(());
    }
    Err(Status::invalid_options(kind, causes))
}

pub(crate) fn parse_version(text: &str) -> Result<u64, Status> {
    text.parse().map_err(|_| {
        Status::bad_request(format!(
            "invalid resource version: resourceVersion: Invalid value: {text:?}: strconv.ParseUint: parsing {text:?}: invalid syntax"
        ))
    })
}

/// Continue token. Without a revision the list continues with the objects that exist then.
fn token(revision: Option<u64>, path: &str) -> String {
    let version = revision.map_or(json!(-1), |revision| json!(revision));
    let token = json!({"v": "meta.k8s.io/v1", "rv": version, "start": format!("{path}\0")});
    URL_SAFE_NO_PAD.encode(token.to_string())
}

fn parse_token(token: &str) -> Result<(Option<u64>, String), Status> {
    let broken =
        |why: &str| Status::bad_request(format!("invalid continue token: continue key is not valid: {why}"));
    let bytes =
        URL_SAFE_NO_PAD.decode(token.trim_end_matches('=')).map_err(|error| broken(&error.to_string()))?;
    let token: Value = serde_json::from_slice(&bytes).map_err(|error| broken(&error.to_string()))?;
    if token.get("v").and_then(Value::as_str) != Some("meta.k8s.io/v1") {
        return Err(broken("server does not recognize this encoded version"));
    }
    let start = token.get("start").and_then(Value::as_str).unwrap_or_default();
    let Some(path) = start.strip_suffix('\0').filter(|path| !path.is_empty()) else {
        return Err(broken("encoded start key is incomplete"));
    };
    let version = token.get("rv").and_then(Value::as_i64).unwrap_or(0);
    if version == 0 {
        return Err(Status::bad_request(
            "invalid continue token: incorrect encoded start resourceVersion (version meta.k8s.io/v1)",
        ));
    }
    Ok((u64::try_from(version).ok(), path.to_owned()))
}

/// Objects that a collection deletion applies to.
pub(crate) fn selected(call: &ApiRequest, target: &RequestTarget) -> Result<Vec<SnapshotItem>, Status> {
    let selector = selector(call, &target.resource)?;
    let collection: Arc<dyn Collection> = call.cluster.collection(&target.resource);
    let snapshot =
        collection.snapshot(&target.prefix(), None, None).map_err(|gone| Status::too_old(0, gone.oldest))?;
    Ok(snapshot.items.filter(|item| selector.matches(&item.object)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_leads_back_to_its_place() {
        assert_eq!(parse_token(&token(Some(7), "default/a")).unwrap(), (Some(7), "default/a".to_owned()));
        assert_eq!(parse_token(&token(None, "a")).unwrap(), (None, "a".to_owned()));
        for broken in ["abc", "", "bnVsbA", "e30"] {
            assert_eq!(parse_token(broken).unwrap_err().code, 400, "{broken}");
        }
    }
}
