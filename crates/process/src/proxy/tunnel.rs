//! `CONNECT`: a connection to somewhere else, made by the proxy.

use std::io;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::{Proxy, ProxyError};

/// Proxies answer in a few lines; an error page is not read.
const LONGEST_ANSWER: usize = 16 * 1024;

// === impl Proxy ===

impl Proxy {
    /// Connects to a host through the proxy; the stream then belongs to the caller and that host.
    pub async fn tunnel(&self, host: &str, port: u16) -> Result<TcpStream, ProxyError> {
        self.tunnel_by(TcpStream::connect(self.place()), host, port).await
    }

    /// Where the proxy takes connections.
    pub fn place(&self) -> (&str, u16) {
        (&self.host, self.port)
    }

    /// Connects to a host through the proxy, given a way to connect to the proxy's place.
    pub async fn tunnel_by(
        &self,
        connecting: impl Future<Output = io::Result<TcpStream>>,
        host: &str,
        port: u16,
    ) -> Result<TcpStream, ProxyError> {
        let proxy = self.to_string();
        let mut stream = connecting.await.map_err(|source| ProxyError::Unreachable { proxy, source })?;
        let bare = host.trim_matches(['[', ']']);
        let target = if bare.contains(':') { format!("[{bare}]:{port}") } else { format!("{bare}:{port}") };
        let head = self.ask(&mut stream, &target).await.map_err(|source| ProxyError::Broken {
            proxy: self.to_string(),
            target: target.clone(),
            source,
        })?;
        self.judge(&head, target)?;
        Ok(stream)
    }

    async fn ask(&self, stream: &mut TcpStream, target: &str) -> io::Result<Vec<u8>> {
        stream.set_nodelay(true)?;
        let mut question =
            format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\nUser-Agent: spindrift\r\n");
        if let Some(authorization) = &self.authorization {
            question.push_str("Proxy-Authorization: ");
            question.push_str(authorization);
            question.push_str("\r\n");
        }
        question.push_str("\r\n");
        stream.write_all(question.as_bytes()).await?;
        // Byte by byte, once per connection: the first bytes of a server that sends first must not be consumed here.
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") && !head.ends_with(b"\n\n") {
            // A server of another protocol may send for ever, or wait for us.
            if head.len() == LONGEST_ANSWER || !is_beginning(&head) {
                break;
            }
            head.push(stream.read_u8().await?);
        }
        Ok(head)
    }

    fn judge(&self, head: &[u8], target: String) -> Result<(), ProxyError> {
        let proxy = self.to_string();
        let line = head.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let line = String::from_utf8_lossy(line);
        let (version, answer) = line.trim().split_once(' ').unwrap_or((&line, ""));
        let code: Option<u16> = answer.get(..3).and_then(|code| code.parse().ok());
        match code.filter(|_| version.starts_with(BEGINNING)) {
            Some(200..300) => Ok(()),
            Some(407) => Err(ProxyError::Credentials { proxy }),
            Some(_) => Err(ProxyError::Refused { proxy, target, answer: answer.trim().to_owned() }),
            None => Err(ProxyError::Nonsense { proxy }),
        }
    }
}

const BEGINNING: &str = "HTTP/1.";

fn is_beginning(head: &[u8]) -> bool {
    head.iter().zip(BEGINNING.as_bytes()).all(|(heard, expected)| heard == expected)
}
