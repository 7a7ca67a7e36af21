//! Clusters of `up`: simulated ones by default, the user's own only on request.

use std::{io, net::Ipv4Addr, path::PathBuf};

use anyhow::{Context, bail};
use spindrift_agent::config::AccountConfig;
use spindrift_playground::fleet::{self, FleetError, FleetOptions};
use spindrift_process::shutdown::Shutdown;

use super::{Up, data_dir::DataDir};
use crate::commands::contexts::Contexts;

/// Default number of simulated clusters.
const SIMULATED: u16 = 3;
/// Maximum number of simulated clusters: each needs memory, and two cores drive them all.
const MOST_SIMULATED: u16 = 1000;

/// Requested clusters.
#[derive(Debug)]
pub(super) struct ClusterSelection {
    simulated: u16,
    accounts: Vec<AccountConfig>,
    /// Contexts of the user's kubeconfig that were not requested.
    untouched: Option<Contexts>,
}

/// Running clusters.
#[derive(Debug)]
pub(super) struct Clusters {
    pub(super) accounts: Vec<AccountConfig>,
    pub(super) simulated: Option<Simulated>,
    pub(super) untouched: Option<Contexts>,
}

/// Simulated clusters.
#[derive(Debug)]
pub(super) struct Simulated {
    pub(super) count: usize,
    pub(super) url: String,
    pub(super) kubeconfig: PathBuf,
    pub(super) first: String,
}

// === impl ClusterSelection ===

impl ClusterSelection {
    /// Reads the flags and the kubeconfig; starts and writes nothing.
    pub(super) fn of(up: &Up) -> anyhow::Result<Self> {
        let named = up.kubeconfig.is_some() || !up.context.is_empty();
        let simulated = up.playground.unwrap_or(if named { 0 } else { SIMULATED });
        if simulated > MOST_SIMULATED {
            bail!("--playground: expected at most {MOST_SIMULATED} clusters, found {simulated}");
        }
        if !named {
            if simulated == 0 {
                bail!("--playground 0: no clusters to watch; select some with --context or --kubeconfig");
            }
            // A kubeconfig that was not requested may be invalid.
            let untouched = Contexts::find(None).ok().flatten().filter(|found| !found.names.is_empty());
            return Ok(Self { simulated, accounts: vec![], untouched });
        }
        let Some(contexts) = Contexts::find(up.kubeconfig.as_deref())? else {
            bail!(
                "--context: no kubeconfig found; specify one: spindrift up --kubeconfig FILE --context a,b"
            );
        };
        let file = std::path::absolute(&contexts.file)?.display().to_string();
        let chosen = contexts.choose(&up.context)?;
        let accounts = chosen.into_iter().map(|context| account(context, &file)).collect();
        Ok(Self { simulated, accounts, untouched: None })
    }

    pub(super) fn count(&self) -> usize {
        usize::from(self.simulated) + self.accounts.len()
    }

    /// Starts the simulated clusters, if any.
    pub(super) async fn start(
        self,
        data_dir: &DataDir,
        port: u16,
        shutdown: &Shutdown,
    ) -> anyhow::Result<Clusters> {
        let Self { simulated, mut accounts, untouched } = self;
        if simulated == 0 {
            return Ok(Clusters { accounts, simulated: None, untouched });
        }
        let options = FleetOptions {
            listen: (Ipv4Addr::LOCALHOST, port).into(),
            // The same clusters at each start, so that they match the database of the last run.
            identity: Some(1),
            ..FleetOptions::shops(simulated.into())
        };
        let fleet = fleet::start(options, shutdown).await.map_err(other_port)?;
        let names: Vec<String> = fleet.names().map(str::to_owned).collect();
        let kubeconfig = data_dir.playground_kubeconfig();
        std::fs::write(&kubeconfig, fleet.kubeconfig())
            .with_context(|| format!("--data-dir: write {}", kubeconfig.display()))?;
        if let Some(taken) = names.iter().find(|name| accounts.iter().any(|known| known.name == **name)) {
            bail!("--context: a simulated cluster has the same name {taken}; run them separately");
        }
        let file = kubeconfig.display().to_string();
        accounts.extend(names.iter().map(|name| account(name.clone(), &file)));
        let simulated = Simulated {
            count: names.len(),
            url: format!("http://{}", fleet.address()),
            kubeconfig,
            first: names.first().cloned().unwrap_or_default(),
        };
        Ok(Clusters { accounts, simulated: Some(simulated), untouched })
    }
}

// === impl Clusters ===

impl Clusters {
    pub(super) fn names(&self) -> Vec<String> {
        self.accounts.iter().map(|account| account.name.clone()).collect()
    }
}

fn account(context: String, kubeconfig: &str) -> AccountConfig {
    AccountConfig {
        name: context.clone(),
        kubeconfig_file: Some(kubeconfig.into()),
        context: Some(context),
        ..AccountConfig::default()
    }
}

fn other_port(error: FleetError) -> anyhow::Error {
    match &error {
        FleetError::Listen { address, source } if source.kind() == io::ErrorKind::AddrInUse => {
            super::taken("playground", address.port(), "--playground-port")
        }
        _ => error.into(),
    }
}
