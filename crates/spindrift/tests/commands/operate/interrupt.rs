//! Ctrl-C calls off what was asked for.

use spindrift_testkit::eventually;

use super::scripted::{Scripted, respond};
use crate::support::{LONG, Shell};

#[tokio::test(flavor = "multi_thread")]
async fn ctrl_c_calls_off_what_is_under_way_and_says_where_to_look() {
    for (words, is_quiet) in [
        ("delete pod/web -a east", false),
        ("rollout status deploy/web -a east", true),
        ("logs -f web -a east", true),
    ] {
        let hub = Scripted::start(|asked| {
            asked.line.starts_with("DELETE").then(|| respond(202, &serde_json::json!({})))
        });
        let shell = Shell::new(None).with("SPINDRIFT_HUB", &hub.url);
        let script = format!(r#"set -m; "$SPINDRIFT" {words} & echo $! >pid; wait $!; echo $?"#);
        let home = shell.home.path().to_owned();
        let said = tokio::task::spawn_blocking(move || shell.bash(&script));
        eventually!("it is asked for", LONG, !hub.asked().is_empty());
        let pid = eventually!("its id is known", LONG, {
            let pid = std::fs::read_to_string(home.join("pid")).unwrap_or_default();
            if pid.ends_with('\n') { Ok(pid) } else { Err(pid) }
        });
        let killed = std::process::Command::new("kill").args(["-INT", pid.trim()]).status().unwrap();
        assert!(killed.success());
        let said = said.await.unwrap();
        assert_eq!(said.out, "130\n", "{said:?}");

        let asked = hub.asked();
        let [post, delete] = &asked[..] else { panic!("{asked:?}") };
        let id = &post.line.split("id=").nth(1).unwrap()[..26];
        assert_eq!(delete.line, format!("DELETE /v1/operations/{id}"));
        let note = format!("east: called off; what came of it, see: spindrift operations {id}\n");
        assert_eq!(said.err, if is_quiet { "" } else { &note });
    }
}
