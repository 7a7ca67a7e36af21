//! Every process that a test starts ends with the test process, even if that is killed.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use spindrift_testkit::{Cluster, Daemon, Database, PATIENCE, eventually, scratch};

/// Variable by which this test binary, started once more, becomes the process that is killed.
const VICTIM: &str = "SPINDRIFT_TEST_VICTIM";

#[tokio::test]
async fn orphans_are_killed_and_their_files_removed() -> anyhow::Result<()> {
    let directory = scratch("report")?;
    let report = directory.path().join("root");
    let victim = Daemon::spawn(
        std::env::current_exe()?,
        &["--exact", "victim_waits_for_its_end", "--nocapture"],
        &[(VICTIM, report.to_str().context("path")?)],
    )?;
    let root = eventually!("the victim has started everything", {
        assert!(victim.exited().is_none(), "the victim failed: {}", victim.log());
        fs::read_to_string(&report).map(PathBuf::from)
    });
    let processes = processes_of(&root)?;
    for name in ["etcd", "kube-apiserver", "postgres: checkpointer"] {
        assert!(processes.iter().any(|process| process.contains(name)), "{name} is not among {processes:?}");
    }
    victim.kill();
    eventually!("no orphan is left", {
        let orphans = processes_of(&root)?;
        anyhow::ensure!(orphans.is_empty(), "{orphans:?}");
        Ok(())
    });
    eventually!("the files are removed", !root.exists());
    Ok(())
}

#[tokio::test]
async fn victim_waits_for_its_end() -> anyhow::Result<()> {
    let Some(report) = std::env::var_os(VICTIM) else {
        return Ok(());
    };
    let _cluster = Cluster::builder().bare().start().await?;
    // Frozen, so that PostgreSQL's children cannot notice by themselves that their parent is gone.
    let database = Database::postgres_dedicated().await?;
    database.freeze()?;
    let directory = scratch("witness")?;
    let root = directory.path().parent().context("scratch directories have a common root")?;
    let unfinished = root.join("report");
    fs::write(&unfinished, root.to_str().context("path")?)?;
    fs::rename(unfinished, report)?;
    tokio::time::sleep(PATIENCE * 2).await;
    Ok(())
}

/// The command lines of processes that name a directory, or work in it.
fn processes_of(root: &Path) -> anyhow::Result<Vec<String>> {
    let root_text = root.to_str().context("path")?;
    let mut found = Vec::new();
    for process in fs::read_dir("/proc")?.flatten() {
        // Processes come and go.
        let Ok(command_line) = fs::read(process.path().join("cmdline")) else { continue };
        let command_line = String::from_utf8_lossy(&command_line).replace('\0', " ");
        let works_there = fs::read_link(process.path().join("cwd")).is_ok_and(|cwd| cwd.starts_with(root));
        if works_there || command_line.contains(root_text) {
            found.push(command_line);
        }
    }
    Ok(found)
}
