//! Several accounts at once.

use serde_json::json;

use super::scripted::{Scripted, changed, refuse, respond};
use crate::support::Shell;

#[test]
fn each_line_names_its_account_and_the_last_one_the_number_of_failures() {
    let hub = Scripted::start(|asked| {
        let is_west = asked.line.contains("/west/");
        Some(if is_west {
            refuse(409, "Conflict", "somebody was quicker", Some("spindrift-agent"))
        } else {
            changed("scaled")
        })
    });
    let shell = Shell::new(None).with("SPINDRIFT_HUB", &hub.url);
    let said = shell.spindrift(&["scale", "deploy/web", "--replicas=3", "--all-accounts"]);
    assert_eq!(said.out, "east  deployment.apps/web scaled\n");
    let expected = "west: error: somebody was quicker\nerror: failed in 1 of 2 accounts\n";
    assert_eq!((said.code, said.err.as_str()), (Some(1), expected));

    // A pattern that matches one account: then the output is kubectl's.
    let said = shell.spindrift(&["scale", "deploy/web", "--replicas=3", "-a", "ea*"]);
    assert_eq!(said.ok(), "deployment.apps/web scaled\n");
}

#[test]
fn documents_of_several_accounts_are_one_list_in_order() {
    let hub = Scripted::start(|_| Some(changed("patched")));
    let shell = Shell::new(None).with("SPINDRIFT_HUB", &hub.url);
    let patch = ["patch", "deploy/web", "-p", "spec: {paused: true}"];
    let list = shell.spindrift(&[&patch[..], &["-a", "west,east", "-o", "json"]].concat()).json();
    let account = |item: usize| &list["items"][item]["metadata"]["annotations"]["spindrift.io/account"];
    assert_eq!((&list["kind"], account(0), account(1)), (&json!("List"), &json!("east"), &json!("west")));
    let one = shell.spindrift(&[&patch[..], &["-a", "west", "-o", "json"]].concat()).json();
    assert_eq!((&one["kind"], &one["metadata"]["annotations"]), (&json!("Deployment"), &json!(null)));
    let names = shell.spindrift(&[&patch[..], &["--all-accounts", "-o", "name"]].concat()).ok();
    assert_eq!(names, "deployment.apps/web\ndeployment.apps/web\n");
    let asked = hub.asked();
    assert!(
        asked.iter().all(|asked| asked.body["patch"] == json!({ "spec": { "paused": true } })),
        "{asked:?}"
    );
    let mut ids: Vec<_> =
        asked.iter().map(|asked| asked.line.split("id=").nth(1).unwrap()[..26].to_owned()).collect();
    ids.dedup();
    assert_eq!(ids.len(), asked.len(), "each is an operation of its own");
}

#[test]
fn usage_of_all_accounts_is_one_table() {
    let hub = Scripted::start(|asked| {
        let (name, cpu) = if asked.line.contains("/west/") { ("web-w", "3m") } else { ("web-e", "40m") };
        let usage = json!({ "cpu": cpu, "memory": "20Mi" });
        let pod = json!({ "metadata": { "name": name, "namespace": "shop" }, "containers": [{ "name": "c", "usage": usage }] });
        Some(respond(200, &json!({ "kind": "PodMetricsList", "items": [pod] })))
    });
    let shell = Shell::new(None).with("SPINDRIFT_HUB", &hub.url);
    let table = shell.spindrift(&["top", "pods", "-A", "--sort-by=cpu"]).table();
    let expected = [
        ["ACCOUNT", "NAMESPACE", "NAME", "CPU(cores)", "MEMORY(bytes)"],
        ["east", "shop", "web-e", "40m", "20Mi"],
        ["west", "shop", "web-w", "3m", "20Mi"],
    ];
    assert_eq!(table, expected);
    assert_eq!(hub.asked()[0].body, json!({ "verb": "top", "kind": "pods" }));
}
