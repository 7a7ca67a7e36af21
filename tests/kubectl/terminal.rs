//! Tables on a terminal: colors, and the columns that fit.

use std::process::Command;

use spindrift_testkit::binary;

use crate::fleet::Fleet;

/// Runs spindrift on a terminal of this width; returns all that appears on it.
async fn on_terminal(fleet: &Fleet, columns: u16, env: &[(&str, &str)], args: &str) -> String {
    let program = binary("spindrift").unwrap();
    let line = format!("stty cols {columns} rows 24; {} {args}", program.display());
    let mut command = Command::new("script");
    command.args(["-qec", &line, "/dev/null"]).stdin(std::process::Stdio::null());
    command.env("SPINDRIFT_HUB", fleet.hub.url()).env("SPINDRIFT_CONFIG", "/nonexistent/config.yml");
    command.env_remove("NO_COLOR").env("TERM", "xterm").envs(env.iter().copied());
    let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
    String::from_utf8(output.stdout).unwrap().replace("\r\n", "\n")
}

const RED: &str = "\u{1b}[31m";

#[tokio::test(flavor = "multi_thread")]
async fn at_80_columns_ready_is_shown_and_omitted_columns_are_named() {
    let fleet = Fleet::shared().await;
    let plain = [("NO_COLOR", "1")];
    let narrow = on_terminal(fleet, 80, &plain, "get pods -A").await;
    let header = narrow.lines().next().unwrap_or_default();
    for column in ["ACCOUNT", "NAMESPACE", "NAME", "READY", "STATUS"] {
        assert!(header.contains(column), "{narrow}");
    }
    let table = narrow.lines().filter(|line| !line.starts_with('('));
    assert!(table.clone().all(|line| line.chars().count() <= 80), "{narrow}");
    let note = narrow.lines().last().unwrap_or_default();
    assert!(
        !header.contains("RESTARTS") && note.contains("RESTARTS") && note.contains("-o wide"),
        "{narrow}"
    );

    let wide = on_terminal(fleet, 200, &plain, "get pods -A").await;
    assert!(
        wide.starts_with("ACCOUNT") && wide.contains("RESTARTS") && !wide.contains("not shown"),
        "{wide}"
    );
    let services = on_terminal(fleet, 80, &plain, "get svc -A").await;
    assert!(services.lines().next().is_some_and(|header| header.contains("PORT(S)")), "{services}");
    let quiet = on_terminal(fleet, 80, &plain, "get pods -A --quiet").await;
    assert!(!quiet.contains("not shown"), "{quiet}");
}

#[tokio::test(flavor = "multi_thread")]
async fn broken_states_are_red_on_a_terminal_only() {
    let fleet = Fleet::shared().await;
    let args = "get pods -n shop -a east";
    let colored = on_terminal(fleet, 200, &[], args).await;
    assert!(colored.contains(&format!("{RED}CrashLoopBackOff")), "{colored:?}");
    assert!(colored.contains(&format!("{RED}0/1")), "{colored:?}");
    for plain in [
        on_terminal(fleet, 200, &[("NO_COLOR", "1")], args).await,
        on_terminal(fleet, 200, &[], &format!("{args} --no-color")).await,
        fleet.spindrift(&["get", "pods", "-n", "shop", "-a", "east"]).await.stdout,
    ] {
        assert!(plain.contains("CrashLoopBackOff") && !plain.contains('\u{1b}'), "{plain:?}");
    }
}
