//! The largest possible object: as large as a request to an API server, 3 MiB.
//!
//! A real API server does not store it, since its etcd client sends 2 MiB at most. So this one is simulated.

use std::sync::Arc;

use futures::{FutureExt, future::BoxFuture};
use http::{Request, Response, header};
use http_body_util::BodyExt;
use hyper::body::{Bytes, Frame};
use serde_json::json;
use spindrift_playground::{Body, ConnectionClosed, Key, Layer, Next, RequestBody};
use spindrift_testkit::{Database, eventually};

use crate::{
    engine::Stage,
    support::{LONG, Stack, widget, widget_crd},
};

const PAYLOAD: usize = 3 << 20;

/// Placeholder of the payload in the stored object.
const WORD: &[u8] = b"@payload@";

/// Shows the payload where the word is.
struct Inflating {
    payload: Bytes,
}

// === impl Inflating ===

impl Layer for Inflating {
    fn handle(
        &self,
        mut request: Request<RequestBody>,
        next: Next,
    ) -> BoxFuture<'static, Result<Response<Body>, ConnectionClosed>> {
        request.headers_mut().remove(header::ACCEPT_ENCODING);
        let (payload, mut held) = (self.payload.clone(), Vec::new());
        async move {
            let (mut answer, body) = next.run(request).await.into_parts();
            answer.headers.remove(header::CONTENT_LENGTH);
            let body = body.map_frame(move |frame| match frame.into_data() {
                Ok(data) => {
                    held.extend_from_slice(&data);
                    Frame::data(inflate(&mut held, &payload))
                }
                Err(trailers) => trailers,
            });
            Ok(Response::from_parts(answer, body.boxed_unsync()))
        }
        .boxed()
    }
}

/// Takes all but a possible beginning of the placeholder; no answer ends with that.
fn inflate(held: &mut Vec<u8>, payload: &[u8]) -> Bytes {
    let mut inflated = Vec::new();
    while let Some(at) = held.windows(WORD.len()).position(|window| window == WORD) {
        inflated.extend(held.drain(..at));
        held.drain(..WORD.len());
        inflated.extend_from_slice(payload);
    }
    let begun = (1..WORD.len()).rev().find(|length| held.ends_with(&WORD[..*length])).unwrap_or(0);
    inflated.extend(held.drain(..held.len() - begun));
    inflated.into()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_as_large_as_a_request_may_be_arrives_by_list_and_by_watch() {
    let stage = Stage::set(1).await;
    let cluster = &stage.fleet.clusters[0];
    let payload: String = std::iter::repeat_with(fastrand::alphanumeric).take(PAYLOAD).collect();
    cluster.set_layer(Some(Arc::new(Inflating { payload: payload.clone().into() })));
    let group = "huge.example.com";
    cluster.create(widget_crd(group)).unwrap();
    let mut huge = widget(group, "default", "huge", 1);
    huge["spec"]["payload"] = json!("@payload@");
    cluster.create(huge).unwrap();

    let kinds = ["Widget.huge.example.com"];
    let stack = Stack::with_accounts(Database::sqlite().unwrap(), &kinds, stage.accounts().into()).await;
    let is_stored = async |size: u32| {
        let stored = eventually!(format!("size {size} is stored"), LONG, {
            let objects = stack.hub.objects(&[("kind", kinds[0])]).await.unwrap();
            objects.into_iter().find(|object| object.object["spec"]["size"] == size)
        });
        assert!(stored.object["spec"]["payload"] == *payload, "another payload is stored");
    };
    is_stored(1).await;
    stack.synced(cluster.name()).await;
    let key = Key::new(group, "widgets", "default", "huge");
    cluster.update(&key, |object| object["spec"]["size"] = json!(2)).unwrap();
    is_stored(2).await;
    let watches = stack.agent.get("/watches").await.unwrap();
    assert_eq!(
        watches[cluster.name()]["watching"][0]["listings"],
        1,
        "the change came by the watch: {watches}"
    );
}
