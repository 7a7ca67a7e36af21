//! The key that encrypts operations at rest: whether there is one, who can read it, and how long it lasts.

use std::{os::unix::fs::PermissionsExt, path::Path};

use spindrift_process::{check::Section, report};

use crate::{
    config::{Encryption, HubConfig},
    dispatch::{Vault, key_beside},
};

const REMEDY: &str = "set kubesvc.operations.encryption.key, or a file in keyFile, to 32 random bytes in base64 (openssl rand -base64 32), \
                      the same for all hubs on this database";

pub(super) fn section(config: &HubConfig) -> Section {
    let mut section = Section::new("operations");
    let Encryption { key, key_file } = &config.kubesvc.operations.encryption;
    if let Some(key) = key {
        match Vault::with_key("key", key) {
            Ok(_) => section.ok("key", "is configured (kubesvc.operations.encryption.key)"),
            Err(error) => section.wrong("key", report(&error), REMEDY),
        }
    } else if let Some(file) = key_file {
        look_at(file.trim_start_matches("file:").as_ref(), &mut section);
    } else if let Ok(Some(file)) = key_beside(config) {
        if file.exists() {
            look_at(&file, &mut section);
        } else {
            section.ok("key", format!("{} will be created", file.display()));
        }
    } else {
        let found = "none is configured: one that ends with the process is used, so that no other hub can carry an operation on, \
                     and what is queued when a hub dies is lost";
        section.warn("key", found, REMEDY);
    }
    section
}

fn look_at(file: &Path, section: &mut Section) {
    if let Err(error) = Vault::with_file(file) {
        return section.wrong("key", report(&error), REMEDY);
    }
    let mode = std::fs::metadata(file).map_or(0, |metadata| metadata.permissions().mode());
    // A Secret that is mounted may be read by the pod's group.
    if mode & 0o007 != 0 {
        let found = format!("{} can be read by every user of this machine", file.display());
        section.warn("key", found, format!("chmod o-rwx {}", file.display()));
    } else {
        section.ok("key", format!("{} is readable", file.display()));
    }
}
