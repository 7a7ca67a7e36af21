//! Check of the hub at the address of `clouddriver.grpc`.

mod call;
mod secure;

use std::net::SocketAddr;

use spindrift_process::{
    check::{
        Line, Section,
        greeting::{Greeting, get_plain, greet_plain, speaks_tls},
        reach::Place,
    },
    config::Env,
    proxy::{Proxy, Speaks},
    report,
};
use tokio::net::TcpStream;

use crate::config::Clouddriver;

/// Remedy for a server that only supports HTTP/1.
const PASS_HTTP2: &str = "let the proxy pass HTTP/2 through to the hub (nginx: grpc_pass; HAProxy: alpn h2; an ALB: a target group of \
                          gRPC), or point clouddriver.grpc past it";
/// Remedy for an address without a hub.
const CORRECT_ADDRESS: &str =
    "set clouddriver.grpc to host and port of the hub's gRPC server (kubesvc.grpc.server.port, 9091)";

/// Checks that follow once the hub is reached.
const REST: [&str; 7] = ["tls", "certificate", "identity", "http2", "grpc", "protocol", "clock"];

/// The hub as it is dialled.
struct Dialled<'a> {
    config: &'a Clouddriver,
    host: &'a str,
    address: SocketAddr,
}

pub(super) async fn section(config: &Clouddriver, env: &Env) -> Section {
    let mut section = Section::new("hub");
    let Some(place) = Place::parse(&config.grpc, None, "clouddriver.grpc") else {
        let found = format!("expected host:port, found {:?}", config.grpc);
        section.wrong("address", found, CORRECT_ADDRESS);
        return section;
    };
    section.ok("address", format!("{} (clouddriver.grpc)", config.grpc));
    match config.proxies(env).to(&place.host, place.port, Speaks::Https) {
        Ok(None) => {}
        Ok(Some(proxy)) => {
            through(&proxy, &mut section).await;
            section.skip(&REST, "a proxy is in between");
            return section;
        }
        Err(error) => {
            let remedy = "correct the variable, or set clouddriver.noProxy: true";
            section.wrong("proxy", report(&error), remedy);
            section.skip(&REST, "the hub cannot be reached");
            return section;
        }
    }
    let reached = place.reach(&mut section).await;
    section.ok("proxy", "none is on the way; the hub is dialled directly");
    let Some(address) = reached else {
        section.skip(&REST, "the hub cannot be reached");
        return section;
    };
    let dialled = Dialled { config, host: &place.host, address };
    match config.tls_files() {
        Some(files) => dialled.secure(files, &mut section).await,
        None => dialled.plain(&mut section).await,
    }
    section
}

/// Checks the proxy; the hub behind it is only reached when the agent runs.
async fn through(proxy: &Proxy, section: &mut Section) {
    section.ok("proxy", format!("the way to the hub goes through {proxy}"));
    if let Some(place) = Place::parse(&proxy.to_string(), None, "HTTPS_PROXY (clouddriver.noProxy)") {
        place.reach(section).await;
    }
}

// === impl Dialled ===

impl Dialled<'_> {
    async fn plain(&self, section: &mut Section) {
        const AFTER: [&str; 3] = ["grpc", "protocol", "clock"];
        let Self { host, address, .. } = *self;
        let to_tls = "set clouddriver.insecure: false and clouddriver.tls.cacertFile, or \
                      kubesvc.grpc.server.security.enabled: false in the hub";
        match greet_plain(address).await {
            Greeting::Http2 => {
                section.ok("tls", "plaintext, as configured (clouddriver.insecure)");
                section.ok("http2", "is spoken");
                match TcpStream::connect(address).await {
                    Ok(stream) => self.call(stream, section).await,
                    Err(error) => section.wrong("grpc", error.to_string(), CORRECT_ADDRESS),
                }
            }
            Greeting::Goodbye(words) => {
                section.wrong("tls", format!("the other side says: {words}"), to_tls);
                section.skip(&["http2"], "TLS comes first");
                section.skip(&AFTER, "TLS comes first");
            }
            _ => match tokio::join!(speaks_tls(host, address), get_plain(address, "/health")) {
                (true, _) => {
                    section.wrong(
                        "tls",
                        format!("{address} speaks TLS, and plaintext is configured"),
                        to_tls,
                    );
                    section.skip(&["http2"], "TLS comes first");
                    section.skip(&AFTER, "TLS comes first");
                }
                (false, Some(answer)) => {
                    section.push(http1_only(address, &answer.describe(), &answer.body));
                    section.skip(&AFTER, "HTTP/2 is not spoken");
                }
                (false, None) => {
                    let found = format!("{address} speaks neither HTTP/2 nor HTTP/1 nor TLS");
                    section.wrong("http2", found, CORRECT_ADDRESS);
                    section.skip(&AFTER, "HTTP/2 is not spoken");
                }
            },
        }
    }
}

/// Whether a hub behind a proxy reports a request in HTTP/1; any other server is no hub.
fn http1_only(address: SocketAddr, answer: &str, body: &str) -> Line {
    if body.contains("speaks HTTP/2 only") {
        let found =
            format!("a proxy at {address} speaks HTTP/1 only, and so to the hub behind it, who refuses that");
        return Line::wrong("http2", found, PASS_HTTP2);
    }
    let found = format!("{address} speaks HTTP/1 only ({answer}): a proxy, or not a hub at all");
    let remedy = format!("{PASS_HTTP2}; if there is no proxy: {CORRECT_ADDRESS}");
    Line::wrong("http2", found, remedy)
}
