//! Which files make up a configuration.

use std::path::{Path, PathBuf};

use super::env::Env;

/// Where the loader library of the original looks, in its order; `$HOME` directories follow.
const SPINNAKER_DIRECTORIES: [&str; 4] =
    ["/home/spinnaker/config", "/opt/spinnaker/config", "/root/config", "/opt/go-application/config"];

/// Profiles that are active when the environment names none; later ones win.
const DEFAULT_PROFILES: [&str; 2] = ["armory", "local"];

const EXTENSIONS: [&str; 2] = ["yaml", "yml"];

/// A base name and the directories to look for it.
#[derive(Debug, Clone)]
pub(crate) struct ConfigSource {
    name: &'static str,
    directories: Vec<PathBuf>,
}

/// Files to read, in order, and the warning if there are none.
#[derive(Debug)]
pub(crate) struct Located {
    pub(crate) files: Vec<PathBuf>,
    pub(crate) warning: Option<String>,
}

/// Where the agent's files may be; the legacy name counts only where the new one is nowhere.
pub(crate) fn agent_places(env: &Env) -> Vec<ConfigSource> {
    let mut legacy: Vec<PathBuf> = SPINNAKER_DIRECTORIES.iter().map(PathBuf::from).collect();
    if let Some(home) = env.home() {
        legacy.extend([home.join(".spinnaker"), home.join(".armory")]);
    }
    let mut directories = vec![PathBuf::from("/opt/armory/config")];
    directories.extend(legacy.iter().cloned());
    vec![
        ConfigSource { name: "armory-agent", directories },
        ConfigSource { name: "kubesvc", directories: legacy },
    ]
}

/// Where the hub's files may be.
pub(crate) fn hub_places(env: &Env) -> Vec<ConfigSource> {
    let mut directories = vec![PathBuf::from("/opt/spindrift/config")];
    directories.extend(env.home().map(|home| home.join(".spindrift")));
    vec![ConfigSource { name: "spindrift-hub", directories }]
}

/// Lists the active profiles in the order in which they are laid over the base.
pub(crate) fn active_profiles(env: &Env) -> Vec<String> {
    let Some(named) = env.get("SPRING_PROFILES_ACTIVE").or_else(|| env.get("PROFILES_ACTIVE")) else {
        return DEFAULT_PROFILES.map(String::from).into();
    };
    named.split(',').map(str::trim).filter(|profile| !profile.is_empty()).map(String::from).collect()
}

/// Finds the files of the first directory that holds any; a base file is not needed, profiles are enough.
pub(crate) fn search(places: &[ConfigSource], profiles: &[String]) -> Located {
    for place in places {
        for directory in &place.directories {
            let files = place.files_in(directory, profiles);
            if !files.is_empty() {
                return Located { files, warning: None };
            }
        }
    }
    Located { files: Vec::new(), warning: Some(nothing_found(places)) }
}

/// Lists a base file chosen by the user and the profiles that lie beside it.
pub(crate) fn beside(base: &Path, profiles: &[String]) -> Vec<PathBuf> {
    let stem = base.file_stem().unwrap_or_default().to_string_lossy();
    let extension = base.extension().map(|extension| extension.to_string_lossy());
    let overlays = profiles.iter().map(|profile| match &extension {
        Some(extension) => base.with_file_name(format!("{stem}-{profile}.{extension}")),
        None => base.with_file_name(format!("{stem}-{profile}")),
    });
    // The base is read even if it is missing: a file asked for by name must not be skipped in silence.
    std::iter::once(base.to_path_buf()).chain(overlays.filter(|file| file.is_file())).collect()
}

fn nothing_found(places: &[ConfigSource]) -> String {
    let mut directories: Vec<String> = Vec::new();
    for directory in places.iter().flat_map(|place| &place.directories) {
        let directory = directory.display().to_string();
        if !directories.contains(&directory) {
            directories.push(directory);
        }
    }
    format!("no configuration file found in {}; using defaults", directories.join(", "))
}

// === impl ConfigSource ===

impl ConfigSource {
    /// Looks in one directory only.
    pub(crate) fn restrict_to(&mut self, directory: &Path) {
        self.directories = vec![directory.to_path_buf()];
    }

    pub(crate) fn directories(&self) -> impl Iterator<Item = &Path> {
        self.directories.iter().map(PathBuf::as_path)
    }

    fn files_in(&self, directory: &Path, profiles: &[String]) -> Vec<PathBuf> {
        let base = std::iter::once(self.name.to_owned());
        let overlays = profiles.iter().map(|profile| format!("{}-{profile}", self.name));
        base.chain(overlays).filter_map(|stem| existing(directory, &stem)).collect()
    }
}

fn existing(directory: &Path, stem: &str) -> Option<PathBuf> {
    EXTENSIONS
        .iter()
        .map(|extension| directory.join(format!("{stem}.{extension}")))
        .find(|file| file.is_file())
}
