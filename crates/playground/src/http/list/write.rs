//! Streaming writer of lists: even a list of a gigabyte needs little memory.

use std::io::Write as _;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use flate2::Compression;
use flate2::write::GzEncoder;
use http::{HeaderValue, Response};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use spindrift_printer::Printer;

use crate::catalogue::Resource;
use crate::cluster::{Body, BodyError};
use crate::convert::{self, ObjectWriter};
use crate::http::negotiate::ResponseFormat;
use crate::http::request::ApiRequest;
use crate::http::respond::{self, GZIP_ABOVE};
use crate::http::table;
use crate::object;
use crate::status::Status;
use crate::storage::collection::SnapshotItem;

/// Approximate size of a chunk.
const PIECE: usize = 64 << 10;

/// Metadata of a list.
pub(super) struct ListMetadata {
    pub(super) revision: u64,
    pub(super) resume: Option<String>,
    pub(super) remaining: Option<u64>,
}

/// Writer of one list.
pub(super) struct ListWriter {
    head: Option<Bytes>,
    items: Box<dyn Iterator<Item = SnapshotItem> + Send>,
    rows: ItemFormat,
    first: bool,
    ended: bool,
}

/// Format of an item.
enum ItemFormat {
    Objects(ObjectWriter),
    Metadata,
    Table(Arc<Resource>, Box<Printer>, table::IncludeObject),
}

// === impl ListWriter ===

impl ListWriter {
    pub(super) fn new(
        call: &ApiRequest,
        resource: &Arc<Resource>,
        view: ResponseFormat,
        head: &ListMetadata,
        items: Box<dyn Iterator<Item = SnapshotItem> + Send>,
    ) -> Result<Self, Status> {
        let meta = metadata(head);
        let (opening, rows) = match view {
            ResponseFormat::Object | ResponseFormat::Yaml => {
                let (kind, version) = (&resource.list_kind, resource.api_version());
                let opening =
                    format!("{{\"kind\":{kind:?},\"apiVersion\":{version:?},\"metadata\":{meta},\"items\":[");
                (opening, ItemFormat::Objects(ObjectWriter::new(resource)))
            }
            ResponseFormat::Metadata => {
                let kind = "\"kind\":\"PartialObjectMetadataList\",\"apiVersion\":\"meta.k8s.io/v1\"";
                (format!("{{{kind},\"metadata\":{meta},\"items\":["), ItemFormat::Metadata)
            }
            ResponseFormat::Table => {
                let columns = table::columns(resource);
                let printer = Box::new(table::printer(resource).into_owned());
                let kind = "\"kind\":\"Table\",\"apiVersion\":\"meta.k8s.io/v1\"";
                let opening =
                    format!("{{{kind},\"metadata\":{meta},\"columnDefinitions\":{columns},\"rows\":[");
                (
                    opening,
                    ItemFormat::Table(Arc::clone(resource), printer, table::IncludeObject::parse(call)?),
                )
            }
        };
        Ok(Self { head: Some(opening.into()), items, rows, first: true, ended: false })
    }

    /// Returns the next chunk of the body.
    fn piece(&mut self) -> Option<Bytes> {
        if self.ended {
            return None;
        }
        let mut out = BytesMut::with_capacity(4 << 10);
        if let Some(head) = self.head.take() {
            out.extend_from_slice(&head);
        }
        while out.len() < PIECE {
            let Some(item) = self.items.next() else {
                out.extend_from_slice(b"]}\n");
                self.ended = true;
                break;
            };
            if !self.first {
                out.extend_from_slice(b",");
            }
            self.first = false;
            self.rows.write(&item.object, &mut out);
        }
        Some(out.freeze())
    }

    /// Small lists are sent whole; large ones in chunks, compressed if the client accepts gzip.
    pub(super) fn respond(mut self, call: &ApiRequest) -> Response<Body> {
        let mut begin = BytesMut::new();
        while begin.len() <= GZIP_ABOVE {
            match self.piece() {
                Some(piece) => begin.extend_from_slice(&piece),
                None => return respond::bytes(200, begin.freeze()),
            }
        }
        let begin = std::iter::once(begin.freeze());
        let rest = std::iter::from_fn(move || self.piece());
        let pieces: Box<dyn Iterator<Item = Bytes> + Send> = Box::new(begin.chain(rest));
        let gzip = respond::accepts_gzip(call);
        let pieces = if gzip { Box::new(packed(pieces)) } else { pieces };
        let frames = pieces.map(|piece| Ok::<_, BodyError>(Frame::data(piece)));
        let body = StreamBody::new(futures::stream::iter(frames)).boxed_unsync();
        let mut response = respond::stream(HeaderValue::from_static("application/json"), body);
        if gzip {
            respond::mark_gzip(&mut response);
        }
        response
    }
}

fn metadata(head: &ListMetadata) -> Value {
    let mut meta = json!({"resourceVersion": head.revision.to_string()});
    let fields = object::fields(&mut meta);
    if let Some(resume) = &head.resume {
        fields.insert("continue".into(), resume.as_str().into());
    }
    if let Some(remaining) = head.remaining {
        fields.insert("remainingItemCount".into(), remaining.into());
    }
    meta
}

/// Compresses chunks one by one; the last one ends the gzip stream.
fn packed(mut pieces: Box<dyn Iterator<Item = Bytes> + Send>) -> impl Iterator<Item = Bytes> + Send {
    let mut encoder = Some(GzEncoder::new(Vec::new(), Compression::fast()));
    std::iter::from_fn(move || {
        loop {
            let Some(piece) = pieces.next() else {
                // Writing to memory does not fail.
                return encoder.take()?.finish().ok().map(Bytes::from);
            };
            let open = encoder.as_mut()?;
            open.write_all(&piece).ok()?;
            let ready = std::mem::take(open.get_mut());
            if !ready.is_empty() {
                return Some(ready.into());
            }
        }
    })
}

// === impl ItemFormat ===

impl ItemFormat {
    fn write(&self, bytes: &Bytes, out: &mut BytesMut) {
        match self {
            Self::Objects(writer) => writer.write_item(bytes, out),
            Self::Metadata => write_metadata(bytes, out),
            Self::Table(resource, printer, include) => {
                if let Some(object) = convert::present(resource, bytes) {
                    out.extend_from_slice(table::row(printer, &object, *include).to_string().as_bytes());
                }
            }
        }
    }
}

#[derive(Deserialize)]
struct OnlyMetadata<'a> {
    #[serde(borrow)]
    metadata: &'a RawValue,
}

/// Writes an object as `PartialObjectMetadata`, parsing no more than necessary.
pub(crate) fn write_metadata(bytes: &Bytes, out: &mut BytesMut) {
    let metadata = serde_json::from_slice::<OnlyMetadata<'_>>(bytes);
    let metadata = metadata.as_ref().map_or("{}", |object| object.metadata.get());
    out.extend_from_slice(
        b"{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/v1\",\"metadata\":",
    );
    out.extend_from_slice(metadata.as_bytes());
    out.extend_from_slice(b"}");
}
