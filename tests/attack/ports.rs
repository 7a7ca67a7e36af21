//! Bytes of other protocols, and of none, on both ports.

use std::{io::Write, net::TcpStream};

use crate::target::Target;

/// Openings that no client of the hub sends.
const OPENINGS: &[(&str, &[u8])] = &[
    ("zeros", &[0; 4096]),
    ("ones", &[0xff; 4096]),
    ("TLS alert", b"\x15\x03\x01\x00\x02\x02\x28"),
    ("SOCKS 5", b"\x05\x01\x00"),
    ("PROXY protocol", b"PROXY TCP4 127.0.0.1 127.0.0.1 1 2\r\n"),
    ("SSH", b"SSH-2.0-OpenSSH_9.2\r\n"),
    ("HTTP/2 preface, then garbage", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\xff\xff\xff\xff\xff\xff\xff\xff\xff"),
    ("two lengths", b"POST /v1/accounts HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello"),
    ("length and chunks", b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET / HTTP/1.1\r\n\r\n"),
];

pub(crate) async fn garbage(target: &mut Target) {
    let ports = [("gRPC", target.hub.grpc().to_string()), ("REST", target.hub.url().replace("http://", ""))];
    for (port, address) in ports {
        for (opening, bytes) in OPENINGS {
            let bytes = bytes.repeat(target.scale.pick(1, 100));
            // The hub may close the connection before all of it is written.
            let written = TcpStream::connect(&address).map(|mut stream| stream.write_all(&bytes).ok());
            target.case(format!("{opening} on {port}"), written.map(drop).map_err(|error| error.to_string()));
            let health = target.hub.get("/health").await;
            target.check(format!("/health after {opening} on {port}"), health.is_ok(), format!("{health:?}"));
        }
    }
}
