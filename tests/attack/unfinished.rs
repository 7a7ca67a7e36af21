//! Requests that begin and do not end, and connections that send nothing.

use std::{
    io::Write,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    time::Duration,
};

use bytes::Bytes;
use futures::{StreamExt, stream};
use http_body_util::StreamBody;
use hyper::body::Frame;
use hyper_util::rt::{TokioExecutor, TokioIo};
use spindrift_testkit::PATIENCE;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpSocket, TcpStream},
    task::JoinSet,
    time::{Instant, timeout},
};

use crate::target::{Scale, Target};

/// Another address of this machine than that of the probe and the bystander.
const ATTACKER: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2));

/// A third one.
const OTHER: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 3));

fn rest(target: &Target) -> SocketAddr {
    target.hub.url().trim_start_matches("http://").parse().unwrap()
}

async fn connect(from: IpAddr, to: SocketAddr) -> std::io::Result<TcpStream> {
    let socket = TcpSocket::new_v4()?;
    socket.bind(SocketAddr::new(from, 0))?;
    socket.connect(to).await
}

/// Posts all but the last byte of a body, and reads the answer.
async fn unfinished_post(to: SocketAddr, bytes: usize) -> std::io::Result<String> {
    let mut stream = connect(ATTACKER, to).await?;
    let mut head = Vec::new();
    write!(head, "POST /v1/accounts/eu-west/operations HTTP/1.1\r\nHost: {to}\r\n")?;
    write!(head, "Content-Type: application/json\r\nContent-Length: {bytes}\r\n\r\n")?;
    stream.write_all(&head).await?;
    // The hub may answer, and close, before it has read all of it.
    stream.write_all(&vec![b' '; bytes - 1]).await.ok();
    let mut answer = vec![0; 12];
    stream.read_exact(&mut answer).await?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

pub(crate) async fn bodies(target: &mut Target) {
    let (address, requests) = (rest(target), target.scale.pick(40, 200));
    let posts = (0..requests).map(|_| timeout(PATIENCE, unfinished_post(address, 8_000_000)));
    let answers = futures::future::join_all(posts).await;
    let (mut late, mut busy, mut others) = (0, 0, Vec::new());
    for answer in answers {
        match answer {
            Ok(Ok(answer)) if answer == "HTTP/1.1 408" => late += 1,
            // Refused; if the connection was closed while the client sent, the answer is lost.
            Ok(answer) if answer.as_ref().is_ok_and(|answer| answer == "HTTP/1.1 503") || answer.is_err() => {
                busy += 1;
            }
            other => others.push(format!("{other:?}")),
        }
    }
    let seen = format!("{late} late, {busy} refused, others: {others:?}");
    let expected = others.is_empty() && late > 0 && busy > 0;
    target.check(format!("{requests} unfinished bodies of 8 MB end by themselves"), expected, seen);
}

/// Sends a call whose one message is announced with this length and does not end.
async fn unfinished_call(to: SocketAddr, path: &str, length: u32, sent: usize) -> Result<String, String> {
    let stream = connect(ATTACKER, to).await.map_err(|error| error.to_string())?;
    let handshake = hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await;
    let (mut sender, connection) = handshake.map_err(|error| error.to_string())?;
    let mut tasks = JoinSet::new();
    tasks.spawn(connection);
    let prefix = [&[0][..], &length.to_be_bytes()].concat();
    let pieces = (0..sent / 65536).map(|_| Bytes::from(vec![0; 65536]));
    let pieces = stream::iter([Bytes::from(prefix)].into_iter().chain(pieces)).chain(stream::pending());
    let body = StreamBody::new(pieces.map(|piece| Ok::<_, std::convert::Infallible>(Frame::data(piece))));
    let request = hyper::Request::post(format!("http://{to}/spindrift.v1.Hub/{path}"))
        .header("content-type", "application/grpc")
        .header("te", "trailers")
        .body(body)
        .map_err(|error| error.to_string())?;
    let response = sender.send_request(request).await.map_err(|error| error.to_string())?;
    let status = response.headers().get("grpc-status").and_then(|status| status.to_str().ok());
    Ok(status.unwrap_or("none").to_owned())
}

pub(crate) async fn messages(target: &mut Target) {
    let (address, calls) = (target.hub.grpc(), target.scale.pick(20, 100));
    // The deadline of a message is 30 s.
    let patience = target.scale.pick(Duration::from_secs(10), 3 * PATIENCE);
    for (length, most_waiting) in [(31, 0), (7, 6)] {
        let call = || unfinished_call(address, "Register", length << 20, ((length as usize) - 1) << 20);
        let answers = futures::future::join_all((0..calls).map(|_| timeout(patience, call()))).await;
        let (mut refused, mut late, mut waiting, mut others) = (0, 0, 0, Vec::new());
        for answer in answers {
            match answer.map(|answer| answer.unwrap_or_else(|error| error)).as_deref() {
                // RESOURCE_EXHAUSTED and DEADLINE_EXCEEDED.
                Ok("8") => refused += 1,
                Ok("4") => late += 1,
                Ok(other) => others.push(other.to_owned()),
                Err(_) => waiting += 1,
            }
        }
        let seen = format!("{refused} refused, {late} late, {waiting} waiting, others: {others:?}");
        let expected = others.is_empty()
            && refused >= calls - most_waiting
            && (waiting == 0 || target.scale == Scale::Short);
        target.check(format!("{calls} unfinished registrations of {length} MiB"), expected, seen);
    }
}

pub(crate) async fn silence(target: &mut Target) {
    for (port, address, greeting) in [
        ("REST", rest(target), &b"GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"[..]),
        ("gRPC", target.hub.grpc(), &b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0"[..]),
    ] {
        let mut silent = Vec::new();
        for _ in 0..1100 {
            if let Ok(stream) = connect(ATTACKER, address).await {
                silent.push(stream);
            }
        }
        let begun = Instant::now();
        let answered = timeout(PATIENCE, async {
            let mut stream = connect(OTHER, address).await?;
            stream.write_all(greeting).await?;
            stream.read_exact(&mut [0; 9]).await
        });
        let answered = answered.await.is_ok_and(|answered| answered.is_ok());
        let took = begun.elapsed();
        // The deadline of a handshake is 10 s: that is how long the port was closed.
        let expected = answered && took < Duration::from_secs(2);
        let seen = format!("answered: {answered}, after {took:?}");
        target.check(format!("the {port} port is open beside 1,100 silent connections"), expected, seen);
        target.check(format!("1,100 connections to {port} were made"), silent.len() > 1000, silent.len());
    }
}

/// Settings of HTTP/2 that the hub announces, by their ids.
async fn announced(address: SocketAddr) -> std::io::Result<Vec<(u16, u32)>> {
    let mut stream = TcpStream::connect(address).await?;
    stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0").await?;
    let mut head = [0; 9];
    stream.read_exact(&mut head).await?;
    let mut settings = vec![0; usize::from(head[1]) << 8 | usize::from(head[2])];
    stream.read_exact(&mut settings).await?;
    let setting = |bytes: &[u8]| {
        let id = u16::from_be_bytes([bytes[0], bytes[1]]);
        (id, u32::from_be_bytes([bytes[2], bytes[3], bytes[4], bytes[5]]))
    };
    Ok(settings.chunks_exact(6).map(setting).collect())
}

pub(crate) async fn http2_limits(target: &mut Target) {
    let settings = announced(target.hub.grpc()).await.unwrap();
    for (name, id, most) in
        [("concurrent streams", 3, 64), ("stream window", 4, 4 << 20), ("header list", 6, 32 * 1024)]
    {
        let announced = settings.iter().find(|(setting, _)| *setting == id).map(|(_, value)| *value);
        let expected = announced.is_some_and(|value| value <= most);
        target.check(format!("the gRPC port limits its {name}"), expected, format!("{announced:?}"));
    }
}
