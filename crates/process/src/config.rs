//! Configuration from YAML files, profiles and the environment, as in Spring.
//!
//! ```text
//! locate ─▶ parse ─▶ canonical ─▶ merge ─▶ overrides ─▶ placeholder ─▶ secrets ─▶ read ─▶ settings
//! which     YAML     spelling     base +    CLOUDDRIVER_   ${key}        encrypted:  types    + files
//! files     to tree  of keys      profiles  GRPC=…         ${ENV:x}      noop!…               + warnings, problems
//!    ▲                                                                                              │
//!    └──────────────────────── follow: a file has changed ◀──────────────────────────────────────────┘
//! ```
//!
//! Unknown keys never fail, they become warnings: users copy whole Clouddriver files. Values that do not fit
//! fail with their path and the line they were written on. Loading keeps no state, so it can be repeated.

use std::path::{Path, PathBuf};
use std::sync::Arc;

mod canonical;
mod env;
mod error;
mod follow;
mod locate;
mod overrides;
mod parse;
mod placeholder;
mod read;
pub mod redact;
mod schema;
mod secrets;
mod tree;

#[cfg(test)]
mod tests;

pub use self::env::Env;
pub use self::error::ConfigError;
pub use self::follow::Follower;
pub use self::schema::{Schema, Unused};

use self::canonical::Canonical;
use self::locate::{ConfigSource, Located};
use self::schema::Keys;
use self::tree::{Origin, Tree, Value};
use crate::private_file::PrivateFile;

/// Where a daemon looks for its configuration.
#[derive(Debug, Clone)]
pub struct ConfigFiles {
    places: Vec<ConfigSource>,
    file: Option<PathBuf>,
    env: Env,
}

/// Settings, the files they came from, and their warnings and problems.
#[derive(Debug, Clone)]
pub struct Loaded<T> {
    /// The settings.
    pub settings: T,
    /// The files that were read, in the order they were laid over each other.
    pub files: Vec<PathBuf>,
    /// Sentences for the log, which cannot be written before the settings are known.
    pub warnings: Vec<String>,
    /// Values that are missing because their reference cannot be resolved; see [`Schema::contained`].
    pub problems: Vec<Problem>,
    /// Files of secrets that the settings name. They exist as long as this, or a clone of it.
    pub secret_files: Vec<Arc<PrivateFile>>,
}

/// A value that is missing because its reference cannot be resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The path of the key, such as `kubernetes.accounts[0].kubeconfigFile`.
    pub key: String,
    /// Reason and remedy.
    pub message: String,
}

// === impl Problem ===

impl Problem {
    /// Whether the value is within an element of one of these lists, such as `kubernetes.accounts[]`.
    fn is_contained(&self, parts: &[&str]) -> bool {
        parts
            .iter()
            .filter_map(|part| part.strip_suffix("[]"))
            .any(|list| self.key.strip_prefix(list).is_some_and(|rest| rest.starts_with('[')))
    }
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { key, message } = self;
        write!(f, "{key}: {message}")
    }
}

// === impl ConfigFiles ===

impl ConfigFiles {
    /// Looks where the Armory Agent looks: `armory-agent.yaml`, or `kubesvc.yml` where that is nowhere.
    pub fn agent(env: Env) -> Self {
        Self { places: locate::agent_places(&env), file: None, env }
    }

    /// Looks for `spindrift-hub.yaml` in `/opt/spindrift/config`, then in `$HOME/.spindrift`.
    pub fn hub(env: Env) -> Self {
        Self { places: locate::hub_places(&env), file: None, env }
    }

    /// Looks in this directory only; all base names are still tried.
    #[must_use]
    pub fn with_directory(mut self, directory: impl AsRef<Path>) -> Self {
        for place in &mut self.places {
            place.restrict_to(directory.as_ref());
        }
        self
    }

    /// Takes exactly this file as the base, with its profiles beside it.
    #[must_use]
    pub fn with_file(mut self, file: impl Into<PathBuf>) -> Self {
        self.file = Some(file.into());
        self
    }

    /// Reads the files and the environment into settings.
    pub fn load<T: Schema>(&self) -> Result<Loaded<T>, ConfigError> {
        let keys = Keys::of::<T>().map_err(ConfigError::Schema)?;
        let Located { files, warning } = self.locate();
        let mut warnings = Vec::from_iter(warning);
        let (files, trees) = read_all(files)?;

        let mut written = Tree::map(Origin::Nowhere);
        let mut tree = Tree::map(Origin::Nowhere);
        let mut canonical = Canonical::of::<T>();
        for layer in trees {
            written.merge(layer.clone());
            tree.merge(canonical.apply(layer, &keys));
        }
        warnings.extend(canonical.into_warnings()?);
        warnings.extend(overrides::apply(&mut tree, &keys, &self.env));
        warnings.extend(placeholder::resolve(&mut tree, &keys, &written, &self.env)?);
        let configured = tree.clone();
        let (problems, secret_files) = secrets::resolve(&mut tree);
        let (problems, unresolved): (Vec<_>, Vec<_>) =
            problems.into_iter().partition(|problem| problem.is_contained(T::contained()));
        if !unresolved.is_empty() {
            return Err(ConfigError::Unresolved(unresolved));
        }
        let settings: T = read::read(tree)?;
        let is_set = |path: &str| {
            configured.get(path.split('.')).is_some_and(|tree| !matches!(tree.value, Value::Null))
        };
        warnings.extend(settings.limited_options(&is_set));
        Ok(Loaded { settings, files, warnings, problems, secret_files })
    }

    /// Lists the directories in which a file of the configuration is, or may appear.
    fn directories(&self) -> Vec<PathBuf> {
        match &self.file {
            Some(file) => vec![file.parent().map(Path::to_path_buf).unwrap_or_default()],
            None => self.places.iter().flat_map(ConfigSource::directories).map(Path::to_path_buf).collect(),
        }
    }

    /// Lists the files of the configuration, with the one that they import, whether it is there or not.
    fn named(&self) -> Vec<PathBuf> {
        let Located { mut files, .. } = self.locate();
        let trees: Vec<_> = files.iter().filter_map(|file| read_file(file).ok()).collect();
        files.extend(trees.iter().rev().find_map(Import::of).map(|import| import.path));
        files
    }

    fn locate(&self) -> Located {
        let profiles = locate::active_profiles(&self.env);
        match &self.file {
            Some(file) => Located { files: locate::beside(file, &profiles), warning: None },
            None => locate::search(&self.places, &profiles),
        }
    }
}

/// Reads all files; one that `spring.config.import` names is laid over them.
fn read_all(mut files: Vec<PathBuf>) -> Result<(Vec<PathBuf>, Vec<Tree>), ConfigError> {
    let mut trees = Vec::with_capacity(files.len());
    for file in &files {
        trees.push(read_file(file)?);
    }
    if let Some(Import { path, optional }) = trees.iter().rev().find_map(Import::of)
        && (!optional || path.is_file())
    {
        trees.push(read_file(&path)?);
        files.push(path);
    }
    Ok((files, trees))
}

fn read_file(file: &Path) -> Result<Tree, ConfigError> {
    let text = std::fs::read_to_string(file)
        .map_err(|source| ConfigError::Read { file: file.to_path_buf(), source })?;
    parse::parse(file, &text)
}

/// The extra file that `spring.config.import` names.
struct Import {
    path: PathBuf,
    /// Set if the file is optional.
    optional: bool,
}

// === impl Import ===

impl Import {
    fn of(tree: &Tree) -> Option<Self> {
        let import =
            tree.get(["spring", "config", "import"]).or_else(|| tree.get(["spring.config.import"]))?;
        let Value::Scalar(scalar) = &import.value else { return None };
        let bare = scalar.text.strip_prefix("optional:");
        let path = crate::file_uri::to_path(bare.unwrap_or(&scalar.text));
        Some(Self { path, optional: bare.is_some() })
    }
}
