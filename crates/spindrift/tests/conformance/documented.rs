//! `docs/spinnaker.md`: its address is the one that a hub has, and its commands do what it says.

use std::process::Stdio;

use serde_json::Value;
use spindrift_testkit::{
    eventually,
    spinnaker::{Orca, Pace, StageSpec, Status, recorded},
};
use tokio::process::Command;

use crate::{TURN, world::World};

const PAGE: &str = include_str!("../../../../docs/spinnaker.md");

/// What the hub is called there, with the port that it has unless somebody says otherwise.
const HUB: &str = "http://spindrift-hub:7002";

#[tokio::test(flavor = "multi_thread")]
async fn what_the_page_says_can_be_done() {
    let _turn = TURN.lock().await;
    let world = World::start().await;
    let base = blocks("yaml").into_iter().find(|block| block.starts_with("# orca-local.yml")).unwrap();
    let base: Value = serde_saphyr::from_str(base).unwrap();
    let url = base["clouddriver"]["baseUrl"].as_str().unwrap();
    assert_eq!(url, HUB);

    // Orca, with the page's settings.
    let stage = recorded::executions().into_iter().find(|it| it.name == "deploy").unwrap().stages.remove(0);
    let stage = StageSpec { kind: stage.r#type, context: stage.given };
    let orca = Orca::new(url.replace(HUB, &world.hub.url()), "orcashop", Pace::QUICK);
    let execution = orca.run([stage]).await;
    assert_eq!(execution.status, Status::Succeeded, "{:?}", execution.failure());

    for command in blocks("console").into_iter().flat_map(str::lines) {
        let command = command.strip_prefix("$ ").unwrap().replace(HUB, &world.hub.url());
        // What was asked for a moment ago may not be done yet.
        eventually!(command, {
            let run = Command::new("sh").args(["-c", &command]).stdin(Stdio::null()).output().await.unwrap();
            if run.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&run.stderr).into_owned()) }
        });
    }
    let trial = ["get", "configmap", "trial-v000", "-n", "default"];
    eventually!("the page's deployment is there", world.cluster.kubectl(&trial).await);
}

#[test]
fn all_settings_of_the_page_can_be_read() {
    let blocks = blocks("yaml");
    assert_eq!(blocks.len(), 3);
    for block in blocks {
        let settings: Value = serde_saphyr::from_str(block).unwrap();
        assert!(settings.to_string().contains(HUB), "{settings}");
    }
}

/// The blocks of a language, without their fences.
fn blocks(language: &str) -> Vec<&'static str> {
    let fence = format!("```{language}\n");
    PAGE.split(&fence).skip(1).map(|rest| rest.split_once("```").unwrap().0.trim_end()).collect()
}
