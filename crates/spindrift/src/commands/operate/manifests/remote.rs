//! Manifests from URLs.

use std::time::Duration;

use anyhow::{Context as _, ensure};

/// Deadline of a whole download.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Largest manifest: more than any object that an API server accepts, times some.
const MAX_BYTES: usize = 32 << 20;

/// Whether a file name is a URL.
pub(super) fn is_url(path: &str) -> bool {
    path.starts_with("http://") || path.starts_with("https://")
}

/// Downloads a text.
pub(super) async fn fetch(url: &str) -> anyhow::Result<String> {
    let client = reqwest::Client::builder()
        .user_agent(concat!("spindrift/", env!("CARGO_PKG_VERSION")))
        .timeout(TIMEOUT)
        .build()
        .context("create an HTTP client")?;
    // reqwest's errors name the URL, with any password in it.
    let failed = |error: reqwest::Error| anyhow::Error::from(error.without_url());
    let unreadable = || format!("unable to read URL {url:?}");
    let mut response = client.get(url).send().await.map_err(failed).with_context(unreadable)?;
    let status = response.status();
    ensure!(
        status.is_success(),
        "unable to read URL {url:?}, server reported {status}, status code={}",
        status.as_u16()
    );
    let mut body = Vec::new();
    while let Some(bytes) = response.chunk().await.map_err(failed).with_context(unreadable)? {
        ensure!(body.len() + bytes.len() <= MAX_BYTES, "unable to read URL {url:?}: it has more than 32 MiB");
        body.extend_from_slice(&bytes);
    }
    String::from_utf8(body).with_context(|| format!("unable to read URL {url:?}: expected UTF-8"))
}
