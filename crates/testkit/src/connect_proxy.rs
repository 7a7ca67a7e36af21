//! A proxy of `CONNECT`, as companies put them before the world.

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::Context;
use parking_lot::Mutex;
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// A proxy that leads to one target, whatever name clients request; dropping it closes everything.
pub struct ConnectProxy {
    addr: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
    /// Dropping it ends the acceptor, who owns the connections.
    _acceptor: JoinSet<()>,
}

/// Behaviour of a proxy towards its clients.
#[derive(Debug, Clone)]
pub enum Manners {
    /// Connects them.
    Faithful,
    /// Connects clients with this user and password, written as `user:password`, in base64.
    Wants(&'static str),
    /// Refuses every client.
    Refuses,
    /// Is something else altogether.
    Nonsense,
    /// Hangs up in the middle of a conversation.
    HangsUp,
}

// === impl ConnectProxy ===

impl ConnectProxy {
    pub async fn start(target: SocketAddr, manners: Manners) -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await.context("listen for the proxy")?;
        let addr = listener.local_addr()?;
        let asked = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&asked);
        let mut acceptor = JoinSet::new();
        acceptor.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((client, _)) = listener.accept().await {
                connections.spawn(serve(client, target, manners.clone(), Arc::clone(&seen)));
            }
        });
        Ok(Self { addr, asked, _acceptor: acceptor })
    }

    /// Where clients connect to.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Targets that clients requested, such as `api.example:6443`.
    pub fn asked(&self) -> Vec<String> {
        self.asked.lock().clone()
    }
}

/// Serves a client; one that leaves in the middle is no failure of the proxy.
async fn serve(mut client: TcpStream, target: SocketAddr, manners: Manners, asked: Arc<Mutex<Vec<String>>>) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let Ok(byte) = client.read_u8().await else { return };
        head.push(byte);
    }
    let head = String::from_utf8_lossy(&head);
    let wanted = head.strip_prefix("CONNECT ").and_then(|rest| rest.split(' ').next());
    asked.lock().extend(wanted.map(str::to_owned));
    let answer = match manners {
        Manners::Wants(user) if !head.contains(&format!("Proxy-Authorization: Basic {user}\r\n")) => {
            "HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic\r\n\r\n"
        }
        Manners::Faithful | Manners::Wants(_) => "HTTP/1.1 200 Connection established\r\nVia: test\r\n\r\n",
        Manners::Refuses => "HTTP/1.1 403 Not for you\r\nContent-Length: 2\r\n\r\nno",
        Manners::Nonsense => "SSH-2.0-OpenSSH_9.2\r\n",
        Manners::HangsUp => "HTTP/1.1 200",
    };
    if client.write_all(answer.as_bytes()).await.is_err() || !answer.contains("200 Connection") {
        return;
    }
    if let Ok(mut server) = TcpStream::connect(target).await {
        copy_bidirectional(&mut client, &mut server).await.ok();
    }
}
