//! A hub that follows a script: for answers that a real one gives only when much has failed.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    sync::Arc,
};

use parking_lot::Mutex;
use serde_json::{Value, json};

/// Accounts that it has.
pub(super) const ACCOUNTS: [&str; 2] = ["east", "west"];

pub(super) struct Scripted {
    pub(super) url: String,
    asked: Arc<Mutex<Vec<Asked>>>,
}

/// A request.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    /// `POST /v1/accounts/east/operations?id=…`
    pub(super) line: String,
    pub(super) body: Value,
}

/// Bytes of the answer, headers included; none hangs for ever.
pub(super) type Answer = Option<String>;

// === impl Scripted ===

impl Scripted {
    /// Answers requests for operations by the script.
    pub(super) fn start(script: impl Fn(&Asked) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::<Mutex<Vec<Asked>>>::default();
        let (script, heard) = (Arc::new(script), Arc::clone(&asked));
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (script, heard) = (Arc::clone(&script), Arc::clone(&heard));
                std::thread::spawn(move || talk(&stream, &*script, &heard));
            }
        });
        Self { url, asked }
    }

    /// Requests so far, except those for the accounts.
    pub(super) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().clone()
    }
}

fn talk(stream: &TcpStream, script: &dyn Fn(&Asked) -> Answer, log: &Mutex<Vec<Asked>>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut head = Vec::new();
    // A caller that leaves is of no interest.
    while let Ok(count) = reader.by_ref().take(1 << 16).read_until(b'\n', &mut head)
        && count > 2
    {}
    let head = String::from_utf8(head).unwrap();
    let header = |name: &str| {
        head.lines()
            .filter_map(|line| line.split_once(": "))
            .find(|(field, _)| field.eq_ignore_ascii_case(name))
    };
    let length = header("content-length").map_or(0, |(_, length)| length.parse().unwrap());
    let mut body = vec![0; length];
    if head.is_empty() || reader.read_exact(&mut body).is_err() {
        return;
    }
    let line = head.lines().next().unwrap().rsplit_once(' ').unwrap().0.to_owned();
    let asked = Asked { line, body: serde_json::from_slice(&body).unwrap_or_default() };
    if asked.line == "GET /v1/accounts" {
        return reply(stream, &respond(200, &accounts()));
    }
    log.lock().push(asked.clone());
    match script(&asked) {
        Some(answer) => reply(stream, &answer),
        // Held open for as long as the caller is there.
        None => drop(reader.read(&mut [0])),
    }
}

fn reply(mut stream: &TcpStream, answer: &str) {
    stream.write_all(answer.as_bytes()).and_then(|()| stream.flush()).ok();
}

fn accounts() -> Value {
    let account = |name: &str| {
        json!({
            "name": name, "host": "", "kubernetesVersion": "v1.33.1", "namespaces": [], "cachedBy": "agent-a", "seq": 1,
            "objects": 1, "watches": 1, "listing": 0, "lastSeen": "2026-11-16T08:00:00Z",
        })
    };
    json!(ACCOUNTS.map(account))
}

/// A whole answer.
pub(super) fn respond(code: u16, body: &Value) -> String {
    let body = body.to_string();
    let length = body.len();
    format!(
        "HTTP/1.1 {code} X\r\nContent-Type: application/json\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    )
}

/// A `Status` of Kubernetes; with a source, one of our own.
pub(super) fn refuse(code: u16, reason: &str, message: &str, source: Option<&str>) -> String {
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": code, "reason": reason,
        "message": message, "source": source,
    });
    respond(code, &status)
}

/// An agent's answer to most changes.
pub(super) fn changed(action: &str) -> String {
    let object = json!({ "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "web", "namespace": "shop" } });
    respond(200, &json!({ "action": action, "object": object, "warnings": [] }))
}

/// An answer that begins, and then the line is dead.
pub(super) fn broken_off(beginning: &str) -> String {
    let length = beginning.len();
    format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{length:x}\r\n{beginning}\r\n")
}
