//! Throughput of an Events channel over a link with 50 ms of delay, by the window sizes of HTTP/2.
//!
//! `cargo run --release -p spindrift-testkit --example windows`; docs/benchmarks.md has the result.

use std::{future::pending, time::Duration};

use anyhow::Context;
use futures::{StreamExt, stream, stream::BoxStream};
use spindrift_protocol::{
    CHUNK_BYTES,
    v1::{self, hub_client::HubClient, hub_server},
};
use spindrift_testkit::FaultProxy;
use tokio::{net::TcpListener, task::JoinSet, time::Instant};
use tokio_stream::wrappers::TcpListenerStream;
use tonic::{Request, Response, Status, Streaming, transport::Server};

/// Time of a message and its answer on the link.
const ROUND_TRIP: Duration = Duration::from_millis(50);

/// Chunks that are sent for each size: 16 MiB.
const CHUNKS: usize = 64;

/// Reads all chunks, and answers at the end.
struct Reader;

type Down<T> = BoxStream<'static, Result<T, Status>>;

#[tonic::async_trait]
impl hub_server::Hub for Reader {
    type ControlStream = Down<v1::ControlDown>;
    type EventsStream = Down<v1::EventsDown>;
    type ResultsStream = Down<v1::ResultsDown>;

    async fn register(
        &self,
        _: Request<v1::RegisterRequest>,
    ) -> Result<Response<v1::RegisterResponse>, Status> {
        Err(Status::unimplemented("only events"))
    }

    async fn control(
        &self,
        _: Request<Streaming<v1::ControlUp>>,
    ) -> Result<Response<Self::ControlStream>, Status> {
        Err(Status::unimplemented("only events"))
    }

    async fn events(
        &self,
        request: Request<Streaming<v1::EventsUp>>,
    ) -> Result<Response<Self::EventsStream>, Status> {
        let read = async move {
            let mut chunks = request.into_inner();
            for _ in 0..CHUNKS {
                chunks.message().await?;
            }
            Ok(v1::EventsDown::default())
        };
        Ok(Response::new(stream::once(read).boxed()))
    }

    async fn results(
        &self,
        _: Request<Streaming<v1::ResultsUp>>,
    ) -> Result<Response<Self::ResultsStream>, Status> {
        Err(Status::unimplemented("only events"))
    }
}

/// Sends all chunks through a slow link; returns mebibytes a second.
async fn measure(stream_window: u32, connection_window: u32) -> anyhow::Result<f64> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let mut server = Server::builder()
        .initial_stream_window_size(stream_window)
        .initial_connection_window_size(connection_window);
    let router = server.add_service(hub_server::HubServer::new(Reader));
    let mut tasks = JoinSet::new();
    tasks.spawn(async move { router.serve_with_incoming(TcpListenerStream::new(listener)).await });
    let proxy = FaultProxy::start(address).await?;
    proxy.delay(ROUND_TRIP / 2);
    let mut client = HubClient::connect(format!("http://{}", proxy.addr())).await?;
    let chunk = v1::EventsUp { chunk: vec![7; CHUNK_BYTES].into(), ..v1::EventsUp::default() };
    let chunks = stream::repeat(chunk).take(CHUNKS).chain(stream::once(pending()));
    let mut answers = client.events(chunks).await?.into_inner();
    let begun = Instant::now();
    answers.message().await?.context("the reader answers")?;
    let mebibytes = f64::from(u32::try_from((CHUNKS * CHUNK_BYTES) >> 20)?);
    Ok(mebibytes / begun.elapsed().as_secs_f64())
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    for (stream_kib, connection_kib) in
        [(64, 64), (256, 512), (512, 1024), (1024, 1024), (1024, 2048), (2048, 4096), (4096, 8192)]
    {
        let rate = measure(stream_kib << 10, connection_kib << 10).await?;
        println!("stream {stream_kib:>5} KiB, connection {connection_kib:>5} KiB: {rate:>6.1} MiB/s");
    }
    Ok(())
}
