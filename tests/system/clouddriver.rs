//! The hub as a Clouddriver: reads of Orca, Gate and Deck.

mod artifacts;
mod cached;
mod live;
mod logs;
mod projects;
mod rules;
mod wire;

use reqwest::{Client, Method, header::HeaderMap};
use serde_json::Value;
use spindrift_testkit::HubProcess;

/// An answer of the hub.
#[derive(Debug)]
struct ClouddriverAnswer {
    status: u16,
    headers: HeaderMap,
    text: String,
}

/// Sends a request as Spinnaker's services do.
async fn send(
    hub: &HubProcess,
    method: Method,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> ClouddriverAnswer {
    let mut request = Client::new().request(method, format!("{}{path}", hub.url())).body(body.to_owned());
    if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type")) {
        request = request.header("content-type", "application/json; charset=UTF-8");
    }
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let response = request.send().await.unwrap();
    ClouddriverAnswer {
        status: response.status().as_u16(),
        headers: response.headers().clone(),
        text: response.text().await.unwrap(),
    }
}

async fn get(hub: &HubProcess, path: &str) -> ClouddriverAnswer {
    send(hub, Method::GET, path, &[], "").await
}

// === impl ClouddriverAnswer ===

impl ClouddriverAnswer {
    fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {}", self.text))
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    /// The accounts that the answer may lack.
    fn stale(&self) -> Option<&str> {
        self.header("x-spindrift-stale")
    }
}
