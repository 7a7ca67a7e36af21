//! Downloads from servers on loopback addresses; names are resolved by a table, so that nothing else is dialled.

use std::{collections::HashMap, net::IpAddr, sync::Arc, time::Duration};

use parking_lot::Mutex;
use serde_json::{Value, json};
use spindrift_process::{config::Env, proxy::Proxies};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
    task::JoinSet,
};
use url::Url;

use super::*;

/// TestServer that responds to every request alike, and records their heads.
struct TestServer {
    url: Url,
    requests: Arc<Mutex<Vec<String>>>,
    _tasks: JoinSet<()>,
}

impl TestServer {
    async fn start(address: &str, response: impl Into<String>) -> Self {
        let listener = TcpListener::bind((address, 0)).await.unwrap();
        let url = Url::parse(&format!("http://{}/file", listener.local_addr().unwrap())).unwrap();
        let (response, requests) = (response.into(), Arc::new(Mutex::new(vec![])));
        let mut tasks = JoinSet::new();
        let seen = requests.clone();
        tasks.spawn(async move {
            while let Ok((mut connection, _)) = listener.accept().await {
                let mut head = vec![];
                while !head.ends_with(b"\r\n\r\n") {
                    head.push(connection.read_u8().await.unwrap());
                }
                seen.lock().push(String::from_utf8(head).unwrap());
                connection.write_all(response.as_bytes()).await.unwrap();
            }
        });
        Self { url, requests, _tasks: tasks }
    }

    async fn with_file(address: &str) -> Self {
        Self::start(address, "HTTP/1.1 200 OK\r\ncontent-length: 5\r\nconnection: close\r\n\r\nbytes").await
    }

    async fn redirecting(address: &str, to: &str) -> Self {
        let head =
            format!("HTTP/1.1 302 Found\r\nlocation: {to}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
        Self::start(address, head).await
    }

    fn requests(&self) -> Vec<String> {
        self.requests.lock().clone()
    }
}

fn client(restrictions: Value, names: &[(&str, &str)], proxy: Option<&str>) -> HttpClient {
    let table: HashMap<String, Vec<IpAddr>> =
        names.iter().map(|(name, address)| ((*name).to_owned(), vec![address.parse().unwrap()])).collect();
    let settings = serde_json::from_value(restrictions).unwrap();
    let env = proxy.map(|proxy| ("HTTP_PROXY", proxy)).into_iter().collect();
    let restrictions = UrlRestrictions::build("urlRestrictions", &settings, vec![], &Env::default()).unwrap();
    HttpClient::new(HttpClientSettings {
        connect_timeout: Duration::from_secs(5),
        tls: TlsSource::system(),
        proxies: Proxies::of(&env),
        restrictions: Some(Arc::new(restrictions)),
        resolver: Resolver::Table(Arc::new(table)),
    })
}

async fn get(client: &HttpClient, url: &str, login_for: Option<&Url>) -> Result<String, DownloadError> {
    let servers: Vec<_> = login_for.into_iter().map(Url::origin).collect();
    let limits =
        DownloadLimits { bytes: 100, total: Duration::from_secs(30), pause: Duration::from_secs(30) };
    let url = Url::parse(url).unwrap();
    let credentials = Some((basic(b"ann", b"secret").unwrap(), &*servers));
    let response = client.download(Download { url, credentials, limits }).await?;
    let body = axum::body::to_bytes(response.into_body(), usize::MAX).await.unwrap();
    Ok(String::from_utf8(body.to_vec()).unwrap())
}

/// Restrictions that allow addresses on this host one by one.
fn only(addresses: &[&str]) -> Value {
    json!({ "allowedIps": addresses })
}

#[tokio::test]
async fn a_name_that_resolves_to_this_host_is_not_dialled() {
    let server = TestServer::with_file("127.0.0.1").await;
    let port = server.url.port().unwrap();
    let names = &[("rebind.example.com", "127.0.0.1"), ("mapped.example.com", "::ffff:127.0.0.1")];
    let client = client(json!({}), names, None);
    for name in ["rebind.example.com", "mapped.example.com"] {
        let refused = get(&client, &format!("http://{name}:{port}/file"), None).await.unwrap_err();
        assert!(matches!(refused, DownloadError::Refused(_)), "{refused}");
        assert!(refused.to_string().contains("127.0.0.1 is not allowed"), "{refused}");
    }
    assert_eq!(server.requests(), Vec::<String>::new());
    let allowing = super::tests::client(only(&["127.0.0.1"]), names, None);
    let url = format!("http://rebind.example.com:{port}/file");
    assert_eq!(get(&allowing, &url, None).await.unwrap(), "bytes");
    assert!(server.requests()[0].contains(&format!("host: rebind.example.com:{port}")));
}

#[tokio::test]
async fn every_redirect_is_checked_before_it_is_followed() {
    let inner = TestServer::with_file("127.0.0.3").await;
    let outer = TestServer::redirecting("127.0.0.2", inner.url.as_str()).await;
    let strict = client(only(&["127.0.0.2"]), &[], None);
    let refused = get(&strict, outer.url.as_str(), None).await.unwrap_err();
    assert!(refused.to_string().contains("127.0.0.3 is not allowed"), "{refused}");
    assert_eq!(inner.requests().len(), 0);
    let open = client(only(&["127.0.0.2", "127.0.0.3"]), &[], None);
    assert_eq!(get(&open, outer.url.as_str(), None).await.unwrap(), "bytes");
    let endless = TestServer::redirecting("127.0.0.2", "/again").await;
    let error = get(&open, endless.url.as_str(), None).await.unwrap_err();
    assert!(matches!(error, DownloadError::TooManyRedirects), "{error}");
    let elsewhere = TestServer::redirecting("127.0.0.2", "file:///etc/passwd").await;
    let error = get(&open, elsewhere.url.as_str(), None).await.unwrap_err();
    assert!(matches!(error, DownloadError::Redirect(_)), "{error}");
}

#[tokio::test]
async fn credentials_are_sent_to_their_server_only() {
    let other = TestServer::with_file("127.0.0.2").await;
    let own = TestServer::redirecting("127.0.0.2", other.url.as_str()).await;
    let client = client(only(&["127.0.0.2"]), &[], None);
    get(&client, own.url.as_str(), Some(&own.url)).await.unwrap();
    assert!(own.requests()[0].contains("authorization: Basic YW5uOnNlY3JldA=="), "{:?}", own.requests());
    assert!(!other.requests()[0].contains("authorization"), "{:?}", other.requests());
    // Those of the URL itself are for its server, too.
    let mut url = own.url.clone();
    url.set_username("eve").unwrap();
    get(&client, url.as_str(), None).await.unwrap();
    assert!(own.requests()[1].contains("authorization: Basic ZXZlOg=="), "{:?}", own.requests());
    assert!(!other.requests()[1].contains("authorization"), "{:?}", other.requests());
}

#[tokio::test]
async fn a_proxy_receives_plain_requests_with_the_whole_url() {
    let proxy = TestServer::with_file("127.0.0.1").await;
    let address = format!("http://ann:pw@127.0.0.1:{}", proxy.url.port().unwrap());
    let names = &[("files.example.com", "1.1.1.1"), ("inner.example.com", "10.0.0.1")];
    let client = client(json!({}), names, Some(&address));
    assert_eq!(get(&client, "http://files.example.com/a?b", None).await.unwrap(), "bytes");
    let [request] = &*proxy.requests() else { panic!("{:?}", proxy.requests()) };
    assert!(request.starts_with("GET http://files.example.com/a?b HTTP/1.1\r\n"), "{request}");
    assert!(request.contains("proxy-authorization: Basic YW5uOnB3"), "{request}");
    assert!(matches!(get(&client, "http://inner.example.com/", None).await, Err(DownloadError::Refused(_))));
}

#[tokio::test]
async fn a_name_that_only_a_proxy_can_resolve_has_to_be_allowed() {
    let proxy = TestServer::with_file("127.0.0.1").await;
    let address = format!("http://127.0.0.1:{}", proxy.url.port().unwrap());
    let unknown = "http://unknown.example.com/";
    let refusing = client(json!({}), &[], Some(&address));
    let error = get(&refusing, unknown, None).await.unwrap_err();
    assert!(
        matches!(error, DownloadError::Refused(_)) && error.to_string().contains("allowedDomains"),
        "{error}"
    );
    assert!(proxy.requests().is_empty());
    let allowing = client(json!({ "allowedDomains": ["unknown.example.com"] }), &[], Some(&address));
    assert_eq!(get(&allowing, unknown, None).await.unwrap(), "bytes");
}

#[tokio::test]
async fn a_file_that_is_too_large_is_not_received() {
    let server = TestServer::start("127.0.0.2", "HTTP/1.1 200 OK\r\ncontent-length: 101\r\n\r\n").await;
    let client = client(only(&["127.0.0.2"]), &[], None);
    let error = get(&client, server.url.as_str(), None).await.unwrap_err();
    assert!(matches!(error, DownloadError::TooLarge(101, 100)), "{error}");
}
