//! Content negotiation.

use super::request::ApiRequest;
use crate::status::Status;

/// Format of the objects in a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ResponseFormat {
    Object,
    /// The object in YAML; lists are JSON, which is YAML too.
    Yaml,
    /// `PartialObjectMetadata`, or a list of these.
    Metadata,
    Table,
}

/// Number of objects in a response: one, or a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ObjectCount {
    One,
    Many,
}

/// One entry of an `Accept` header.
struct AcceptEntry<'a> {
    media: &'a str,
    form: Option<&'a str>,
    group: Option<&'a str>,
    version: Option<&'a str>,
}

fn accepted(header: &str) -> impl Iterator<Item = AcceptEntry<'_>> {
    header.split(',').map(|entry| {
        let mut parts = entry.split(';').map(str::trim);
        let mut accepted =
            AcceptEntry { media: parts.next().unwrap_or_default(), form: None, group: None, version: None };
        for parameter in parts {
            match parameter.split_once('=') {
                Some(("as", value)) => accepted.form = Some(value),
                Some(("g", value)) => accepted.group = Some(value),
                Some(("v", value)) => accepted.version = Some(value),
                _ => {}
            }
        }
        accepted
    })
}

/// Returns the first supported format of the `Accept` header.
pub(crate) fn view(call: &ApiRequest, amount: ObjectCount) -> Result<ResponseFormat, Status> {
    let header = call.header(http::header::ACCEPT);
    if header.is_empty() {
        return Ok(ResponseFormat::Object);
    }
    for accepted in accepted(header) {
        let plain = match accepted.media {
            "application/yaml" if amount == ObjectCount::One => ResponseFormat::Yaml,
            "application/json" | "application/yaml" | "*/*" => ResponseFormat::Object,
            _ => continue,
        };
        let wanted = (accepted.group, accepted.version) == (Some("meta.k8s.io"), Some("v1"));
        match (accepted.form, amount) {
            (None, _) => return Ok(plain),
            (Some("Table"), _) if wanted => return Ok(ResponseFormat::Table),
            (Some("PartialObjectMetadata"), ObjectCount::One)
            | (Some("PartialObjectMetadataList"), ObjectCount::Many)
                if wanted =>
            {
                return Ok(ResponseFormat::Metadata);
            }
            _ => {}
        }
    }
    let message = "406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, application/vnd.kubernetes.protobuf, application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch";
    Err(Status::new(406, "NotAcceptable", message).with_details(serde_json::json!({})))
}

/// Whether the client accepts aggregated discovery.
pub(crate) fn wants_aggregated_discovery(call: &ApiRequest) -> bool {
    let first =
        accepted(call.header(http::header::ACCEPT)).find(|accepted| accepted.media == "application/json");
    first.is_some_and(|accepted| {
        accepted.form == Some("APIGroupDiscoveryList")
            && accepted.group == Some("apidiscovery.k8s.io")
            && accepted.version == Some("v2")
    })
}
