//! The configuration: which files, which keys, which values.

use super::Section;
use crate::config::{ConfigError, ConfigFiles, Loaded, Schema};
use crate::report;

/// Reads the configuration; a broken one is a section like any other, without settings. The files of secrets exist as long
/// as the result.
pub fn configuration<T: Schema>(files: &ConfigFiles) -> (Section, Option<Loaded<T>>) {
    let mut section = Section::new("configuration");
    let loaded = match files.load::<T>() {
        Ok(loaded) => loaded,
        Err(error) => {
            let (check, remedy) = judge(&error);
            section.wrong(check, report(&error), remedy);
            return (section, None);
        }
    };
    let Loaded { settings: _, files, warnings, problems, secret_files: _ } = &loaded;
    if !files.is_empty() {
        let files: Vec<_> = files.iter().map(|file| file.display().to_string()).collect();
        section.ok("files", files.join(", "));
    }
    for warning in warnings {
        let (check, remedy) = if warning.starts_with("no configuration file") {
            ("files", "write one of these files, or name another with --config")
        } else if warning.contains("did you mean") {
            ("keys", "spell the key as suggested; until then it has no effect")
        } else if warning.starts_with("unknown key") {
            ("keys", "remove the key, or look up its name in docs/configuration.md; it has no effect")
        } else {
            ("values", "look up the setting in docs/configuration.md")
        };
        section.warn(check, warning.clone(), remedy);
    }
    if !warnings.iter().any(|warning| warning.starts_with("unknown key")) {
        section.ok("keys", "all are known");
    }
    for problem in problems {
        section.wrong("values", problem.to_string(), format!("correct `{}`", problem.key));
    }
    if problems.is_empty() {
        section.ok("values", "all can be read");
    }
    (section, Some(loaded))
}

/// Failed check, and its remedy.
fn judge(error: &ConfigError) -> (&'static str, String) {
    match error {
        ConfigError::Read { .. } | ConfigError::Emptied { .. } | ConfigError::Vanished => {
            ("files", "create the file, make it readable, or name another with --config".into())
        }
        ConfigError::Syntax { .. } => ("files", "correct the YAML at this line".into()),
        ConfigError::Cycle { key, .. } => {
            ("values", format!("give `{key}` a value that does not refer to itself"))
        }
        ConfigError::Invalid { key, .. } => {
            ("values", format!("correct `{key}`; docs/configuration.md says what it takes"))
        }
        ConfigError::Unresolved(problems) => {
            let keys: Vec<_> = problems.iter().map(|problem| format!("`{}`", problem.key)).collect();
            ("values", format!("correct {}", keys.join(", ")))
        }
        ConfigError::UnknownKey { .. } => {
            ("keys", "spell the key as docs/configuration.md does, or remove it".into())
        }
        ConfigError::Schema(_) => ("values", "report this: it is a mistake in the program".into()),
    }
}
