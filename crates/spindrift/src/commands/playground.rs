//! `spindrift playground`: simulated clusters in a process of their own, as a load source and a fault injector.

use std::{
    fs,
    io::Write,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    path::PathBuf,
    time::Duration,
};

use anyhow::Context as _;
use clap::Args;
use spindrift_playground::{
    Load, Script, Tempo,
    fleet::{self, Content, FleetOptions, Pods},
};
use spindrift_process::{
    config::Env,
    logging::{self, LoggingConfig},
    shutdown::Shutdown,
};

use super::Context;

/// Runs simulated clusters: little shops that live, or as many pods as you like.
///
/// Without --pods there is a shop in each cluster. With it, pods are made up whenever a client asks for them, so that
/// they take next to no memory here.
#[derive(Debug, Args)]
#[command(after_long_help = Script::HELP)]
pub(crate) struct Playground {
    /// How many clusters.
    #[arg(long, default_value_t = 3)]
    clusters: usize,
    /// Makes up so many pods in each cluster, in place of the shop.
    #[arg(long)]
    pods: Option<u32>,
    /// How large such a pod is, as JSON.
    #[arg(long, default_value_t = 12_288, requires = "pods")]
    pod_bytes: usize,
    /// In how many namespaces such pods are.
    #[arg(long, default_value_t = 4, requires = "pods")]
    namespaces: u32,
    /// How often such pods change, in all clusters together.
    #[arg(long, default_value_t = 0.0, requires = "pods")]
    changes_per_second: f64,
    /// The share of these changes that delete a pod or create one.
    #[arg(long, default_value_t = 0.1, requires = "pods")]
    churn: f64,
    /// How many times as fast as usual the shops live; 0 stops them.
    #[arg(long, default_value_t = 1.0, conflicts_with = "pods")]
    pace: f64,
    /// The address to listen on.
    #[arg(long, default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    host: IpAddr,
    /// The port to listen on; 0 takes a free one.
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// Writes a kubeconfig with a context for each cluster.
    #[arg(long, value_name = "FILE")]
    kubeconfig_out: Option<PathBuf>,
    /// Decides what is in the clusters and what happens in them.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Plays a script of faults; see below (--help).
    #[arg(long, value_name = "FILE")]
    faults: Option<PathBuf>,
    /// What to log: error, warn, info or debug.
    #[arg(long, default_value = "warn")]
    log_level: String,
}

/// Watches of a thousand clients take a moment to end.
const GRACE: Duration = Duration::from_secs(10);

// === impl Playground ===

impl Playground {
    pub(crate) async fn run(self, context: &Context) -> anyhow::Result<()> {
        let logging = LoggingConfig { level: self.log_level.clone(), ..LoggingConfig::default() };
        logging::init(&logging, &Env::capture(), &[])?;
        let shutdown = Shutdown::new();
        shutdown.on_signals()?;
        let fleet = fleet::start(self.options()?, &shutdown)
            .await
            .context("start the playground (--port chooses another port; 0 takes a free one)")?;
        let mut out = std::io::stdout().lock();
        let first = fleet.clusters.first().map_or("", |cluster| cluster.name());
        writeln!(
            out,
            "{} clusters answer at http://{}/clusters/{first} and so on",
            self.clusters,
            fleet.address()
        )?;
        if let Some(file) = &self.kubeconfig_out {
            fs::write(file, fleet.kubeconfig())
                .with_context(|| format!("--kubeconfig-out: write {}", file.display()))?;
            writeln!(out, "kubectl --kubeconfig {} --context {first} get pods -A", file.display())?;
        }
        out.flush()?;
        drop(out);
        context.note("Ctrl-C stops it.");
        shutdown.wait(GRACE).await?;
        Ok(())
    }

    fn options(&self) -> anyhow::Result<FleetOptions> {
        let load = Load { changes_per_second: self.changes_per_second, churn: self.churn.clamp(0.0, 1.0) };
        let content = match self.pods {
            Some(pods) => {
                Content::Pods(Pods { pods, pod_bytes: self.pod_bytes, namespaces: self.namespaces, load })
            }
            None => Content::Shop { tempo: Tempo::REAL, pace: self.pace },
        };
        let faults = match &self.faults {
            Some(file) => {
                let text =
                    fs::read_to_string(file).with_context(|| format!("--faults: read {}", file.display()))?;
                Some(Script::parse(&text).with_context(|| format!("--faults: {}", file.display()))?)
            }
            None => None,
        };
        Ok(FleetOptions {
            listen: SocketAddr::new(self.host, self.port),
            clusters: self.clusters,
            content,
            seed: self.seed,
            // The same seed is the same fleet, also after a restart.
            identity: Some(self.seed),
            faults,
        })
    }
}
