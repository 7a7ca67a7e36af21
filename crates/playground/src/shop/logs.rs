//! Logs of the shop's programs: repeated reads of the same pod and time return the same lines.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    ops::Range,
    sync::{Arc, Weak},
    time::Duration,
};

use futures::{StreamExt, stream, stream::BoxStream};
use jiff::Timestamp;
use serde_json::Value;
use tokio::time::sleep;

use crate::{
    cluster::{Cluster, ContainerRun, Key, LogLine, LogSource},
    controllers::fields::{self, list, text},
};

/// Generates log lines; stores nothing.
pub struct ShopLogs {
    cluster: Weak<Cluster>,
}

/// Attributes of a container that determine its log.
#[derive(Debug, Clone)]
struct LoggedContainer {
    key: Key,
    app: String,
    uid: String,
    container: String,
}

/// Length of the log in seconds; older lines count as rotated.
const LONGEST: i64 = 3600;

const PATHS: [&str; 6] = ["/", "/p/1042", "/search?q=lamp", "/cart", "/p/77", "/checkout"];

// === impl ShopLogs ===

impl ShopLogs {
    /// Logs of a cluster's pods.
    pub fn of(cluster: &Arc<Cluster>) -> Arc<Self> {
        Arc::new(Self { cluster: Arc::downgrade(cluster) })
    }
}

impl LogSource for ShopLogs {
    fn lines(&self, pod: &Value, container: &str, run: ContainerRun) -> Vec<LogLine> {
        let writer = LoggedContainer::new(pod, container);
        seconds(pod, container, run).map(|seconds| writer.lines(seconds)).unwrap_or_default()
    }

    fn follow(&self, pod: &Value, container: &str) -> BoxStream<'static, LogLine> {
        let writer = LoggedContainer::new(pod, container);
        let start = (self.cluster.clone(), writer, Timestamp::now().as_second());
        let batches = stream::unfold(start, |(cluster, writer, from)| async move {
            sleep(Duration::from_secs(1)).await;
            let now = Timestamp::now().as_second();
            writer.still_runs(&*cluster.upgrade()?).then_some(())?;
            Some((stream::iter(writer.lines(from..now)), (cluster, writer, now)))
        });
        batches.flatten().boxed()
    }
}

/// Seconds in which a run of a container logs.
fn seconds(pod: &Value, container: &str, run: ContainerRun) -> Option<Range<i64>> {
    let status =
        list(pod, "/status/containerStatuses").iter().find(|status| text(status, "/name") == container)?;
    let state = match run {
        ContainerRun::Current => &status["state"],
        ContainerRun::Previous => &status["lastState"],
    };
    let second = |pointer: &str| fields::time(state, pointer).map(Timestamp::as_second);
    let started = second("/running/startedAt").or_else(|| second("/terminated/startedAt"))?;
    let until = second("/terminated/finishedAt").unwrap_or_else(|| Timestamp::now().as_second());
    Some(started.max(until - LONGEST)..until)
}

// === impl LoggedContainer ===

impl LoggedContainer {
    fn new(pod: &Value, container: &str) -> Self {
        let app = match fields::label(pod, "app") {
            "" => container,
            app => app,
        };
        Self {
            key: Key::new("", "pods", fields::namespace(pod), fields::name(pod)),
            app: app.to_owned(),
            uid: fields::uid(pod).to_owned(),
            container: container.to_owned(),
        }
    }

    fn lines(&self, seconds: Range<i64>) -> Vec<LogLine> {
        let line = |second: i64| {
            let time = Timestamp::from_second(second).ok()?;
            Some(LogLine { time, text: line(&self.app, &self.uid, time)? })
        };
        seconds.filter_map(line).collect()
    }

    fn still_runs(&self, cluster: &Cluster) -> bool {
        let Some(pod) = cluster.get(&self.key) else { return false };
        let runs = |status: &Value| {
            text(status, "/name") == self.container && status["state"].get("running").is_some()
        };
        fields::uid(&pod) == self.uid && list(&pod, "/status/containerStatuses").iter().any(runs)
    }
}

/// Line that a program logs in a second; about every other second has one.
fn line(app: &str, uid: &str, at: Timestamp) -> Option<String> {
    let mut hasher = DefaultHasher::new();
    (uid, at.as_second()).hash(&mut hasher);
    let mut rng = fastrand::Rng::with_seed(hasher.finish());
    if rng.bool() {
        return None;
    }
    let order = rng.u32(100_000..999_999);
    let took = rng.u32(1..180);
    Some(match app {
        "frontend" => {
            let path = PATHS[rng.usize(..PATHS.len())];
            let code = if rng.u8(..40) == 0 { 502 } else { 200 };
            format!("{at} INFO  GET {path} {code} {took}ms")
        }
        "cart" => format!("{at} INFO  cart of session {:08x} has {} items", rng.u32(..), rng.u8(1..9)),
        "checkout" => {
            format!("{at} INFO  order {order} placed, {}.{:02} EUR", rng.u8(5..200), rng.u8(..100))
        }
        "payment" if rng.u8(..15) == 0 => {
            format!("{at} WARN  payment of order {order} declined, asking again")
        }
        "payment" => format!("{at} INFO  payment of order {order} authorized in {took}ms"),
        "ledger" => format!("{at} INFO  booked order {order}"),
        "search" => format!("{at} DEBUG query answered from {} documents in {took}ms", rng.u32(..5000)),
        "recommendation" => format!("{at} INFO  12 items for customer {:06x}", rng.u32(..1 << 24)),
        "catalogue-db" => format!("{at} LOG:  checkpoint complete: wrote {} buffers", rng.u32(..900)),
        "sales-report" | "stock-sync" | "settlement" => {
            format!("{at} INFO  {} of {} records done", rng.u32(..500), 500)
        }
        app => format!("{at} INFO  {app} is well ({took}ms)"),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn lines_do_not_change_when_they_are_read_again() {
        let pod = json!({ "metadata": { "uid": "u", "labels": { "app": "checkout" } } });
        let writer = LoggedContainer::new(&pod, "checkout");
        let all = writer.lines(1_000..1_100);
        assert!((20..80).contains(&all.len()), "{}", all.len());
        assert_eq!([writer.lines(1_000..1_050), writer.lines(1_050..1_100)].concat(), all);
        assert!(all[0].text.contains("order"), "{}", all[0].text);
    }

    #[test]
    fn the_run_before_the_last_crash_has_its_own_lines() {
        let pod = json!({ "status": { "containerStatuses": [{
            "name": "cart",
            "state": { "running": { "startedAt": "2026-01-01T00:10:00Z" } },
            "lastState": { "terminated": { "startedAt": "2026-01-01T00:00:00Z", "finishedAt": "2026-01-01T00:05:00Z" } },
        }] } });
        let start = "2026-01-01T00:00:00Z".parse::<Timestamp>().unwrap().as_second();
        assert_eq!(seconds(&pod, "cart", ContainerRun::Previous), Some(start..start + 300));
        assert_eq!(seconds(&pod, "other", ContainerRun::Current), None);
    }
}
