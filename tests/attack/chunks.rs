//! Chunks of the Events channel that take far more work or memory than bytes.

use futures::{StreamExt, stream};
use prost::Message;
use spindrift_protocol::{CHUNK_BYTES, Compressor, Dictionary, v1};
use tonic::Status;

use crate::{
    peer::{Peer, registration},
    target::Target,
};

/// The frame that zstd makes of nothing.
const EMPTY_FRAME: &[u8] = b"\x28\xb5\x2f\xfd\x20\x00\x01\x00\x00";

/// Channels that attack at once: as many as the hub has cores here.
const CHANNELS: usize = 2;

/// Sends chunks on some channels at once; returns how each of them ended.
async fn flood(target: &Target, name: &str, chunk: Vec<u8>, repeats: usize) -> Vec<Result<(), Status>> {
    let chunk = bytes::Bytes::from(chunk);
    let attacks = (0..CHANNELS).map(async |channel| {
        let mut peer = Peer::register(&target.hub, registration(&format!("{name}-{channel}"), [])).await?;
        let frame = v1::EventsUp { chunk: chunk.clone(), ..v1::EventsUp::default() };
        let mut down = peer.events(stream::repeat(frame).take(repeats)).await?;
        // The hub closes the channel after the last chunk, or before it with a reason.
        while down.message().await?.is_some() {}
        Ok(())
    });
    futures::future::join_all(attacks).await
}

fn refused(ended: &[Result<(), Status>], expected: &str) -> Result<(), String> {
    let is_refused = |ended: &Result<(), Status>| match ended {
        Err(status) => status.message().contains(expected),
        Ok(()) => false,
    };
    if ended.iter().all(is_refused) { Ok(()) } else { Err(format!("{ended:?}")) }
}

/// A batch of an account that is not attached, compressed: the hub reads all of it and drops it.
fn compressed(items: Vec<v1::Item>) -> Vec<u8> {
    let batch = v1::Batch { account: "nobody".into(), epoch: 1, seq: 1, items };
    let message = v1::EventsMessage { message: Some(v1::events_message::Message::Batch(batch)) };
    let mut compressor = Compressor::new(Dictionary::choose(&Dictionary::offer()).unwrap());
    let mut bytes = compressor.compress(&message.encode_to_vec());
    bytes.extend(compressor.end().unwrap());
    assert!(bytes.len() <= CHUNK_BYTES, "{}", bytes.len());
    bytes
}

pub(crate) async fn empty_frames(target: &mut Target) {
    let megabytes = target.scale.pick(8, 30);
    let many = EMPTY_FRAME.repeat((megabytes << 20) / EMPTY_FRAME.len());
    let ended = flood(target, "large", many, 1).await;
    target.case(format!("a chunk of {megabytes} MB is refused"), refused(&ended, "expected at most"));

    let chunk = EMPTY_FRAME.repeat(CHUNK_BYTES / EMPTY_FRAME.len());
    let ended = flood(target, "frames", chunk, 100).await;
    let expected = refused(&ended, "expected nothing after the end of a zstd frame");
    target.case("a chunk of empty frames is refused", expected);

    let chunks = target.scale.pick(100_000, 2_000_000);
    let ended = flood(target, "single", EMPTY_FRAME.to_vec(), chunks).await;
    let expected = ended.iter().all(Result::is_ok);
    target.check(format!("{chunks} chunks of one empty frame each"), expected, format!("{ended:?}"));
}

pub(crate) async fn large_content(target: &mut Target) {
    let body = vec![b' '; 30 << 20].into();
    let upsert = v1::Upsert {
        scope: 1,
        namespace: "n".into(),
        name: "x".into(),
        uid: "u".into(),
        resource_version: "1".into(),
        body,
    };
    let chunk = compressed(vec![v1::Item { item: Some(v1::item::Item::Upsert(upsert)) }]);
    let messages = target.scale.pick(10, 200);
    let (name, bytes) = (format!("{messages} messages of 30 MiB in {} bytes each", chunk.len()), chunk);
    let ended = flood(target, "bombs", bytes, messages).await;
    target.check(name, ended.iter().all(Result::is_ok), format!("{ended:?}"));

    let items = vec![v1::Item::default(); 15 << 20];
    let chunk = compressed(items);
    let ended = flood(target, "items", chunk, 1).await;
    target.case("15 million empty items are refused", refused(&ended, "expected at most 65536 items"));

    // Messages whose last chunk does not come: 31 MiB each.
    let sessions = target.scale.pick(8, 40);
    let part =
        Compressor::new(Dictionary::choose(&Dictionary::offer()).unwrap()).compress(&vec![0; 31 << 20]);
    let mut open = Vec::new();
    let mut refusals = 0;
    for session in 0..sessions {
        let frame = v1::EventsUp { chunk: part.clone().into(), more: true, ..v1::EventsUp::default() };
        let mut peer =
            Peer::register(&target.hub, registration(&format!("partial-{session}"), [])).await.unwrap();
        let chunks = stream::iter([frame]).chain(stream::pending());
        let mut down = peer.events(chunks).await.unwrap();
        // A refused one ends; the others are silent until another session has been refused, or all were sent.
        if open.len() < 2 {
            open.push((peer, down));
            continue;
        }
        let ended = down.message().await;
        refusals += usize::from(ended.is_err_and(|status| status.message().contains("unfinished requests")));
    }
    let expected = refusals >= sessions - 2;
    target.check(
        format!("{sessions} unfinished messages of 31 MiB"),
        expected,
        format!("{refusals} refused"),
    );
}
