//! `spindrift playground`: simulated clusters as a load source and fault injector.

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
    Load, Script, Timing,
    fleet::{self, Content, FleetOptions, Pods},
};
use spindrift_process::{
    config::Env,
    logging::{self, LoggingConfig},
    shutdown::Shutdown,
};

use super::Context;

const EXAMPLES: &str = "Examples:
  # Run three simulated clusters and write a kubeconfig for them
  spindrift playground --kubeconfig-out playground.yml

  # Run 100 clusters with 1,000 pods each, and change 50 pods per second
  spindrift playground --clusters 100 --pods 1000 --changes-per-second 50

  # Inject faults
  spindrift playground --faults faults.yml";

/// Run simulated Kubernetes clusters.
///
/// Each cluster has an API server and a small set of workloads that change by themselves. With --pods, each cluster has
/// that many generated pods instead; they are generated for each request and take next to no memory.
#[derive(Debug, Args)]
#[command(
    before_help = EXAMPLES,
    after_long_help = Script::HELP,
    override_usage = "spindrift playground [--clusters N] [--pods N] [options]"
)]
pub(crate) struct Playground {
    /// Number of clusters.
    #[arg(long, default_value_t = 3)]
    clusters: usize,
    /// Number of generated pods in each cluster, instead of the default workloads.
    #[arg(long)]
    pods: Option<u32>,
    /// Size of a generated pod in JSON, in bytes.
    #[arg(long, default_value_t = 12_288, requires = "pods")]
    pod_bytes: usize,
    /// Number of namespaces of the generated pods.
    #[arg(long, default_value_t = 4, requires = "pods")]
    namespaces: u32,
    /// Changes of generated pods per second, in all clusters together.
    #[arg(long, default_value_t = 0.0, requires = "pods")]
    changes_per_second: f64,
    /// Share of these changes that delete or create a pod, from 0 to 1.
    #[arg(long, default_value_t = 0.1, requires = "pods")]
    churn: f64,
    /// Speed of the changes of the default workloads; 2 is twice as fast, 0 stops them.
    #[arg(long, default_value_t = 1.0, conflicts_with = "pods")]
    pace: f64,
    /// Address to listen on.
    #[arg(long, default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    host: IpAddr,
    /// Port to listen on. Pass 0 for a free port.
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// Write a kubeconfig with one context for each cluster to this file.
    #[arg(long, value_name = "FILE")]
    kubeconfig_out: Option<PathBuf>,
    /// Seed of the generated objects and their changes.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// A file with a script of faults. The format is described below (with --help).
    #[arg(long, value_name = "FILE")]
    faults: Option<PathBuf>,
    /// Log level. One of: (error, warn, info, debug).
    #[arg(long, default_value = "warn")]
    log_level: String,
}

/// Time for the watches of a thousand clients to end.
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
            None => Content::Shop { timing: Timing::REAL, pace: self.pace },
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
            // The same seed gives the same clusters, also after a restart.
            identity: Some(self.seed),
            faults,
        })
    }
}
