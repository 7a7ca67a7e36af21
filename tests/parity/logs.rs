//! Logs, as a kubelet serves them: of pods, of kinds that have pods, and of kinds that have none.

use std::time::Duration;

use serde_json::{Map, Value, json};
use spindrift_testkit::{ContainerLog, Kubectl, eventually};

use crate::{
    actor::refusal,
    outcome::{Outcome, Refusal},
    output::CommandOutput,
    settings::Settings,
    tally::Tally,
    world::{ACCOUNT, Living},
};

/// Target of a request, with kubectl's flags, and the same as fields of ours.
struct Question {
    target: &'static str,
    flags: &'static [&'static str],
    fields: Value,
}

/// A container has written a line in each of so many seconds.
const LINES: i64 = 500;
const BEGIN: &str = "2026-01-01T00:00:00Z";
const NAMESPACE: &str = "logs";
/// kubectl takes its time to start on a loaded machine.
const PATIENCE: Duration = Duration::from_mins(2);
/// Last line of each container, long after the others.
const LAST: &str = "at last";

const OBJECTS: &str = include_str!("logs/objects.yaml");

/// Logs of the containers, each with lines of its own; some have run before, and some logs are empty.
pub(crate) fn written() -> Vec<ContainerLog> {
    let begin = BEGIN.parse().unwrap();
    let text = |name: &str| {
        let lines: Vec<_> =
            (0..LINES).map(|line| format!("{name} says {line}: zürich <b> \u{1F30A}")).collect();
        lines.join("\n")
    };
    vec![
        ContainerLog::of("main", &text("main")).previous(&text("main before")).from(begin),
        ContainerLog::of("app", &text("app")).from(begin),
        ContainerLog::of("proxy", &text("proxy")).previous("").from(begin),
        ContainerLog::of("setup", "ready\n\n  steady\n").from(begin),
    ]
}

/// Compares the same logs as kubectl and we show them: by the hub's answers, and by the command line.
pub(crate) async fn compare(living: &Living, settings: &Settings, tally: &mut Tally) {
    let Living { cluster, stack, .. } = living;
    cluster.kubectl_stdin(&["apply", "-f", "-"], OBJECTS).await.unwrap();
    for ready in [
        &["wait", "pod", "-l", "ready=soon", "--for=condition=Ready"][..],
        &["rollout", "status", "deployment/web"],
        &["rollout", "status", "statefulset/db"],
        &["wait", "job/import", "--for=condition=Complete"],
    ] {
        cluster.kubectl(&[ready, &["-n", NAMESPACE, "--timeout=120s"]].concat()).await.unwrap();
    }
    for container in ["main", "app", "proxy"] {
        cluster.write_log(container, LAST).unwrap();
    }
    let kubectl = Kubectl::with(cluster.kubeconfig()).await.unwrap();
    let (operations, command) = (stack.hub.operations(ACCOUNT), stack.command());

    for Question { target, flags, fields } in settings.some(questions()) {
        let arguments = [&["logs", target, "-n", NAMESPACE], flags].concat();
        let theirs: CommandOutput = kubectl.output(&arguments, "").await.unwrap().into();
        let shown = theirs.difference_in_deed(&command.run(&arguments, "").await);
        let answer = operations.ask(&verb(target, &fields)).await.unwrap();
        let ours = if answer.is_done() {
            Outcome::Done(String::from_utf8(answer.body.to_vec()).unwrap())
        } else {
            Outcome::Refused(refusal(&answer.status()))
        };
        let outcomes = Outcome::difference(&outcome(&theirs), &ours);
        for difference in [outcomes, shown] {
            let difference = difference.map(|difference| format!("{arguments:?}: {difference}"));
            tally.add_plain("logs", kind(target), difference);
        }
    }
    for (target, container) in [("pod/one", "main"), ("pod/two", "proxy"), ("job/import", "main")] {
        let difference = follow(living, &kubectl, target, container).await;
        tally.add_plain("logs", kind(target), difference);
    }
}

/// Both follow the same log, and show the same when it goes on.
async fn follow(living: &Living, kubectl: &Kubectl, target: &str, container: &str) -> Option<String> {
    let arguments = ["logs", target, "-n", NAMESPACE, "-c", container, "-f", "--tail=1"];
    let command = living.stack.command();
    let begin = format!("somebody follows {target}");
    living.cluster.write_log(container, &begin).unwrap();
    let followers = [kubectl.spawn(&arguments).unwrap(), command.spawn(&arguments)];
    let shown = async |text: &str| {
        for follower in &followers {
            eventually!(format!("{text:?} is shown"), PATIENCE, follower.log().contains(text));
        }
    };
    // A follower that has shown a line shows those after it as they come.
    shown(&begin).await;
    living.cluster.write_log(container, "").unwrap();
    shown("\n\n").await;
    living.cluster.write_log(container, "more \u{1F30A}").unwrap();
    shown("more \u{1F30A}\n").await;
    let [theirs, ours] = followers.map(|follower| follower.log());
    (theirs != ours)
        .then(|| format!("{arguments:?}: words differ\n      kubectl: {theirs:?}\n      ours:    {ours:?}"))
}

fn questions() -> Vec<Question> {
    let of = |target, flags, fields| Question { target, flags, fields };
    let mut questions = Vec::new();
    for target in ["pod/one", "pod/three", "deployment/web", "job/import", "statefulset/db"] {
        questions.extend([
            of(target, &[], json!({})),
            of(target, &["--tail=7"], json!({ "tailLines": 7 })),
            of(target, &["--tail=0"], json!({ "tailLines": 0 })),
            of(target, &["--limit-bytes=1000"], json!({ "limitBytes": 1000 })),
            of(
                target,
                &["--timestamps", "--limit-bytes=1000"],
                json!({ "timestamps": true, "limitBytes": 1000 }),
            ),
            of(
                target,
                &["--since-time=2026-01-01T00:08:00Z"],
                json!({ "sinceTime": "2026-01-01T00:08:00Z" }),
            ),
            of(target, &["--since=1h"], json!({ "sinceSeconds": 3600 })),
            of(target, &["--since=1h", "--tail=0"], json!({ "sinceSeconds": 3600, "tailLines": 0 })),
            of(target, &["--previous", "--tail=3"], json!({ "previous": true, "tailLines": 3 })),
        ]);
    }
    questions.extend([
        of("pod/two", &[], json!({})),
        of("pod/two", &["-c", "proxy"], json!({ "container": "proxy" })),
        of("pod/two", &["-c", "proxy", "--tail=2"], json!({ "container": "proxy", "tailLines": 2 })),
        of("pod/two", &["-c", "proxy", "--previous"], json!({ "container": "proxy", "previous": true })),
        of("pod/two", &["-c", "app", "--previous"], json!({ "container": "app", "previous": true })),
        of("pod/two", &["-c", "setup"], json!({ "container": "setup" })),
        of("pod/two", &["-c", "absent"], json!({ "container": "absent" })),
        of("deployment/web", &["-c", "absent"], json!({ "container": "absent" })),
        of(
            "pod/one",
            &["--since-time=2026-01-01T00:00:00Z", "--tail=1"],
            json!({ "sinceTime": BEGIN, "tailLines": 1 }),
        ),
        of("pod/absent", &[], json!({})),
        of("deployment/absent", &[], json!({})),
        of("job/absent", &["--tail=1"], json!({ "tailLines": 1 })),
        of("service/web", &["--tail=1"], json!({ "tailLines": 1 })),
        of("configmap/plain", &[], json!({})),
    ]);
    questions
}

fn verb(target: &str, fields: &Value) -> Value {
    let (kind, name) = target.split_once('/').unwrap();
    let mut verb = Map::new();
    verb.insert("verb".to_owned(), "logs".into());
    verb.insert("target".to_owned(), json!({ "kind": kind, "namespace": NAMESPACE, "name": name }));
    verb.extend(fields.as_object().unwrap().clone());
    verb.into()
}

/// As the table of results calls it.
fn kind(target: &str) -> &'static str {
    match target.split_once('/').unwrap().0 {
        "deployment" => "Deployment",
        "statefulset" => "StatefulSet",
        "job" => "Job",
        "service" => "Service",
        "configmap" => "ConfigMap",
        _ => "Pod",
    }
}

fn outcome(output: &CommandOutput) -> Outcome {
    if output.code == Some(0) {
        return Outcome::Done(output.out.clone());
    }
    // Here kubectl begins its sentences in more than one way.
    let mark = "error from server (";
    let start = output.err.to_lowercase().find(mark).map(|start| start + mark.len());
    let reason =
        start.and_then(|start| output.err[start..].split_once(')')).map(|(reason, _)| reason.to_owned());
    Outcome::Refused(Refusal { reason, message: output.err.clone(), causes: Vec::new() })
}
