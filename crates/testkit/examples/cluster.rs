//! A real cluster to play with: `cargo run -p spindrift-testkit --example cluster`, then `spindrift up --kubeconfig …`.
//!
//! Pods run (kwok pretends to be their node). Everything is gone when it ends.

use spindrift_testkit::Cluster;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let cluster = Cluster::start().await?;
    println!("{}", cluster.kubeconfig().display());
    tokio::signal::ctrl_c().await?;
    Ok(())
}
