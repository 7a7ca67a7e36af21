//! Ctrl-C cancels the operation.

use spindrift_testkit::eventually;

use super::scripted::{Scripted, respond};
use crate::support::{LONG, Shell};

#[tokio::test(flavor = "multi_thread")]
async fn ctrl_c_cancels_the_operation_and_prints_where_to_look() {
    for (words, is_quiet) in [
        (["delete", "pod", "web"], false),
        (["rollout", "status", "deploy/web"], true),
        (["logs", "-f", "web"], true),
    ] {
        let hub = Scripted::start(|asked| {
            asked.line.starts_with("DELETE").then(|| respond(202, &serde_json::json!({})))
        });
        let shell = Shell::new(None).with("SPINDRIFT_HUB", &hub.url);
        let started = shell.start(&[&words[..], &["-a", "east"]].concat());
        eventually!("it is asked for", LONG, !hub.asked().is_empty());
        let output = tokio::task::spawn_blocking(|| started.interrupt()).await.unwrap();
        assert_eq!((output.code, output.out.as_str()), (Some(130), ""), "{output:?}");

        let asked = hub.asked();
        let [post, delete] = &asked[..] else { panic!("{asked:?}") };
        let id = &post.line.split("id=").nth(1).unwrap()[..26];
        assert_eq!(delete.line, format!("DELETE /v1/operations/{id}"));
        let note = format!("east: cancelled; for the outcome, see: spindrift operations {id}\n");
        assert_eq!(output.err, if is_quiet { "" } else { &note });
    }
}
