//! Time and memory of splitting a list of 10,000 pods of about 12 KB: `cargo run --release --example pages`.

use bytes::Bytes;
use serde_json::json;
use spindrift_kubernetes::{Event, PageSplitter, Redactions, ScrubRules, View};
use spindrift_model::Resource;
use tokio::time::Instant;

const PODS: usize = 10_000;

/// Size of the frames of HTTP/2.
const CHUNK: usize = 16 * 1024;

fn main() -> anyhow::Result<()> {
    let pods = Resource {
        group: "".into(),
        version: "v1".into(),
        kind: "Pod".into(),
        plural: "pods".into(),
        namespaced: true,
    };
    let rules = ScrubRules::new(&pods, View::Full, &Redactions::default());
    let mut splitter = PageSplitter::new(rules);
    let before = peak_kilobytes()?;
    let started = Instant::now();
    let (mut read, mut passed, mut objects) = (0, 0, 0);
    let mut feed = |text: &str| -> anyhow::Result<()> {
        for chunk in text.as_bytes().chunks(CHUNK) {
            read += chunk.len();
            splitter.push(Bytes::copy_from_slice(chunk));
            while let Some(event) = splitter.next_event()? {
                anyhow::ensure!(matches!(event, Event::Object(_)), "unexpected: {event:?}");
                if let Event::Object(pod) = event {
                    passed += pod.body.len();
                    objects += 1;
                }
            }
        }
        Ok(())
    };
    feed(r#"{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":["#)?;
    for number in 0..PODS {
        feed(if number > 0 { "," } else { "" })?;
        feed(&pod(number).to_string())?;
    }
    feed("]}")?;
    println!(
        "{objects} pods, {} MB read, {} MB passed, in {:?}",
        read >> 20,
        passed >> 20,
        started.elapsed()
    );
    println!("peak memory: {before} kB before, {} kB after; end: {:?}", peak_kilobytes()?, splitter.end()?);
    Ok(())
}

fn pod(number: usize) -> serde_json::Value {
    let env: Vec<_> = (0..90)
        .map(|i| json!({ "name": format!("VARIABLE_{i}"), "value": format!("value {number} of {i}, somewhat long") }))
        .collect();
    let managed: Vec<_> =
        (0..120).map(|i| json!({ "f:metadata": { "f:labels": { format!("f:label-{i}"): {} } } })).collect();
    json!({
        "metadata": {
            "name": format!("pod-{number}"), "namespace": "default", "uid": format!("{number:032x}"),
            "resourceVersion": number.to_string(), "labels": { "app": format!("app-{}", number % 100) },
            "managedFields": [{ "manager": "kubelet", "fieldsV1": managed }],
        },
        "spec": { "containers": [{ "name": "main", "image": "example/main:1.2.3", "env": env }] },
        "status": { "phase": "Running", "podIP": format!("10.0.{}.{}", number / 256, number % 256) },
    })
}

/// Peak memory of this process.
fn peak_kilobytes() -> anyhow::Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    Ok(peak.unwrap_or_default().trim().trim_end_matches(" kB").parse()?)
}
