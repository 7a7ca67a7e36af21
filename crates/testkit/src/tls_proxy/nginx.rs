//! Configuration of nginx.

use super::{ProxyFile, TlsProxyKind};

/// Returns the file: the defaults of nginx, save for what a test needs.
pub(super) fn config(file: &ProxyFile<'_>) -> String {
    let ProxyFile { listen, hub, directory, options } = file;
    let directory = directory.display();
    // Workers run as root where the master does: they read files of the test's own.
    let common = format!(
        "daemon off;\nuser root root;\nworker_processes 1;\npid {directory}/pid;\nerror_log stderr;\nevents {{}}\n"
    );
    let idle = options.idle.map(|idle| idle.as_secs());
    if options.kind == TlsProxyKind::NginxPassThrough {
        let idle = idle.map(|seconds| format!("proxy_timeout {seconds}s;")).unwrap_or_default();
        return format!(
            "load_module /usr/lib/nginx/modules/ngx_stream_module.so;\n{common}\
             stream {{ server {{ listen {listen}; proxy_pass {hub}; {idle} }} }}\n"
        );
    }
    let names = ["grpc_read_timeout", "grpc_send_timeout", "client_body_timeout", "send_timeout"];
    let idle: String =
        idle.map(|seconds| names.map(|name| format!("{name} {seconds}s; ")).concat()).unwrap_or_default();
    let (certificate, key) = (options.identity.certificate.display(), options.identity.key.display());
    format!(
        "{common}http {{
  access_log off;
  client_body_temp_path {directory}/body;
  proxy_temp_path {directory}/proxy;
  fastcgi_temp_path {directory}/fastcgi;
  uwsgi_temp_path {directory}/uwsgi;
  scgi_temp_path {directory}/scgi;
  # By default a stream ends when one megabyte was sent on it.
  client_max_body_size 0;
  {idle}
  server {{
    listen {listen} ssl http2;
    ssl_certificate {certificate};
    ssl_certificate_key {key};
    location / {{ grpc_pass grpc://{hub}; }}
  }}
}}
"
    )
}
