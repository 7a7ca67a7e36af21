//! The recorded requests, sent again in order.

use std::{collections::BTreeMap, sync::LazyLock, time::Duration};

use regex::Regex;
use serde_json::Value;
use spindrift_tests::spinnaker::{
    Answer, Difference, Names, RecordedClouddriver, Recording, differences, recorded,
};
use tokio::time::Instant;

use crate::{TURN, accepted, cluster_state::ClusterState, scenario, world::World};

/// After this long, every consequence of a change has happened.
const SETTLED: Duration = Duration::from_secs(20);

/// Between two looks at something that may still change.
const INTERVAL: Duration = Duration::from_millis(100);

/// Differences of our answer from the recorded one.
struct Verdict {
    number: u32,
    name: String,
    path: String,
    differences: Vec<Difference>,
}

struct Replay {
    url: String,
    /// The cluster that the requests are about, if there is one.
    cluster: Option<ClusterState>,
    http: reqwest::Client,
    names: Names,
    /// When something was changed last.
    changed: Instant,
}

#[tokio::test(flavor = "multi_thread")]
async fn every_recorded_answer_is_given() {
    let _turn = TURN.lock().await;
    let world = World::start().await;
    let recordings: BTreeMap<u32, Recording> =
        recorded::clouddriver().into_iter().map(|recording| (recording.number, recording)).collect();
    let mut replay = Replay::new(world.hub.url(), Some(ClusterState::new(&world.cluster)));
    let mut verdicts = Vec::new();
    for recording in recordings.values() {
        scenario::before(&world, recording).await;
        let later = scenario::overtaken_by(recording.number).map(|number| &recordings[&number]);
        let verdict = replay.play(recording, later).await;
        // Printed at once: a long run may be cut short.
        verdict.tell();
        verdicts.push(verdict);
    }

    let differing: Vec<_> = verdicts.iter().filter(|verdict| !verdict.unaccepted().is_empty()).collect();
    let equal = verdicts.iter().filter(|verdict| verdict.differences.is_empty()).count();
    let accepted = verdicts.len() - equal - differing.len();
    println!("figure conformance-answers = {equal} of {} equal", verdicts.len());
    println!("figure conformance-accepted = {accepted} differ as docs/compatibility.md says");
    println!("figure conformance-differing = {} (goal 0)", differing.len());
    let names: Vec<_> = differing.iter().map(|it| format!("{:03}-{}", it.number, it.name)).collect();
    assert_eq!(names, Vec::<String>::new(), "answers that differ; each field is told above");
    let of = |it: &Verdict| it.differences.iter().map(|of| (it.number, of.path.clone())).collect::<Vec<_>>();
    let seen: Vec<_> = verdicts.iter().flat_map(of).collect();
    assert_eq!(accepted::superfluous(&seen), Vec::<u32>::new(), "accepted, and yet nothing differs so");
}

#[tokio::test]
async fn clouddriver_beside_itself_differs_in_nothing_but_what_is_planted() {
    let mut recordings = recorded::clouddriver();
    let clouddriver = RecordedClouddriver::knowing(&recordings).await.unwrap();
    let planted = recordings.iter_mut().find(|it| it.name == "manifest-deployment-v1").unwrap();
    planted.body["manifest"]["spec"]["replicas"] = 2.into();
    let mut replay = Replay::new(clouddriver.url(), None);
    let mut differing = Vec::new();
    for recording in &recordings {
        let verdict = replay.play(recording, None).await;
        differing.extend(verdict.differences.iter().map(|it| format!("{} {it}", verdict.name)));
    }
    assert_eq!(differing, ["manifest-deployment-v1 /manifest/spec/replicas: recorded 2, ours 2.0"]);
}

// === impl Replay ===

impl Replay {
    fn new(url: String, cluster: Option<ClusterState>) -> Self {
        let (http, names) = (reqwest::Client::new(), Names::default());
        Self { url, cluster, http, names, changed: Instant::now() }
    }

    /// Sends a request, and compares. Reads are repeated until they are as recorded, or can change no more.
    async fn play(&mut self, recording: &Recording, later: Option<&Recording>) -> Verdict {
        self.learn_pods(&recording.request.path).await;
        if let Some(cluster) = &self.cluster
            && !recording.is_read()
        {
            cluster.at_rest().await;
        }
        loop {
            let answer = self.send(recording).await;
            self.learn(recording, &answer);
            let mut differences = self.compare(recording, &answer);
            if later.is_some_and(|later| self.compare(later, &answer).is_empty()) {
                differences.clear();
            }
            if !recording.is_read() || recording.is_finished_task() {
                self.changed = Instant::now();
            }
            if differences.is_empty() || !self.may_change(recording, &answer) {
                let path = format!("{} {}", recording.request.method, recording.request.path);
                return Verdict { number: recording.number, name: recording.name.clone(), path, differences };
            }
            tokio::time::sleep(INTERVAL).await;
        }
    }

    /// Whether asking again could be answered otherwise.
    fn may_change(&self, recording: &Recording, answer: &Answer) -> bool {
        if self.cluster.is_none() {
            false
        } else if recording.is_finished_task() {
            answer.body["status"]["completed"] == false
        } else {
            recording.is_read() && self.changed.elapsed() < SETTLED
        }
    }

    async fn send(&self, recording: &Recording) -> Answer {
        let request = &recording.request;
        let url = format!("{}{}", self.url, self.names.in_text(&request.path));
        let mut builder = self.http.request(request.method.parse().unwrap(), url);
        let mut headers = BTreeMap::from([
            ("X-SPINNAKER-USER".to_owned(), Some("recorder".to_owned())),
            ("X-SPINNAKER-ACCOUNTS".to_owned(), Some("account1,wide".to_owned())),
        ]);
        headers.extend(request.headers.clone());
        for (name, value) in headers {
            if let Some(value) = value {
                builder = builder.header(name, self.names.in_text(&value));
            }
        }
        let body = request.body.as_ref().map(|body| self.names.in_value(body).to_string());
        if let Some(body) = body.or_else(|| request.raw.clone()) {
            builder = builder.header("Content-Type", "application/json").body(body);
        }
        Answer::of(builder.send().await.unwrap()).await.unwrap()
    }

    /// Replaces recorded ids and ETags by the current ones, from here on.
    fn learn(&mut self, recording: &Recording, answer: &Answer) {
        let id = |body: &Value| body.get("resourceUri").and(body.get("id")?.as_str().map(str::to_owned));
        if let (Some(recorded), Some(now)) = (id(&recording.body), id(&answer.body)) {
            self.names.learn(&recorded, &now);
        }
        if let (Some(recorded), Some(now)) = (recording.headers.get("etag"), &answer.etag) {
            self.names.learn(recorded, now);
        }
        // The host that carries a task out.
        if recording.name == "task-owner"
            && let (Some(recorded), Some(now)) =
                (recording.body["name"].as_str(), answer.body["name"].as_str())
        {
            self.names.learn(recorded, now);
        }
    }

    /// Names of pods are random: any of the same replica set will do.
    async fn learn_pods(&mut self, path: &str) {
        static POD: LazyLock<Regex> = LazyLock::new(|| {
            let letters = "[bcdfghjklmnpqrstvwxz2456789]";
            Regex::new(&format!("(?:%20|/)([a-z0-9-]+-{letters}{{8,10}}-)({letters}{{5}})\\b")).unwrap()
        });
        let Some(parts) = POD.captures(path) else { return };
        let recorded = format!("{}{}", &parts[1], &parts[2]);
        if !self.names.knows(&recorded)
            && let Some(cluster) = &self.cluster
            && let Some(now) = cluster.pod(&parts[1]).await
        {
            self.names.learn(&recorded, &now);
        }
    }

    fn compare(&self, recording: &Recording, answer: &Answer) -> Vec<Difference> {
        let mut found = Vec::new();
        let mut add = |path: &str, recorded: Value, ours: Value| {
            if recorded != ours {
                found.push(Difference { path: path.into(), recorded: Some(recorded), ours: Some(ours) });
            }
        };
        add("(status)", recording.status.into(), answer.status.into());
        add("(content-type)", recording.media_type().into(), answer.media_type().into());
        found.extend(differences(&self.names.in_value(&recording.body), &without_repairs(&answer.body)));
        found
    }
}

/// Drops events of the API server's repair loop, which reports Services that are created while it starts.
fn without_repairs(body: &Value) -> Value {
    let mut body = body.clone();
    if let Some(events) = body.get_mut("events").and_then(Value::as_array_mut) {
        events.retain(|event| event["action"] != "ClusterIPAllocation");
    }
    body
}

// === impl Verdict ===

impl Verdict {
    fn unaccepted(&self) -> Vec<&Difference> {
        self.differences.iter().filter(|it| !accepted::is_accepted(self.number, &it.path)).collect()
    }

    fn tell(&self) {
        let unaccepted = self.unaccepted();
        if unaccepted.is_empty() {
            return;
        }
        println!("{:03}-{}: {}", self.number, self.name, self.path);
        for difference in unaccepted {
            println!("    {difference}");
        }
    }
}
