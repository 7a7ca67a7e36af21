//! `make fuzz`: fuzzes all parsers of foreign input, for as long as configured.

use std::{path::PathBuf, process::ExitCode, time::Duration};

use anyhow::Context;
use clap::Parser;
use spindrift_fuzz::{TARGETS, Target, fuzz};

/// Fuzzes the parsers of foreign input.
#[derive(Parser)]
struct Options {
    /// Targets to fuzz; all if none is named.
    #[arg(value_parser = TARGETS.map(|target| target.name))]
    targets: Vec<String>,
    /// Seconds for each target.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// The same seed tries the same inputs.
    #[arg(long)]
    seed: Option<u64>,
    /// Reads one input, as an earlier run has kept it, and does nothing else.
    #[arg(long)]
    input: Option<PathBuf>,
}

fn main() -> anyhow::Result<ExitCode> {
    let Options { targets, seconds, seed, input } = Options::parse();
    let seed = seed.unwrap_or_else(|| fastrand::u64(..));
    let chosen = |target: &&Target| targets.is_empty() || targets.iter().any(|name| name == target.name);
    let mut result = ExitCode::SUCCESS;
    for target in TARGETS.iter().filter(chosen) {
        if let Some(input) = &input {
            let input = std::fs::read(input).with_context(|| format!("read {}", input.display()))?;
            println!("{}: behaviour {:x}", target.name, (target.run)(&input));
            continue;
        }
        let outcome = fuzz(target, seed, Duration::from_secs(seconds));
        let Target { name, .. } = target;
        println!("{name}: {} inputs, {} behaviours, seed {seed}", outcome.executions, outcome.behaviours);
        if let Some(culprit) = outcome.culprit {
            let file = format!("fuzz-{name}-{seed}");
            std::fs::write(&file, culprit).with_context(|| format!("write {file}"))?;
            println!("{name}: a promise is broken; again: spindrift-fuzz {name} --input {file}");
            result = ExitCode::FAILURE;
        }
    }
    Ok(result)
}
