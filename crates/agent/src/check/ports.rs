//! The agent's own ports: free, or held by the agent that runs here.

use serde::Deserialize;
use spindrift_process::check::{
    Section,
    greeting::get_plain,
    port::{Binding, Port},
};

use crate::config::AgentConfig;

/// Field that only the agent's `/health` has.
#[derive(Deserialize)]
struct Health {
    hub: String,
}

pub(super) async fn section(config: &AgentConfig) -> Section {
    let mut section = Section::new("endpoints");
    let (host, health) = (config.server.host.as_str(), config.server.port);
    let health = Port { check: "health", name: "health", setting: "server.port", host, port: health };
    let mut runs = false;
    if let Binding::Taken(address) = health.bind(&mut section).await {
        match get_plain(address, "/health").await.and_then(|answer| answer.json::<Health>()) {
            Some(Health { hub }) => {
                runs = true;
                section.ok("health", format!("an agent runs on port {}: its hub is {hub}", health.port));
            }
            None => section.push(health.taken("another process")),
        }
    }
    for (enabled, name, setting, port) in [
        (config.prometheus.enabled, "metrics", "prometheus.port", config.prometheus.port),
        (config.pprof.enabled, "debugging", "pprof.port", config.pprof.port),
    ] {
        if !enabled {
            continue;
        }
        let place = Port { check: name, name, setting, host, port };
        match place.bind(&mut section).await {
            Binding::Taken(_) if runs => section.ok(name, format!("the agent that runs has port {port}")),
            Binding::Taken(_) => section.push(place.taken("another process")),
            Binding::Free | Binding::Impossible => {}
        }
    }
    section
}
