//! The configuration of the quickstart, as the page prints it.

use std::{fs, path::Path};

use serde_json::Value;
use spindrift_testkit::{Daemon, binary, eventually, free_port, scratch};

use crate::support::LONG;

#[tokio::test(flavor = "multi_thread")]
async fn the_daemons_start_with_the_files_of_the_quickstart() {
    let directory = scratch("quickstart").unwrap();
    let (rest, grpc, agent) = (free_port(), free_port(), free_port());
    let kubeconfig = directory.path().join("playground.yml");
    let clusters =
        ["playground", "--clusters=1", "--port=0", "--kubeconfig-out", kubeconfig.to_str().unwrap()];
    let _playground = Daemon::spawn(binary("spindrift").unwrap(), &clusters, &[]).unwrap();
    eventually!("the playground has written its kubeconfig", kubeconfig.is_file());

    let page = include_str!("../../docs/quickstart.md");
    // Only the ports and paths are ours, since tests run side by side.
    let hub_file = block(page, "spindrift-hub.yml")
        .replace("host: 127.0.0.1", &format!("host: 127.0.0.1\n  port: {rest}"))
        .replace("address: 127.0.0.1", &format!("address: 127.0.0.1\n      port: {grpc}"))
        .replace("spindrift-hub.db", directory.path().join("spindrift-hub.db").to_str().unwrap());
    let agent_file = block(page, "armory-agent.yml")
        .replace("localhost:9091", &format!("localhost:{grpc}"))
        .replace("playground.yml", kubeconfig.to_str().unwrap());
    let agent_file = format!("{agent_file}server:\n  host: 127.0.0.1\n  port: {agent}\n");
    let _hub = start("spindrift-hub", directory.path(), &hub_file);
    let _agent = start("spindrift-agent", directory.path(), &agent_file);

    let accounts = eventually!("the account is cached", LONG, {
        accounts(rest).await.ok().filter(|accounts| accounts[0]["objects"].as_u64() > Some(0))
    });
    assert_eq!(accounts[0]["name"], "eu-west");
    let page = reqwest::Client::new().get(format!("http://127.0.0.1:{rest}/")).header("accept", "text/html");
    let page = page.send().await.unwrap().error_for_status().unwrap().text().await.unwrap();
    assert!(page.contains("<h1>Spindrift hub</h1>"), "{page}");
}

async fn accounts(rest: u16) -> reqwest::Result<Value> {
    reqwest::get(format!("http://127.0.0.1:{rest}/v1/accounts")).await?.json().await
}

/// The YAML block after the text that names its file.
fn block<'a>(page: &'a str, file: &str) -> &'a str {
    let named = page.split_once(&format!("In `{file}`:")).unwrap().1;
    named.split_once("```yaml\n").unwrap().1.split_once("```").unwrap().0
}

fn start(program: &str, directory: &Path, settings: &str) -> Daemon {
    let file = directory.join(format!("{program}.yml"));
    fs::write(&file, settings).unwrap();
    Daemon::spawn(binary(program).unwrap(), &["--config", file.to_str().unwrap()], &[]).unwrap()
}
