//! Downloads of a URL that a caller names: redirects are followed, and each server is checked.

use axum::{
    body::Body,
    extract::Request,
    http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header},
    response::Response,
};
use base64::{Engine, prelude::BASE64_STANDARD};
use percent_encoding::percent_decode_str;
use tokio::time::{Instant, timeout_at};
use url::{Origin, Position, Url};

pub(crate) use super::limit::DownloadLimits;
use super::{HttpClient, HttpClientError, TargetRefused, USER_AGENT, limit::limited};

/// Redirects that are followed, as browsers and Clouddriver's client do.
const MOST_REDIRECTS: usize = 20;

/// Request for a file.
#[derive(Debug)]
pub(crate) struct Download<'a> {
    pub(crate) url: Url,
    /// Credentials, and the servers that receive them.
    pub(crate) credentials: Option<(HeaderValue, &'a [Origin])>,
    pub(crate) limits: DownloadLimits,
}

/// Reason why a file was not downloaded.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DownloadError {
    #[error(transparent)]
    Refused(TargetRefused),
    #[error("redirected to {0}, which is no http or https URL")]
    Redirect(String),
    #[error("redirected more than {MOST_REDIRECTS} times")]
    TooManyRedirects,
    #[error("it responded with {0}")]
    Status(StatusCode),
    #[error("it has {0} bytes, more than {1}")]
    TooLarge(u64, u64),
    #[error("deadline exceeded")]
    Deadline,
    #[error("it is no URL of a request")]
    Url(#[from] axum::http::Error),
    #[error(transparent)]
    Failed(HttpClientError),
}

// === impl HttpClient ===

impl HttpClient {
    /// Requests a file. The body of the response is limited as the download is.
    pub(crate) async fn download(&self, download: Download<'_>) -> Result<Response, DownloadError> {
        let limits = download.limits;
        let deadline = Instant::now() + limits.total;
        let response = timeout_at(deadline, self.follow(download)).await;
        let response = response.unwrap_or(Err(DownloadError::Deadline))?;
        let status = response.status();
        if !status.is_success() {
            return Err(DownloadError::Status(status));
        }
        if let Some(length) = content_length(response.headers()).filter(|length| *length > limits.bytes) {
            return Err(DownloadError::TooLarge(length, limits.bytes));
        }
        Ok(response.map(|body| limited(body, limits, deadline)))
    }

    async fn follow(&self, download: Download<'_>) -> Result<Response, DownloadError> {
        let Download { mut url, credentials, limits: _ } = download;
        let mut own_credentials = user_info(&url).map(|value| (value, url.origin()));
        for _ in 0..=MOST_REDIRECTS {
            if let Some(restrictions) = &self.restrictions {
                restrictions.check_url(&url).map_err(DownloadError::Refused)?;
            }
            let origin = url.origin();
            let given = credentials.as_ref().filter(|(_, servers)| servers.contains(&origin));
            let own = own_credentials.as_ref().filter(|(_, server)| *server == origin);
            let authorization = given.map(|(value, _)| value).or(own.map(|(value, _)| value));
            let response = self.send(request(&url, authorization)?).await.map_err(DownloadError::of)?;
            let Some(next) = redirect(&response, &url)? else { return Ok(response) };
            // What a server writes into a redirect is no credential of the caller.
            if next.origin() != origin {
                own_credentials = None;
            }
            url = next;
        }
        Err(DownloadError::TooManyRedirects)
    }
}

fn request(url: &Url, authorization: Option<&HeaderValue>) -> Result<Request, axum::http::Error> {
    // Without user info and fragment, which are not sent.
    let path = &url[Position::BeforePath..Position::AfterQuery];
    let authority = &url[Position::BeforeHost..Position::AfterPort];
    let uri = Uri::builder().scheme(url.scheme()).authority(authority).path_and_query(path).build()?;
    let mut request = Request::new(Body::empty());
    *request.method_mut() = Method::GET;
    *request.uri_mut() = uri;
    let mut headers: Vec<(HeaderName, HeaderValue)> =
        vec![(header::USER_AGENT, USER_AGENT), (header::ACCEPT, HeaderValue::from_static("*/*"))];
    headers.extend(authorization.map(|value| (header::AUTHORIZATION, value.clone())));
    request.headers_mut().extend(headers);
    Ok(request)
}

/// URL to which a response redirects.
fn redirect(response: &Response, from: &Url) -> Result<Option<Url>, DownloadError> {
    if !matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
        return Ok(None);
    }
    let Some(location) = response.headers().get(header::LOCATION) else { return Ok(None) };
    let location = String::from_utf8_lossy(location.as_bytes());
    let next = from.join(&location).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
    next.map(Some).ok_or_else(|| DownloadError::Redirect(location.into_owned()))
}

fn content_length(headers: &HeaderMap) -> Option<u64> {
    headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// `Authorization` for the user and password of a URL.
fn user_info(url: &Url) -> Option<HeaderValue> {
    let decode = |text: &str| percent_decode_str(text).collect::<Vec<u8>>();
    let password = url.password().map(decode);
    if url.username().is_empty() && password.is_none() {
        return None;
    }
    basic(&decode(url.username()), &password.unwrap_or_default())
}

/// `Authorization` of a user.
pub(crate) fn basic(user: &[u8], password: &[u8]) -> Option<HeaderValue> {
    let plain = [user, b":", password].concat();
    let mut value = HeaderValue::try_from(format!("Basic {}", BASE64_STANDARD.encode(plain))).ok()?;
    value.set_sensitive(true);
    Some(value)
}

// === impl DownloadError ===

impl DownloadError {
    fn of(error: HttpClientError) -> Self {
        match error {
            HttpClientError::Refused(refused) => Self::Refused(refused),
            HttpClientError::Proxy(_) | HttpClientError::Failed(_) => Self::Failed(error),
        }
    }
}
