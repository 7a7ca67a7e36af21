//! `list`: reads all objects of a kind. They are scrubbed while their pages arrive, so that a list of any size fits.

mod listing;

use bytes::BytesMut;
use serde_json::Value;
use spindrift_model::{List, OperationError, ResourceVersion};

pub(super) use self::listing::Listing;
use super::{Answer, AnswerSink, OperationContext};

/// Bytes that are collected before they are sent.
const PIECE_BYTES: usize = 32 * 1024;

pub(super) async fn run(
    context: &OperationContext,
    list: List,
    sink: &impl AnswerSink,
) -> Result<Answer, OperationError> {
    let List { api_version, kind, namespace, label_selector, field_selector, anywhere: _ } = list;
    let resource = context.resolve(api_version.as_deref(), &kind).await?;
    let mut listing = Listing {
        context,
        resource: &resource,
        namespace: namespace.as_deref(),
        label_selector: label_selector.as_deref(),
        field_selector: field_selector.as_deref(),
    }
    .begin();
    let (kind, api_version) = (&resource.kind, resource.api_version());
    let mut out =
        BytesMut::from(&*format!(r#"{{"kind":"{kind}List","apiVersion":"{api_version}","items":["#));
    let mut comma: &[u8] = b"";
    while let Some(object) = listing.next().await? {
        out.extend_from_slice(comma);
        out.extend_from_slice(&object.body);
        comma = b",";
        if out.len() >= PIECE_BYTES {
            sink.send(out.split().freeze()).await.map_err(|_| OperationError::cancelled())?;
        }
    }
    let version = Value::from(listing.version().map_or("", ResourceVersion::as_str));
    out.extend_from_slice(format!(r#"],"metadata":{{"resourceVersion":{version}}}}}"#).as_bytes());
    Ok(Answer { code: 200, body: out.freeze() })
}
