//! Completion, in a real bash.

use spindrift_testkit::{Cluster, Database, eventually};

use crate::support::{LONG, Shell, Stack};

/// Completions that bash offers behind these words.
fn offered(shell: &Shell, line: &[&str]) -> Vec<String> {
    let words: Vec<_> = line.iter().map(|word| format!("'{word}'")).collect();
    let (last, before) = (line.last().unwrap(), line[line.len() - 2]);
    let output = shell.bash(&format!(
        r#"set -e; mkdir -p bin; ln -sf "$SPINDRIFT" bin/spindrift; PATH=$PWD/bin:$PATH
           source <(spindrift completion bash)
           complete -p spindrift >/dev/null
           COMP_WORDS=({}); COMP_CWORD={}; COMP_TYPE=9
           _clap_complete_spindrift spindrift '{last}' '{before}' 2>&1
           printf '%s\n' "${{COMPREPLY[@]}}""#,
        words.join(" "),
        line.len() - 1,
    ));
    output.ok().lines().map(str::to_owned).filter(|line| !line.is_empty()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn accounts_namespaces_and_kinds_come_from_the_hub() {
    let cluster = Cluster::shared().await.unwrap();
    let namespace = &cluster.namespace("completion").await.unwrap();
    let stack =
        Stack::start(cluster, Database::sqlite().unwrap(), &["ConfigMap", "Namespace", "Deployment"]).await;
    let shell = Shell::new(None);
    let url = &stack.hub.url();
    shell.spindrift(&["config", "set-hub", "mine", url]);

    cluster.kubectl(&["create", "cm", "tea", "-n", namespace]).await.unwrap();
    for (line, expected) in [
        (&["watches", "-a", "ma"][..], &["main"][..]),
        (&["watches", "--account", "main,"], &["main,main"]),
        (&["live", "-n", "completion-"], &[namespace]),
        (&["live", "-k", "dep"], &["deploy", "deployments"]),
        (&["live", "-k", "cm,na"], &["cm,namespaces"]),
        (&["get", "-n", namespace, "cm", "t"], &["tea"]),
        (&["get", "-a", "main", "ns", "completion-"], &[namespace]),
        (&["delete", "-n", namespace, "cm", "t"], &["tea"]),
        (&["patch", "-n", namespace, "cm/t"], &["cm/tea"]),
        (&["rollout", "restart", "dep"], &["deploy", "deployments"]),
    ] {
        // Completion has a short timeout for a busy hub, and new objects must have reached the hub.
        eventually!(format!("{line:?} is completed"), LONG, {
            let found = offered(&shell, &[&["spindrift"], line].concat());
            if found == expected { Ok(()) } else { Err(found) }
        });
    }
    assert!(offered(&shell, &["spindrift", "get", "-a", "other", "-A", "cm", "t"]).is_empty());
    assert_eq!(offered(&shell, &["spindrift", "config", "use", "m"]), ["mine"]);
    assert_eq!(offered(&shell, &["spindrift", "acc"]), ["accounts"]);
}

#[test]
fn completion_is_empty_and_silent_while_the_hub_is_away() {
    let shell = Shell::new(None).with("SPINDRIFT_HUB", "http://127.0.0.1:1");
    assert!(offered(&shell, &["spindrift", "watches", "-a", "m"]).is_empty());
}

#[test]
fn every_shell_has_a_script() {
    let shell = Shell::new(None);
    for (name, word) in [("bash", "complete "), ("zsh", "#compdef"), ("fish", "complete ")] {
        let script = shell.spindrift(&["completion", name]).ok();
        assert!(script.contains(word) && script.contains("SPINDRIFT_COMPLETE"), "{name}: {script}");
    }
    assert_eq!(shell.spindrift(&["completion", "tcsh"]).code, Some(2));
}
