//! Each misbehaviour of the proxy, in front of a server that echoes.

use std::io;
use std::time::Duration;

use spindrift_testkit::{FaultProxy, Traffic, eventually};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

const A_WHILE: Duration = Duration::from_millis(200);

/// Sends every byte back, until it is dropped.
struct Echo {
    _tasks: JoinSet<()>,
}

#[tokio::test]
async fn healthy_proxy_forwards_both_ways_and_the_end() -> anyhow::Result<()> {
    let (_echo, proxy) = echo_and_proxy().await?;
    let mut client = TcpStream::connect(proxy.addr()).await?;
    assert_eq!(ask(&mut client, b"hello").await?, b"hello");
    client.shutdown().await?;
    assert_eq!(client.read(&mut [0; 1]).await?, 0, "the echo server has closed, too");
    Ok(())
}

#[tokio::test]
async fn cut_resets_connections_and_refuses_new_ones_until_healed() -> anyhow::Result<()> {
    let (_echo, proxy) = echo_and_proxy().await?;
    let mut client = TcpStream::connect(proxy.addr()).await?;
    ask(&mut client, b"hello").await?;
    proxy.cut();
    let error = client.read(&mut [0; 1]).await.expect_err("the connection is cut");
    assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);
    eventually!("connections are refused", {
        TcpStream::connect(proxy.addr())
            .await
            .is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
    });
    proxy.heal();
    let mut client = eventually!("connections are accepted", TcpStream::connect(proxy.addr()).await);
    assert_eq!(ask(&mut client, b"again").await?, b"again");
    Ok(())
}

#[tokio::test]
async fn half_open_swallows_bytes_and_ends() -> anyhow::Result<()> {
    let (_echo, proxy) = echo_and_proxy().await?;
    let mut old = TcpStream::connect(proxy.addr()).await?;
    ask(&mut old, b"hello").await?;
    proxy.half_open();
    let mut new = TcpStream::connect(proxy.addr()).await?;
    for client in [&mut old, &mut new] {
        assert!(timeout(A_WHILE, ask(client, b"anyone?")).await.is_err(), "something came through");
    }
    proxy.heal();
    assert!(old.read(&mut [0; 1]).await.is_err(), "a stream with a hole in it lived on");
    let mut fresh = TcpStream::connect(proxy.addr()).await?;
    assert_eq!(ask(&mut fresh, b"hello").await?, b"hello");
    Ok(())
}

#[tokio::test]
async fn delay_applies_to_a_live_connection() -> anyhow::Result<()> {
    let (_echo, proxy) = echo_and_proxy().await?;
    let mut client = TcpStream::connect(proxy.addr()).await?;
    ask(&mut client, b"quick").await?;
    proxy.delay(A_WHILE);
    let start = Instant::now();
    ask(&mut client, b"slow").await?;
    assert!(start.elapsed() >= 2 * A_WHILE, "took only {:?}", start.elapsed());
    Ok(())
}

#[tokio::test]
async fn heal_ends_a_delay_that_is_under_way() -> anyhow::Result<()> {
    let (_echo, proxy) = echo_and_proxy().await?;
    let mut client = TcpStream::connect(proxy.addr()).await?;
    proxy.delay(Duration::from_hours(1));
    let answer = ask(&mut client, b"hello");
    tokio::pin!(answer);
    assert!(timeout(A_WHILE, &mut answer).await.is_err());
    proxy.heal();
    assert_eq!(answer.await?, b"hello");
    Ok(())
}

#[tokio::test]
async fn throttle_limits_the_flow() -> anyhow::Result<()> {
    let (_echo, proxy) = echo_and_proxy().await?;
    let mut client = TcpStream::connect(proxy.addr()).await?;
    proxy.throttle(100_000);
    let start = Instant::now();
    ask(&mut client, &vec![b'x'; 50_000]).await?;
    let took = start.elapsed();
    assert!(took >= Duration::from_millis(450), "took only {took:?}");
    Ok(())
}

#[tokio::test]
async fn rewrite_finds_matches_across_reads() -> anyhow::Result<()> {
    let (_echo, proxy) = echo_and_proxy().await?;
    let mut client = TcpStream::connect(proxy.addr()).await?;
    client.set_nodelay(true)?;
    proxy.rewrite(b"secret", b"public")?;
    client.write_all(b"a sec").await?;
    let mut start = [0; 2];
    client.read_exact(&mut start).await?;
    client.write_all(b"ret is a sec").await?;
    let mut rest = [0; 15];
    client.read_exact(&mut rest).await?;
    assert_eq!([&start[..], &rest[..]].concat(), b"a public is a sec");
    assert!(proxy.rewrite(b"short", b"longer").is_err());
    Ok(())
}

#[tokio::test]
async fn recording_keeps_both_directions() -> anyhow::Result<()> {
    let (_echo, proxy) = echo_and_proxy().await?;
    let mut client = TcpStream::connect(proxy.addr()).await?;
    ask(&mut client, b"before").await?;
    proxy.record();
    ask(&mut client, b"canary").await?;
    assert_eq!(proxy.recorded(), b"canarycanary");
    Ok(())
}

#[tokio::test]
async fn forwarded_bytes_are_counted_by_direction() -> anyhow::Result<()> {
    let (_echo, proxy) = echo_and_proxy().await?;
    let mut client = TcpStream::connect(proxy.addr()).await?;
    ask(&mut client, b"hello").await?;
    assert_eq!(proxy.traffic(), Traffic { up: 5, down: 5 });
    ask(&mut TcpStream::connect(proxy.addr()).await?, b"and others").await?;
    assert_eq!(proxy.traffic(), Traffic { up: 15, down: 15 });
    Ok(())
}

async fn echo_and_proxy() -> anyhow::Result<(Echo, FaultProxy)> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let addr = listener.local_addr()?;
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        let mut connections = JoinSet::new();
        while let Ok((mut stream, _)) = listener.accept().await {
            connections.spawn(async move {
                let (mut read, mut write) = stream.split();
                tokio::io::copy(&mut read, &mut write).await.ok();
            });
        }
    });
    let proxy = FaultProxy::start(addr).await?;
    Ok((Echo { _tasks: tasks }, proxy))
}

async fn ask(client: &mut TcpStream, question: &[u8]) -> io::Result<Vec<u8>> {
    let (mut read, mut write) = client.split();
    let mut answer = vec![0; question.len()];
    tokio::try_join!(write.write_all(question), read.read_exact(&mut answer))?;
    Ok(answer)
}
