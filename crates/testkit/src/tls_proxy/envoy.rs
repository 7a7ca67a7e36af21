//! Configuration of Envoy.

use serde_json::{Value, json};

use super::ProxyFile;

/// Returns the file: the defaults of Envoy, save for what a test needs. JSON is YAML.
pub(super) fn config(file: &ProxyFile<'_>) -> String {
    let ProxyFile { listen, hub, directory: _, options } = file;
    let https = json!({ "name": ":scheme", "string_match": { "exact": "https" } });
    let mut manager = json!({
        "@type": "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
        "stat_prefix": "hub",
        "http_filters": [{
            "name": "envoy.filters.http.router",
            "typed_config": { "@type": "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router" },
        }],
        "route_config": { "virtual_hosts": [{
            "name": "hub",
            "domains": ["*"],
            "routes": [{ "match": { "prefix": "/", "headers": [https] }, "route": { "cluster": "hub" } }],
        }] },
    });
    if let Some(idle) = options.idle {
        manager["stream_idle_timeout"] = json!(format!("{}s", idle.as_secs()));
    }
    let filter = json!({ "name": "envoy.filters.network.http_connection_manager", "typed_config": manager });
    let (certificate, key) = (&options.identity.certificate, &options.identity.key);
    let tls = json!({
        "@type": "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext",
        "common_tls_context": {
            "alpn_protocols": ["h2"],
            "tls_certificates": [{
                "certificate_chain": { "filename": certificate },
                "private_key": { "filename": key },
            }],
        },
    });
    let http2_options = json!({
        "@type": "type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions",
        "explicit_http_config": { "http2_protocol_options": {} },
    });
    let address = |ip: String, port: u16| -> Value {
        json!({ "socket_address": { "address": ip, "port_value": port } })
    };
    let config = json!({ "static_resources": {
        "listeners": [{
            "name": "agents",
            "address": address(listen.ip().to_string(), listen.port()),
            "filter_chains": [{
                "filters": [filter],
                "transport_socket": { "name": "envoy.transport_sockets.tls", "typed_config": tls },
            }],
        }],
        "clusters": [{
            "name": "hub",
            "type": "STATIC",
            "typed_extension_protocol_options": { "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": http2_options },
            "load_assignment": { "cluster_name": "hub", "endpoints": [{ "lb_endpoints": [{
                "endpoint": { "address": address(hub.ip().to_string(), hub.port()) },
            }] }] },
        }],
    } });
    config.to_string()
}
