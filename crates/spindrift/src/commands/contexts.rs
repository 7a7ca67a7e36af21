//! Contexts of the user's kubeconfig; `up` uses them only on request.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use spindrift_kubernetes::Kubeconfig;

/// Kubeconfig file and its contexts.
#[derive(Debug)]
pub(crate) struct Contexts {
    pub(crate) file: PathBuf,
    pub(crate) names: Vec<String>,
    pub(crate) current: Option<String>,
}

// === impl Contexts ===

impl Contexts {
    /// Reads the given file, else the one of `KUBECONFIG` or the home directory.
    pub(crate) fn find(wanted: Option<&Path>) -> anyhow::Result<Option<Self>> {
        let file = match wanted {
            Some(file) => file.to_owned(),
            None => match default_file() {
                Some(file) if file.is_file() => file,
                _ => return Ok(None),
            },
        };
        let kubeconfig =
            Kubeconfig::read_from(&file).with_context(|| format!("read kubeconfig {}", file.display()))?;
        let current = kubeconfig.current_context().map(str::to_owned);
        Ok(Some(Self { file, names: kubeconfig.context_names(), current }))
    }

    /// Requested contexts, which must exist; without any, the current context of the file.
    pub(crate) fn choose(&self, wanted: &[String]) -> anyhow::Result<Vec<String>> {
        if let Some(missing) = wanted.iter().find(|name| !self.names.contains(name)) {
            bail!(
                "--context: context {missing:?} not found in {}; it has {}",
                self.file.display(),
                self.names.join(", ")
            );
        }
        match (&self.current, wanted) {
            (_, [_, ..]) => Ok(wanted.to_vec()),
            (Some(current), []) if self.names.contains(current) => Ok(vec![current.clone()]),
            _ => bail!(
                "{} has no current context; select one of its contexts with --context: {}",
                self.file.display(),
                self.names.join(", ")
            ),
        }
    }
}

fn default_file() -> Option<PathBuf> {
    if let Some(paths) = std::env::var_os("KUBECONFIG") {
        return std::env::split_paths(&paths).find(|path| path.is_file());
    }
    std::env::home_dir().map(|home| home.join(".kube/config"))
}
