//! Responses.

use std::convert::Infallible;
use std::io::Write as _;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use http::{HeaderValue, Response, StatusCode, header};
use http_body_util::{BodyExt, Full};
use serde::Serialize;
use serde_json::Value;

use super::negotiate::{self, ObjectCount, ResponseFormat};
use super::request::ApiRequest;
use super::table;
use crate::catalogue::Resource;
use crate::cluster::Body;
use crate::object;
use crate::status::Status;

/// Size above which the real server compresses, for clients that accept gzip.
pub(crate) const GZIP_ABOVE: usize = 128 << 10;

const JSON: HeaderValue = HeaderValue::from_static("application/json");

pub(crate) fn full(bytes: impl Into<Bytes>) -> Body {
    Full::new(bytes.into()).map_err(|never: Infallible| match never {}).boxed_unsync()
}

fn with_code(mut response: Response<Body>, code: u16) -> Response<Body> {
    *response.status_mut() = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response
}

pub(crate) fn stream(content_type: HeaderValue, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    response.headers_mut().insert(header::CONTENT_TYPE, content_type);
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
    response
}

pub(crate) fn bytes(code: u16, bytes: impl Into<Bytes>) -> Response<Body> {
    with_code(stream(JSON, full(bytes)), code)
}

pub(crate) fn text(code: u16, text: &'static str) -> Response<Body> {
    with_code(stream(HeaderValue::from_static("text/plain; charset=utf-8"), full(text)), code)
}

/// Response without a body.
pub(crate) fn empty() -> Response<Body> {
    with_code(Response::new(full(Bytes::new())), 204)
}

/// A JSON document with status 200.
pub(crate) fn json(value: &impl Serialize) -> Result<Response<Body>, Status> {
    coded(200, value)
}

pub(crate) fn coded(code: u16, value: &impl Serialize) -> Result<Response<Body>, Status> {
    let body = serde_json::to_vec(value).map_err(|error| Status::internal(error.to_string()))?;
    Ok(bytes(code, body))
}

pub(crate) fn status(status: &Status) -> Response<Body> {
    let body = serde_json::to_vec(&status.to_value()).expect("JSON values have string keys");
    let mut response = bytes(status.code, body);
    if let Some(seconds) = status.retry_after() {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

/// One object, in the format that the client accepts.
pub(crate) fn object(
    call: &ApiRequest,
    resource: &Resource,
    code: u16,
    object: &Value,
) -> Result<Response<Body>, Status> {
    match negotiate::view(call, ObjectCount::One)? {
        ResponseFormat::Yaml => yaml(code, object),
        ResponseFormat::Object => compressed(call, code, object),
        ResponseFormat::Metadata => coded(code, &metadata_only(object)),
        ResponseFormat::Table => {
            let include = table::IncludeObject::parse(call)?;
            coded(code, &table::of_object(resource, object, include))
        }
    }
}

fn yaml(code: u16, object: &Value) -> Result<Response<Body>, Status> {
    let text = serde_saphyr::to_string(object).map_err(|error| Status::internal(error.to_string()))?;
    Ok(with_code(stream(HeaderValue::from_static("application/yaml"), full(text)), code))
}

fn compressed(call: &ApiRequest, code: u16, object: &Value) -> Result<Response<Body>, Status> {
    let body = serde_json::to_vec(object).map_err(|error| Status::internal(error.to_string()))?;
    if body.len() <= GZIP_ABOVE || !accepts_gzip(call) {
        return Ok(bytes(code, body));
    }
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    let packed = encoder.write_all(&body).and_then(|()| encoder.finish());
    let packed = packed.map_err(|error| Status::internal(error.to_string()))?;
    let mut response = bytes(code, packed);
    mark_gzip(&mut response);
    Ok(response)
}

/// Adds warnings that clients show to their users.
pub(crate) fn warned(mut response: Response<Body>, warnings: &[String]) -> Response<Body> {
    for warning in warnings {
        if let Ok(value) = HeaderValue::from_str(&format!("299 - {warning:?}")) {
            response.headers_mut().append(header::WARNING, value);
        }
    }
    response
}

pub(crate) fn accepts_gzip(call: &ApiRequest) -> bool {
    call.header(header::ACCEPT_ENCODING)
        .split(',')
        .any(|word| word.split(';').next().is_some_and(|w| w.trim() == "gzip"))
}

pub(crate) fn mark_gzip(response: &mut Response<Body>) {
    response.headers_mut().insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    response.headers_mut().insert(header::VARY, HeaderValue::from_static("Accept-Encoding"));
}

/// Metadata of an object.
pub(crate) fn metadata_only(object: &Value) -> Value {
    let metadata = object.get("metadata").cloned().unwrap_or_default();
    serde_json::json!({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": metadata})
}

/// Status of a completed deletion.
pub(crate) fn deleted(resource: &Resource, last: &Value) -> Value {
    let mut details =
        serde_json::json!({"name": object::name(last), "kind": resource.plural, "uid": object::uid(last)});
    if !resource.group.is_empty() {
        object::fields(&mut details).insert("group".into(), resource.group.clone().into());
    }
    serde_json::json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details})
}
