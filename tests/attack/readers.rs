//! Clients that request large objects and do not read them.

use std::{
    io::{Read, Write},
    net::TcpStream,
    time::Duration,
};

use serde_json::json;
use spindrift_testkit::{WatchEvent, eventually};

use crate::{
    big_cluster::{BYTES, BigCluster},
    target::Target,
};

/// The hub gives a reader half a minute.
const LONG: Duration = Duration::from_mins(2);

/// 20 watchers and ten readers of a page of 1,000 objects, none of which reads anything.
pub(crate) async fn silent(target: &mut Target) {
    let cluster = BigCluster::start(&target.hub, "big").await;
    let objects = target.scale.pick(60, 200);
    cluster.create("big", objects, BYTES).await;
    cluster.converges(&target.hub).await;

    // One that has read everything so far, and misses what follows.
    let mut resuming = target.hub.watch(&[("account", "big")], None).await.unwrap();
    let synced = resuming.find(|event| event.event == "synced").await.unwrap();
    let later = 20;
    cluster.create("later", later, BYTES).await;

    let watchers: Vec<_> = (0..20).map(|_| request(target, "/v1/objects/watch?account=big")).collect();
    let pages: Vec<_> = (0..10).map(|_| request(target, "/v1/objects?account=big&limit=1000")).collect();
    let silent = (watchers.len() + pages.len() + 1) as u64;
    eventually!("all of them are cut", LONG, cut_readers(target).await == silent);
    for (number, watcher) in watchers.into_iter().enumerate() {
        let end = end_of(watcher);
        let told = end.contains("\n: disconnected: too slow");
        target.check(format!("watcher {number} gets the reason"), told, end);
    }
    for (number, page) in pages.into_iter().enumerate() {
        let end = end_of(page);
        target.check(format!("page {number} is incomplete"), !end.contains("\"position\""), end);
    }
    drop(resuming);
    let resumed = resume(target, synced.id.as_deref(), later).await;
    let resumed = resumed.map_err(|error| format!("{error:#}"));
    target.case("a watcher that was cut resumes by its Last-Event-ID", resumed);
    let page = target.hub.objects(&[("account", "big"), ("limit", "50")]).await;
    let complete = page.as_ref().is_ok_and(|found| found.len() >= objects + later);
    target.check("others read all pages", complete, format!("{:?}", page.map(|found| found.len())));
}

async fn cut_readers(target: &Target) -> u64 {
    target.hub.metric("spindrift_hub_slow_readers_total").await.unwrap_or_default()
}

/// Sends a request and does not read the response.
fn request(target: &Target, path: &str) -> TcpStream {
    let address = target.hub.url().replace("http://", "");
    let mut stream = TcpStream::connect(&address).unwrap();
    stream.set_read_timeout(Some(LONG)).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n").unwrap();
    stream
}

/// Reads what is left, and returns the last part of it. A page is broken off, so the end may be an error.
fn end_of(mut stream: TcpStream) -> String {
    let (mut end, mut piece) = (Vec::new(), vec![0; 64 * 1024]);
    while let Ok(read @ 1..) = stream.read(&mut piece) {
        end.extend_from_slice(&piece[..read]);
        let surplus = end.len().saturating_sub(512);
        end.drain(..surplus);
        // The head of a stream stays open until the client closes it.
        if end.ends_with(b"0\r\n\r\n") {
            break;
        }
    }
    String::from_utf8_lossy(&end).into_owned()
}

/// Reads the changes after a position: those of the later objects, and no object again.
async fn resume(target: &Target, position: Option<&str>, later: usize) -> anyhow::Result<()> {
    anyhow::ensure!(position.is_some(), "the end of the snapshot had no position");
    let mut watch = target.hub.watch(&[("account", "big")], position).await?;
    let mut found = 0;
    while found < later {
        let WatchEvent { event, data, .. } = watch.next().await?;
        anyhow::ensure!(event != "reset", "it started again");
        let name = data["name"].as_str().unwrap_or_default();
        anyhow::ensure!(event != "upsert" || !name.starts_with("big-"), "{} was sent again", json!(name));
        found += usize::from(event == "upsert" && name.starts_with("later-"));
    }
    Ok(())
}
