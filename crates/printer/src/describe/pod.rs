//! Pods and pod templates.

use serde_json::Value;

use super::{Page, conditions, metadata, or, time};
use crate::{kinds::pod::Summary, look::Look};

pub(super) fn describe(pod: &Value, page: &mut Page) {
    let node = pod.text("/spec/nodeName");
    page.field(
        "Node",
        match (node, pod.text("/status/hostIP")) {
            ("", _) => "<none>".to_owned(),
            (node, host) => format!("{node}/{host}"),
        },
    );
    page.field("Start Time", time(pod, "/status/startTime"));
    metadata(pod, page);
    page.field("Status", Summary::of(pod).status);
    if pod.has("/metadata/deletionTimestamp") {
        page.field("Deleted", time(pod, "/metadata/deletionTimestamp"));
    }
    for (name, pointer) in [("Reason", "/status/reason"), ("Message", "/status/message")] {
        if !pod.text(pointer).is_empty() {
            page.field(name, pod.text(pointer));
        }
    }
    page.values("IPs", pod.list("/status/podIPs").iter().map(|ip| ip.text("/ip").to_owned()).collect());
    if let Some(owner) = pod.list("/metadata/ownerReferences").iter().find(|owner| owner.flag("/controller"))
    {
        page.field("Controlled By", format!("{}/{}", owner.text("/kind"), owner.text("/name")));
    }
    containers(
        "Init Containers",
        pod.list("/spec/initContainers"),
        pod.list("/status/initContainerStatuses"),
        page,
    );
    containers("Containers", pod.list("/spec/containers"), pod.list("/status/containerStatuses"), page);
    conditions(pod, page);
    placement(pod.at("/spec"), page);
    page.field("QoS Class", pod.text("/status/qosClass"));
}

/// Pod template of a workload.
pub(super) fn template(template: &Value, page: &mut Page) {
    let mut inner = Page::default();
    inner.map("Labels", template.at("/metadata/labels"), "=");
    if !template.text("/spec/serviceAccountName").is_empty() {
        inner.field("Service Account", template.text("/spec/serviceAccountName"));
    }
    containers("Init Containers", template.list("/spec/initContainers"), &[], &mut inner);
    containers("Containers", template.list("/spec/containers"), &[], &mut inner);
    placement(template.at("/spec"), &mut inner);
    page.section("Pod Template", inner);
}

/// Volumes, node selectors and tolerations.
fn placement(spec: &Value, page: &mut Page) {
    let mut volumes = Page::default();
    for volume in spec.list("/volumes") {
        volumes.field(volume.text("/name"), source(volume));
    }
    page.section("Volumes", volumes);
    page.map("Node-Selectors", spec.at("/nodeSelector"), "=");
    page.values("Tolerations", spec.list("/tolerations").iter().map(toleration).collect());
}

/// Type of a volume and its source.
fn source(volume: &Value) -> String {
    let fields = volume.as_object().into_iter().flatten();
    let Some((kind, source)) = fields.into_iter().find(|(field, _)| *field != "name") else {
        return String::new();
    };
    let named = ["/name", "/secretName", "/claimName", "/path", "/driver"];
    match named.iter().map(|field| source.text(field)).find(|text| !text.is_empty()) {
        Some(name) => format!("{kind} {name}"),
        None => kind.clone(),
    }
}

fn toleration(toleration: &Value) -> String {
    let mut text = toleration.text("/key").to_owned();
    if !toleration.text("/value").is_empty() {
        text = format!("{text}={}", toleration.text("/value"));
    }
    if !toleration.text("/effect").is_empty() {
        text = format!("{text}:{}", toleration.text("/effect"));
    }
    if toleration.text("/operator") == "Exists" {
        text.push_str(" op=Exists");
    }
    if let Some(seconds) = toleration.scalar("/tolerationSeconds") {
        text = format!("{text} for {seconds}s");
    }
    text
}

fn containers(title: &str, containers: &[Value], statuses: &[Value], page: &mut Page) {
    if containers.is_empty() {
        return;
    }
    let mut all = Page::default();
    for container in containers {
        let status = statuses.iter().find(|status| status.text("/name") == container.text("/name"));
        let mut one = Page::default();
        one.field("Image", container.text("/image"));
        let port = |port: &Value| {
            let name = port.text("/name");
            let number = format!("{}/{}", port.int("/containerPort"), or(port.text("/protocol"), "TCP"));
            if name.is_empty() { number } else { format!("{number} ({name})") }
        };
        one.values("Ports", container.list("/ports").iter().map(port).collect());
        for (name, pointer) in [("Command", "/command"), ("Args", "/args")] {
            if container.has(pointer) {
                let words = container.list(pointer).iter().filter_map(Value::as_str).map(str::to_owned);
                one.values(name, words.collect());
            }
        }
        if let Some(status) = status {
            state("State", status.at("/state"), &mut one);
            state("Last State", status.at("/lastState"), &mut one);
            one.field("Ready", if status.flag("/ready") { "True" } else { "False" });
            one.field("Restart Count", status.int("/restartCount").to_string());
        }
        for (name, pointer) in [("Limits", "/resources/limits"), ("Requests", "/resources/requests")] {
            if container.has(pointer) {
                one.map(name, container.at(pointer), ": ");
            }
        }
        for (name, pointer) in
            [("Liveness", "/livenessProbe"), ("Readiness", "/readinessProbe"), ("Startup", "/startupProbe")]
        {
            if container.has(pointer) {
                one.field(name, probe(container.at(pointer)));
            }
        }
        one.values("Environment", container.list("/env").iter().map(variable).collect());
        let mount = |mount: &Value| {
            let mode = if mount.flag("/readOnly") { "ro" } else { "rw" };
            format!("{} from {} ({mode})", mount.text("/mountPath"), mount.text("/name"))
        };
        one.values("Mounts", container.list("/volumeMounts").iter().map(mount).collect());
        all.section(container.text("/name"), one);
    }
    page.section(title, all);
}

fn state(title: &str, state: &Value, page: &mut Page) {
    let mut inner = Page::default();
    let Some((name, state)) = state.as_object().and_then(|states| states.iter().next()) else { return };
    let mut letters = name.chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    page.field(title, first.chain(letters).collect::<String>());
    for (name, pointer) in [("Reason", "/reason"), ("Message", "/message")] {
        if !state.text(pointer).is_empty() {
            inner.field(name, state.text(pointer));
        }
    }
    if let Some(code) = state.scalar("/exitCode") {
        inner.field("Exit Code", code);
    }
    if let Some(signal) = state.scalar("/signal") {
        inner.field("Signal", signal);
    }
    for (name, pointer) in [("Started", "/startedAt"), ("Finished", "/finishedAt")] {
        if state.has(pointer) {
            inner.field(name, time(state, pointer));
        }
    }
    page.indented(inner);
}

/// Value of a variable or its source; never the value of a Secret.
fn variable(variable: &Value) -> String {
    let name = variable.text("/name");
    for (pointer, what) in
        [("/valueFrom/secretKeyRef", "secret"), ("/valueFrom/configMapKeyRef", "config map")]
    {
        let from = variable.at(pointer);
        if !from.is_null() {
            return format!(
                "{name}: <set to the key '{}' in {what} '{}'>",
                from.text("/key"),
                from.text("/name")
            );
        }
    }
    match variable.text("/valueFrom/fieldRef/fieldPath") {
        "" => format!("{name}: {}", variable.text("/value")),
        path => format!("{name}: ({path})"),
    }
}

fn probe(probe: &Value) -> String {
    let action = if probe.has("/httpGet") {
        let (scheme, host) =
            (or(probe.text("/httpGet/scheme"), "HTTP").to_lowercase(), probe.text("/httpGet/host"));
        let port = probe.scalar("/httpGet/port").unwrap_or_default();
        format!("http-get {scheme}://{host}:{port}{}", probe.text("/httpGet/path"))
    } else if probe.has("/exec") {
        let words: Vec<_> = probe.list("/exec/command").iter().filter_map(Value::as_str).collect();
        format!("exec [{}]", words.join(" "))
    } else if probe.has("/tcpSocket") {
        format!("tcp-socket :{}", probe.scalar("/tcpSocket/port").unwrap_or_default())
    } else {
        format!("grpc :{}", probe.scalar("/grpc/port").unwrap_or_default())
    };
    let number = |pointer| probe.int(pointer);
    format!(
        "{action} delay={}s timeout={}s period={}s #success={} #failure={}",
        number("/initialDelaySeconds"),
        number("/timeoutSeconds"),
        number("/periodSeconds"),
        number("/successThreshold"),
        number("/failureThreshold"),
    )
}
