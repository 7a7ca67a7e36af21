//! Empty simulated clusters: `cargo run -p spindrift-playground --example empty -- 127.0.0.1:8001 a b`.

use std::time::Duration;

use spindrift_playground::{Cluster, Playground};
use spindrift_process::shutdown::Shutdown;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let address = arguments.next().unwrap_or_else(|| "127.0.0.1:0".into());
    let playground = Playground::bind(address.parse()?).await?;
    for name in arguments {
        playground.add(Cluster::new(name));
    }
    let shutdown = Shutdown::new();
    shutdown.on_signals()?;
    playground.start(&shutdown);
    print!("{}", playground.kubeconfig());
    shutdown.wait(Duration::from_secs(1)).await?;
    Ok(())
}
