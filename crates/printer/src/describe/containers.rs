//! Containers of pods and pod templates.

use serde_json::Value;

use super::{Page, flag_text, go_list, time};
use crate::{
    look::{Look, scalar},
    quantity,
};

/// Containers of one list.
pub(super) struct Containers<'a> {
    pub(super) title: &'a str,
    pub(super) items: &'a [Value],
    pub(super) statuses: &'a [Value],
    /// Pod, by which fields of the environment are resolved; none for templates.
    pub(super) pod: Option<&'a Value>,
    /// Indent of a template.
    pub(super) indent: &'a str,
}

// === impl Containers ===

impl Containers<'_> {
    pub(super) fn describe(&self, page: &mut Page) {
        let none = if self.items.is_empty() { " <none>" } else { "" };
        page.line(0, format!("{}{}:{none}", self.indent, self.title));
        for container in self.items {
            let name = container.text("/name");
            let status = self.statuses.iter().find(|status| status.text("/name") == name);
            let indent = if self.indent.is_empty() { "" } else { " " };
            page.line(1, format!("{indent}{name}:"));
            basics(container, status, page);
            if let Some(status) = status {
                state("State", status.at("/state"), page);
                if status.has("/lastState/terminated") {
                    state("Last State", status.at("/lastState"), page);
                }
                page.field(2, "Ready", flag_text(status.flag("/ready")));
                page.field(2, "Restart Count", status.int("/restartCount"));
            }
            resources(container.at("/resources"), 2, page);
            for (title, pointer) in [
                ("Liveness", "/livenessProbe"),
                ("Readiness", "/readinessProbe"),
                ("Startup", "/startupProbe"),
            ] {
                if container.has(pointer) {
                    page.field(2, title, probe(container.at(pointer)));
                }
            }
            environment_sources(container, page);
            self.environment(container, page);
            mounts(container, page);
        }
    }

    fn environment(&self, container: &Value, page: &mut Page) {
        let variables = container.list("/env");
        page.line(2, if variables.is_empty() { "Environment:\t<none>" } else { "Environment:" });
        for variable in variables {
            let name = variable.text("/name");
            if !variable.has("/valueFrom") {
                for (index, line) in variable.text("/value").split('\n').enumerate() {
                    page.line(3, if index == 0 { format!("{name}:\t{line}") } else { format!("\t{line}") });
                }
                continue;
            }
            let from = variable.at("/valueFrom");
            let optional = |pointer: &str| from.flag(&format!("{pointer}/optional"));
            if from.has("/fieldRef") {
                let path = from.text("/fieldRef/fieldPath");
                let value = self.pod.map(|pod| field_value(pod, path)).unwrap_or_default();
                page.field(3, name, format!("{value} ({}:{path})", from.text("/fieldRef/apiVersion")));
            } else if from.has("/resourceFieldRef") {
                let resource = from.text("/resourceFieldRef/resource");
                let value = match resource_value(container, from.at("/resourceFieldRef")) {
                    value if value == "0" && matches!(resource, "limits.cpu" | "limits.memory") => {
                        "node allocatable".to_owned()
                    }
                    value => value,
                };
                page.field(3, name, format!("{value} ({resource})"));
            } else if from.has("/secretKeyRef") {
                let (key, secret) = (from.text("/secretKeyRef/key"), from.text("/secretKeyRef/name"));
                let optional = optional("/secretKeyRef");
                page.field(
                    3,
                    name,
                    format!("<set to the key '{key}' in secret '{secret}'>\tOptional: {optional}"),
                );
            } else if from.has("/configMapKeyRef") {
                let (key, map) = (from.text("/configMapKeyRef/key"), from.text("/configMapKeyRef/name"));
                let optional = optional("/configMapKeyRef");
                page.field(
                    3,
                    name,
                    format!("<set to the key '{key}' of config map '{map}'>\tOptional: {optional}"),
                );
            }
        }
    }
}

fn basics(container: &Value, status: Option<&Value>, page: &mut Page) {
    if let Some(status) = status {
        page.field(2, "Container ID", status.text("/containerID"));
    }
    page.field(2, "Image", container.text("/image"));
    if let Some(status) = status {
        page.field(2, "Image ID", status.text("/imageID"));
    }
    for (one, several, field) in
        [("Port", "Ports", "/containerPort"), ("Host Port", "Host Ports", "/hostPort")]
    {
        let port = |port: &Value| {
            let number = format!("{}/{}", port.int(field), port.text("/protocol"));
            match port.text("/name") {
                "" => number,
                name => format!("{number} ({name})"),
            }
        };
        let ports: Vec<_> = container.list("/ports").iter().map(port).collect();
        match &ports[..] {
            [] => page.field(2, one, "<none>"),
            [only] => page.field(2, one, only),
            all => page.field(2, several, all.join(", ")),
        }
    }
    seccomp(container.at("/securityContext/seccompProfile"), 2, 3, page);
    for (title, pointer) in [("Command", "/command"), ("Args", "/args")] {
        let words = container.list(pointer);
        if !words.is_empty() {
            page.line(2, format!("{title}:"));
        }
        for line in words.iter().filter_map(Value::as_str).flat_map(|word| word.split('\n')) {
            page.line(3, line);
        }
    }
}

pub(super) fn seccomp(profile: &Value, level: usize, inner: usize, page: &mut Page) {
    if profile.is_null() {
        return;
    }
    page.field(level, "SeccompProfile", profile.text("/type"));
    if profile.text("/type") == "Localhost" {
        page.field(inner, "LocalhostProfile", profile.text("/localhostProfile"));
    }
}

pub(super) fn resources(resources: &Value, level: usize, page: &mut Page) {
    for (title, pointer) in [("Limits", "/limits"), ("Requests", "/requests")] {
        if resources.count(pointer) > 0 {
            page.line(level, format!("{title}:"));
        }
        for (name, quantity) in resources.at(pointer).as_object().into_iter().flatten() {
            page.field(level + 1, name, scalar(quantity).unwrap_or_default());
        }
    }
}

fn state(title: &str, state: &Value, page: &mut Page) {
    if state.has("/running") {
        page.field(2, title, "Running");
        page.field(3, "Started", time(state, "/running/startedAt"));
    } else if state.has("/terminated") {
        let ended = state.at("/terminated");
        page.field(2, title, "Terminated");
        for (name, pointer) in [("Reason", "/reason"), ("Message", "/message")] {
            if !ended.text(pointer).is_empty() {
                page.field(3, name, ended.text(pointer));
            }
        }
        page.field(3, "Exit Code", ended.int("/exitCode"));
        if ended.int("/signal") > 0 {
            page.field(3, "Signal", ended.int("/signal"));
        }
        page.field(3, "Started", time(ended, "/startedAt"));
        page.field(3, "Finished", time(ended, "/finishedAt"));
    } else {
        page.field(2, title, "Waiting");
        if !state.text("/waiting/reason").is_empty() {
            page.field(3, "Reason", state.text("/waiting/reason"));
        }
    }
}

fn probe(probe: &Value) -> String {
    let attributes = format!(
        "delay={}s timeout={}s period={}s #success={} #failure={}",
        probe.int("/initialDelaySeconds"),
        probe.int("/timeoutSeconds"),
        probe.int("/periodSeconds"),
        probe.int("/successThreshold"),
        probe.int("/failureThreshold"),
    );
    let port = |pointer: &str| probe.scalar(pointer).unwrap_or_default();
    let action = if probe.has("/exec") {
        format!("exec {}", go_list(probe.list("/exec/command")))
    } else if probe.has("/httpGet") {
        let scheme = probe.text("/httpGet/scheme").to_lowercase();
        let scheme = if scheme.is_empty() { String::new() } else { format!("{scheme}:") };
        let host = match probe.text("/httpGet/host") {
            host if host.contains(':') => format!("[{host}]"),
            host => host.to_owned(),
        };
        let path = match probe.text("/httpGet/path") {
            path if path.is_empty() || path.starts_with('/') => path.to_owned(),
            path => format!("/{path}"),
        };
        format!("http-get {scheme}//{host}:{}{path}", port("/httpGet/port"))
    } else if probe.has("/tcpSocket") {
        format!("tcp-socket {}:{}", probe.text("/tcpSocket/host"), port("/tcpSocket/port"))
    } else if probe.has("/grpc") {
        format!("grpc <pod>:{} {}", port("/grpc/port"), probe.text("/grpc/service"))
    } else {
        "unknown".to_owned()
    };
    format!("{action} {attributes}")
}

fn environment_sources(container: &Value, page: &mut Page) {
    let sources = container.list("/envFrom");
    if !sources.is_empty() {
        page.line(2, "Environment Variables from:");
    }
    for source in sources {
        let (kind, pointer) = if source.has("/configMapRef") {
            ("ConfigMap", "/configMapRef")
        } else if source.has("/secretRef") {
            ("Secret", "/secretRef")
        } else {
            ("", "/none")
        };
        let name = source.text(&format!("{pointer}/name"));
        let optional = source.flag(&format!("{pointer}/optional"));
        let prefix = match source.text("/prefix") {
            "" => String::new(),
            prefix => format!(" with prefix '{prefix}'"),
        };
        page.line(3, format!("{name}\t{kind}{prefix}\tOptional: {optional}"));
    }
}

fn mounts(container: &Value, page: &mut Page) {
    let mut mounts: Vec<_> = container.list("/volumeMounts").iter().collect();
    mounts.sort_by_key(|mount| mount.text("/mountPath"));
    let none = if mounts.is_empty() { "\t<none>" } else { "" };
    page.line(2, format!("Mounts:{none}"));
    for mount in mounts {
        let access = if mount.flag("/readOnly") { "ro" } else { "rw" };
        let path = match mount.text("/subPath") {
            "" => String::new(),
            path => format!(",path={path:?}"),
        };
        page.line(3, format!("{} from {} ({access}{path})", mount.text("/mountPath"), mount.text("/name")));
    }
    let mut devices: Vec<_> = container.list("/volumeDevices").iter().collect();
    devices.sort_by_key(|device| device.text("/devicePath"));
    if !devices.is_empty() {
        page.line(2, format!("Devices:{none}"));
    }
    for device in devices {
        page.line(3, format!("{} from {}", device.text("/devicePath"), device.text("/name")));
    }
}

/// Value of a field of the pod; kubectl resolves these only, and no label or annotation.
fn field_value(pod: &Value, path: &str) -> String {
    match path {
        "metadata.name" | "metadata.namespace" | "metadata.uid" => {
            pod.text(&format!("/{}", path.replace('.', "/"))).to_owned()
        }
        _ => String::new(),
    }
}

/// Resource of a container, in units of the divisor, rounded up.
fn resource_value(container: &Value, reference: &Value) -> String {
    let path = reference.text("/resource").replace('.', "/");
    let value = container.scalar(&format!("/resources/{path}")).and_then(|text| quantity::parse(&text));
    let divisor = reference.scalar("/divisor").and_then(|text| quantity::parse(&text));
    let divisor = divisor.filter(|divisor| *divisor > 0.0).unwrap_or(1.0);
    format!("{:.0}", (value.unwrap_or_default() / divisor).ceil())
}
