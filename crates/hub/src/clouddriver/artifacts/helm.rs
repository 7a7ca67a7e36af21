//! Index and charts of a Helm repository.

use std::collections::BTreeMap;

use axum::body::Body;
use serde::Deserialize;
use spindrift_spinnaker::Refusal;
use url::Url;

use super::{
    invalid,
    login::ServerLogin,
    version::ChartVersion,
    web::{self, Web},
};

/// Size of an index; the largest public repositories have some 20 MiB.
const LARGEST_INDEX: u64 = 64 * 1024 * 1024;

/// Helm repository.
#[derive(Debug)]
pub(super) struct Repository {
    url: String,
    login: Option<ServerLogin>,
    web: Web,
}

/// `index.yaml` of a repository.
#[derive(Debug, Deserialize)]
pub(super) struct Index {
    #[serde(default)]
    entries: BTreeMap<String, Vec<Chart>>,
}

#[derive(Debug, Deserialize)]
struct Chart {
    #[serde(default)]
    version: String,
    #[serde(default)]
    urls: Vec<String>,
}

// === impl Repository ===

impl Repository {
    pub(super) fn new(url: &str, login: Option<ServerLogin>, web: Web) -> Self {
        Self { url: url.trim().trim_end_matches('/').to_owned(), login, web }
    }

    fn index_url(&self) -> Result<Url, Refusal> {
        let text = format!("{}/index.yaml", self.url);
        let url = Url::parse(&text).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
        url.ok_or_else(|| {
            Refusal::internal(format!(
                "artifacts.helm.accounts[].repository: expected an http or https URL, found {:?}",
                self.url
            ))
        })
    }

    pub(super) async fn index(&self) -> Result<Index, Refusal> {
        let text = self.web.whole(self.index_url()?, self.login.as_ref(), LARGEST_INDEX).await?;
        Index::parse(&text).map_err(|error| Refusal::bad_gateway(format!("{}/index.yaml: {error}", self.url)))
    }

    /// Downloads the index itself.
    pub(super) async fn fetch_index(&self) -> Result<Body, Refusal> {
        self.web.get(self.index_url()?, self.login.as_ref()).await
    }

    /// Downloads a chart. The index may name another server, which does not receive the login (CVE-2021-32690).
    pub(super) async fn fetch_chart(&self, name: &str, version: Option<&str>) -> Result<Body, Refusal> {
        let index = self.index().await?;
        let url = web::parse(&self.chart_url(&index, name, version)?)?;
        self.web.get(url, self.login.as_ref()).await
    }

    /// URL of a chart; of its highest version if none is given.
    fn chart_url(&self, index: &Index, name: &str, version: Option<&str>) -> Result<String, Refusal> {
        let chart = index.chart(name, version).ok_or_else(|| {
            let version = version.unwrap_or("latest");
            Refusal::not_found(format!(
                "Chart not found (repository: {}, name: {name}, version: {version})",
                self.url
            ))
        })?;
        let url =
            chart.urls.first().ok_or_else(|| invalid(format!("chart {name} has no URL in {}", self.url)))?;
        // Relative URLs start at the directory of the index.
        let resolved = Url::parse(&format!("{}/", self.url)).and_then(|base| base.join(url));
        resolved.map(Into::into).map_err(|error| invalid(format!("the URL of chart {name}, {url}: {error}")))
    }
}

// === impl Index ===

impl Index {
    fn parse(text: &[u8]) -> Result<Self, serde_saphyr::Error> {
        // The size of an index is limited above; only its depth needs a limit here.
        let options = serde_saphyr::options! { with_snippet: false, budget: None };
        serde_saphyr::from_slice_with_options(text, options)
    }

    pub(super) fn names(&self) -> Vec<String> {
        self.entries.keys().cloned().collect()
    }

    pub(super) fn versions(&self, name: &str) -> Vec<String> {
        self.entries.get(name).into_iter().flatten().map(|chart| chart.version.clone()).collect()
    }

    /// Finds a chart. Indexes need not be sorted; of two entries with the same version the first counts.
    fn chart(&self, name: &str, version: Option<&str>) -> Option<&Chart> {
        let mut charts = self.entries.get(name)?.iter();
        match version {
            Some(version) => charts.find(|chart| chart.version == version),
            None => charts.rev().max_by_key(|chart| ChartVersion::of(&chart.version)),
        }
    }
}

#[cfg(test)]
mod tests {
    use spindrift_process::config::Env;

    use super::{super::web::WebSettings, *};
    use crate::{
        config::{ArtifactSettings, UrlRestrictionSettings},
        http_client::UrlRestrictions,
    };

    const INDEX: &str = "apiVersion: v1\nentries:\n  shop:\n    - {name: shop, version: 2.0.1, urls: [charts/shop-2.0.1.tgz]}\n    \
        - {name: shop, version: 1.0.0, urls: ['https://else.example.com/shop-1.0.0.tgz'], appVersion: \"1\"}\n  bare: [{version: 1.0.0}]\n  \
        mixed: [{version: 1.9.0, urls: [a.tgz]}, {version: 1.10.0, urls: [high.tgz]}, {version: 1.10.0-rc.1, urls: [b.tgz]}]\n";

    fn repository(url: &str) -> Repository {
        let settings = WebSettings::new(&ArtifactSettings::default(), &Env::default());
        let rules = UrlRestrictionSettings::default();
        let restrictions = UrlRestrictions::build("helm", &rules, vec![], &Env::default()).unwrap();
        Repository::new(url, None, Web::new(&settings, restrictions))
    }

    #[test]
    fn charts_are_found_in_an_index() {
        let index = Index::parse(INDEX.as_bytes()).unwrap();
        let repository = repository("https://charts.example.com/stable/");
        assert_eq!(repository.index_url().unwrap().as_str(), "https://charts.example.com/stable/index.yaml");
        assert_eq!(
            (index.names(), index.versions("shop")),
            (vec!["bare".into(), "mixed".into(), "shop".into()], vec!["2.0.1".into(), "1.0.0".into()])
        );
        let url = |name, version| repository.chart_url(&index, name, version);
        assert_eq!(url("shop", None).unwrap(), "https://charts.example.com/stable/charts/shop-2.0.1.tgz");
        assert_eq!(url("shop", Some("1.0.0")).unwrap(), "https://else.example.com/shop-1.0.0.tgz");
        assert_eq!(url("shop", Some("9")).unwrap_err().status, 404);
        assert_eq!(url("nope", None).unwrap_err().status, 404);
        assert_eq!(url("mixed", None).unwrap(), "https://charts.example.com/stable/high.tgz");
        assert_eq!(url("bare", None).unwrap_err().status, 400);
        assert!(Index::parse(b"entries: [1").is_err());
    }
}
