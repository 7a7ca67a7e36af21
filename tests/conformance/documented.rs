//! `docs/spinnaker.md`: its address is that of a hub, and its commands work as described.

use serde_json::Value;
use spindrift_testkit::eventually;
use spindrift_tests::spinnaker::{Answer, Orca, Pace, StageSpec, Status, recorded};

use crate::{TURN, world::World};

const PAGE: &str = include_str!("../../docs/spinnaker.md");

/// Address of the hub there, with the default port.
const HUB: &str = "http://spindrift-hub:7002";

#[tokio::test(flavor = "multi_thread")]
async fn the_commands_of_the_page_work() {
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
        // The operation before it may not have finished yet.
        eventually!(command, {
            let answer = curl(&command).await;
            if answer.status == 200 { Ok(()) } else { Err(answer) }
        });
    }
    let trial = ["get", "deployment", "trial", "-n", "default"];
    eventually!("the page's deployment is there", world.cluster.kubectl(&trial).await);
    eventually!("and the application that it made", {
        let answer = curl(&format!("curl {}/applications", world.hub.url())).await;
        let names = answer.body.as_array().into_iter().flatten().map(|it| it["name"].clone());
        names.collect::<Vec<_>>().contains(&"trial".into())
    });
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

/// As much of curl as the page uses: not every machine has it.
async fn curl(command: &str) -> Answer {
    let mut words = words(command).into_iter();
    assert_eq!(words.next().as_deref(), Some("curl"));
    let (mut headers, mut body, mut url) = (Vec::new(), None, None);
    while let Some(word) = words.next() {
        match word.as_str() {
            "-fsS" => {}
            "-H" => headers.push(words.next().unwrap()),
            "-d" => body = words.next(),
            _ => url = Some(word),
        }
    }
    let http = reqwest::Client::new();
    let mut request = match body {
        Some(body) => http.post(url.unwrap()).body(body),
        None => http.get(url.unwrap()),
    };
    for (name, value) in headers.iter().filter_map(|header| header.split_once(": ")) {
        request = request.header(name, value);
    }
    Answer::of(request.send().await.unwrap()).await.unwrap()
}

/// The words of a command line, where single quotes hold together.
fn words(command: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    for (index, part) in command.split('\'').enumerate() {
        let is_quoted = index % 2 == 1;
        for (number, piece) in part.split(' ').enumerate() {
            match (is_quoted, number) {
                (false, 1..) => words.push(piece.to_owned()),
                (true, 1..) => words.last_mut().unwrap().extend([" ", piece]),
                (_, 0) => words.last_mut().unwrap().push_str(piece),
            }
        }
    }
    words.retain(|word| !word.is_empty());
    words
}
