//! Daemons: their logs, their signals, their end.

use std::os::unix::process::ExitStatusExt;
use std::path::Path;

use spindrift_testkit::{Daemon, PATIENCE, binary, eventually};

const SH: &str = "/bin/sh";

#[tokio::test]
async fn log_holds_both_streams_and_the_environment_arrives() -> anyhow::Result<()> {
    let daemon = Daemon::spawn(SH, &["-c", "echo out $X; echo err >&2"], &[("X", "of-env")])?;
    daemon.exit(PATIENCE).await?;
    assert_eq!(daemon.log(), "out of-env\nerr\n");
    Ok(())
}

#[tokio::test]
async fn wait_for_log_sees_the_text_or_the_early_end() -> anyhow::Result<()> {
    let daemon = Daemon::spawn(SH, &["-c", "echo ready; exec sleep 100"], &[])?;
    daemon.wait_for_log("ready").await?;
    let failed = Daemon::spawn(SH, &["-c", "echo no such luck; exit 3"], &[])?;
    let error = failed.wait_for_log("ready").await.expect_err("it has ended").to_string();
    assert!(error.contains("exit status: 3") && error.contains("no such luck"), "{error}");
    Ok(())
}

#[tokio::test]
async fn terminate_lets_the_daemon_say_goodbye() -> anyhow::Result<()> {
    let script = "trap 'echo bye; exit 0' TERM; echo ready; while :; do sleep 0.05; done";
    let daemon = Daemon::spawn(SH, &["-c", script], &[])?;
    daemon.wait_for_log("ready").await?;
    daemon.terminate()?;
    assert!(daemon.exit(PATIENCE).await?.success());
    assert!(daemon.log().ends_with("bye\n"));
    Ok(())
}

#[tokio::test]
async fn killed_daemon_is_gone() -> anyhow::Result<()> {
    let daemon = Daemon::spawn("/bin/sleep", &["100"], &[])?;
    let process = format!("/proc/{}", daemon.pid());
    assert!(Path::new(&process).exists());
    daemon.kill();
    assert!(!Path::new(&process).exists());
    assert_eq!(daemon.exited().and_then(|status| status.signal()), Some(9));
    assert!(daemon.freeze().is_err(), "a dead process cannot be frozen");
    Ok(())
}

#[tokio::test]
async fn frozen_daemon_stands_still() -> anyhow::Result<()> {
    let daemon = Daemon::spawn(SH, &["-c", "while :; do echo tick; sleep 0.01; done"], &[])?;
    daemon.wait_for_log("tick").await?;
    daemon.freeze()?;
    let state = std::fs::read_to_string(format!("/proc/{}/status", daemon.pid()))?;
    assert!(state.contains("State:\tT (stopped)"), "{state}");
    let frozen_at = daemon.log().len();
    daemon.thaw()?;
    eventually!("it ticks again", daemon.log().len() > frozen_at);
    assert!(daemon.rss_bytes()? > 100_000);
    Ok(())
}

#[test]
fn missing_binary_error_names_the_build_command() {
    let error = binary("spindrift-nothing").expect_err("there is none").to_string();
    assert!(error.contains("cargo build --bins"), "{error}");
}
