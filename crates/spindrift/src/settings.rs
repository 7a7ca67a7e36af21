//! Configuration file of the user: hubs by name.
//!
//! ```yaml
//! current: prod
//! hubs:
//!   prod:
//!     url: https://hub.example.com
//! ```

use std::{
    collections::BTreeMap,
    io::Write,
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use anyhow::{Context, bail};
use reqwest::Url;
use serde::{Deserialize, Serialize};

/// Default address of `spindrift up`.
pub(crate) const DEFAULT_HUB: &str = "http://localhost:7002";

/// Configuration and its file.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) file: PathBuf,
    pub(crate) content: Content,
}

/// Content of the configuration file.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Content {
    /// Hub that is used without `--hub`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) current: Option<String>,
    #[serde(default)]
    pub(crate) hubs: BTreeMap<String, Hub>,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Hub {
    pub(crate) url: String,
}

// === impl Settings ===

impl Settings {
    /// Reads the user's file; a missing file is empty.
    pub(crate) fn load() -> anyhow::Result<Self> {
        Self::read(file()?)
    }

    fn read(file: PathBuf) -> anyhow::Result<Self> {
        let text = match std::fs::read_to_string(&file) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(error).with_context(|| format!("read {}", file.display())),
        };
        let content = if text.trim().is_empty() {
            Content::default()
        } else {
            let options = serde_saphyr::options! { with_snippet: false };
            serde_saphyr::from_str_with_options(&text, options)
                .with_context(|| format!("{} cannot be parsed; fix or remove it", file.display()))?
        };
        Ok(Self { file, content })
    }

    /// URL of a hub given by URL, address or name, or of the current hub.
    pub(crate) fn hub_url(&self, wanted: Option<&str>) -> anyhow::Result<Url> {
        let Content { current, hubs } = &self.content;
        let Some(wanted) = wanted.filter(|wanted| !wanted.is_empty()).or(current.as_deref()) else {
            return parse_url(DEFAULT_HUB);
        };
        if let Some(Hub { url }) = hubs.get(wanted) {
            return parse_url(url).with_context(|| format!("hub {wanted} of {}", self.file.display()));
        }
        if wanted.contains([':', '/']) {
            return parse_url(wanted).context("--hub");
        }
        bail!(self.unknown(wanted));
    }

    /// Error text for an unknown hub; lists the configured ones.
    pub(crate) fn unknown(&self, name: &str) -> String {
        let Self { file, content: Content { hubs, .. } } = self;
        let known = if hubs.is_empty() {
            "it has none".to_owned()
        } else {
            format!("it has {}", hubs.keys().cloned().collect::<Vec<_>>().join(", "))
        };
        let file = file.display();
        format!("hub {name:?} not found in {file}: {known}; add it with: spindrift config set-hub {name} URL")
    }

    /// Replaces the file atomically, readable by the user only.
    pub(crate) fn save(&self) -> anyhow::Result<()> {
        let Self { file, content } = self;
        let directory = file.parent().unwrap_or(Path::new("."));
        let text = serde_saphyr::to_string(content)?;
        let aside = file.with_extension(format!("{}.new", std::process::id()));
        let write = || {
            std::fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
            let mut options = std::fs::File::options();
            let mut new = options.write(true).create(true).truncate(true).mode(0o600).open(&aside)?;
            new.write_all(text.as_bytes())?;
            new.sync_all()?;
            std::fs::rename(&aside, file)
        };
        write()
            .inspect_err(|_| drop(std::fs::remove_file(&aside)))
            .with_context(|| format!("write {}", file.display()))
    }
}

/// Path of the configuration: `SPINDRIFT_CONFIG`, else in the user's configuration directory.
fn file() -> anyhow::Result<PathBuf> {
    let named = |variable| std::env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(file) = named("SPINDRIFT_CONFIG") {
        return Ok(file);
    }
    // The XDG specification requires to ignore relative paths.
    let directory = named("XDG_CONFIG_HOME").filter(|directory| directory.is_absolute());
    let directory = directory.or_else(|| std::env::home_dir().map(|home| home.join(".config")));
    let directory = directory.context("there is no home directory; set SPINDRIFT_CONFIG to a file")?;
    Ok(directory.join("spindrift/config.yml"))
}

/// Parses `http://host:port` or `host:port`.
pub(crate) fn parse_url(text: &str) -> anyhow::Result<Url> {
    let whole = if text.contains("://") { text.to_owned() } else { format!("http://{text}") };
    let mut url: Url =
        whole.parse().with_context(|| format!("{text:?} is not a URL such as {DEFAULT_HUB}"))?;
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        bail!("{text:?} is not a URL such as {DEFAULT_HUB}");
    }
    // Paths are joined to it.
    if !url.path().ends_with('/') {
        url.set_path(&format!("{}/", url.path()));
    }
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(text: &str) -> Settings {
        Settings { file: "config.yml".into(), content: serde_saphyr::from_str(text).unwrap() }
    }

    #[test]
    fn a_hub_is_found_by_name_by_url_by_address_or_by_default() {
        let named = settings("{current: prod, hubs: {prod: {url: 'https://hub.example.com/spin'}}}");
        for (wanted, url) in [
            (None, "https://hub.example.com/spin/"),
            (Some(""), "https://hub.example.com/spin/"),
            (Some("prod"), "https://hub.example.com/spin/"),
            (Some("http://other:1"), "http://other:1/"),
            (Some("other:7002"), "http://other:7002/"),
        ] {
            assert_eq!(named.hub_url(wanted).unwrap().as_str(), url, "{wanted:?}");
        }
        assert_eq!(settings("{}").hub_url(None).unwrap().as_str(), "http://localhost:7002/");
    }

    #[test]
    fn an_unknown_hub_is_an_error_with_the_known_ones() {
        let error = settings("{hubs: {a: {url: 'http://a'}}}").hub_url(Some("b")).unwrap_err().to_string();
        assert_eq!(
            error,
            "hub \"b\" not found in config.yml: it has a; add it with: spindrift config set-hub b URL"
        );
        for senseless in ["ftp://x", "http://", "a b:1"] {
            assert!(settings("{}").hub_url(Some(senseless)).is_err(), "{senseless}");
        }
    }

    #[test]
    fn a_saved_file_is_read_again_and_private() {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("new/config.yml");
        let mut settings = Settings::read(file.clone()).unwrap();
        assert_eq!(settings.content, Content::default());
        settings.content.current = Some("a: b".into());
        settings.content.hubs.insert("a: b".into(), Hub { url: "http://x".into() });
        settings.save().unwrap();
        assert_eq!(Settings::read(file.clone()).unwrap().content, settings.content);
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(
            std::fs::read_dir(file.parent().unwrap()).unwrap().count(),
            1,
            "nothing is left beside it"
        );
    }

    #[test]
    fn an_invalid_file_is_an_error_with_its_name() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("config.yml");
        std::fs::write(&file, "hub: x\n").unwrap();
        let error = format!("{:#}", Settings::read(file).unwrap_err());
        assert!(error.contains("config.yml cannot be parsed") && error.contains("hub"), "{error}");
    }
}
