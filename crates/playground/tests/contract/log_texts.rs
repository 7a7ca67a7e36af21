//! Log content: only on the playground, since logs come from nodes, which the bare API server does not have.

use std::sync::Arc;

use futures::stream::{self, BoxStream, StreamExt};
use jiff::{Timestamp, ToSpan};
use serde_json::{Value, json};
use spindrift_playground::{ContainerRun, LogLine, LogSource};

use crate::support::{MERGE, Server, pod, with};

/// Five lines, one per minute, and two more for followers.
struct Lines {
    last: Timestamp,
}

impl LogSource for Lines {
    fn lines(&self, _: &Value, container: &str, run: ContainerRun) -> Vec<LogLine> {
        let line = |number: i64| LogLine {
            time: self.last - (4 - number).minutes(),
            text: format!("{run:?} {container} {number}"),
        };
        (0..5).map(line).collect()
    }

    fn follow(&self, _: &Value, _: &str) -> BoxStream<'static, LogLine> {
        let time = self.last;
        stream::iter(["more", "end"].map(|text| LogLine { time, text: text.to_owned() })).boxed()
    }
}

/// A server with a running pod that was restarted before.
async fn logging() -> anyhow::Result<Server> {
    let server = Server::playground().await?;
    let last: Timestamp = "2026-01-02T03:04:05Z".parse()?;
    server.playground_cluster().set_logs(Arc::new(Lines { last }));
    server.post(server.core("pods"), with(pod("main"), "/spec/nodeName", "node-1")).ok().await?;
    let status = json!({"status": {"phase": "Running", "containerStatuses": [{
        "name": "main", "image": "main:1", "imageID": "main:1", "ready": true, "restartCount": 1,
        "state": {"running": {"startedAt": "2026-01-02T03:00:00Z"}},
        "lastState": {"terminated": {"exitCode": 1, "finishedAt": "2026-01-02T02:59:00Z"}},
    }]}});
    server.patch(MERGE, server.core("pods/main/status"), status).ok().await?;
    Ok(server)
}

#[tokio::test]
async fn a_log_is_lines_of_plain_text() -> anyhow::Result<()> {
    let server = logging().await?;
    let answer = server.get(server.core("pods/main/log")).answer().await?;
    assert_eq!((answer.code, answer.header("content-type")), (200, "text/plain"));
    let lines = "Current main 0\nCurrent main 1\nCurrent main 2\nCurrent main 3\nCurrent main 4\n";
    assert_eq!(answer.text(), lines);
    Ok(())
}

#[tokio::test]
async fn options_choose_lines() -> anyhow::Result<()> {
    let server = logging().await?;
    for (query, expected) in [
        ("tailLines=2", "Current main 3\nCurrent main 4\n"),
        ("tailLines=0", ""),
        ("limitBytes=9", "Current m"),
        ("sinceTime=2026-01-02T03:03:30Z", "Current main 4\n"),
        ("tailLines=1&timestamps=true", "2026-01-02T03:04:05.000000000Z Current main 4\n"),
        ("tailLines=1&previous=true", "Previous main 4\n"),
        ("tailLines=1&follow=true", "Current main 4\nmore\nend\n"),
    ] {
        let answer = server.get(server.core(&format!("pods/main/log?{query}"))).answer().await?;
        assert_eq!((answer.code, answer.text().as_str()), (200, expected), "{query}");
    }
    Ok(())
}
