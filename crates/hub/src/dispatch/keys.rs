//! Key that encrypts operations at rest.

use std::path::PathBuf;

use anyhow::Context;
use tracing::warn;

use super::vault::Vault;
use crate::{
    config::{Encryption, HubConfig},
    store::Location,
};

/// Returns a vault with the operator's key; else with one beside the SQLite file; else with one that ends with the process.
pub fn open_vault(config: &HubConfig) -> anyhow::Result<Vault> {
    let Encryption { key, key_file } = &config.kubesvc.operations.encryption;
    if let Some(key) = key {
        return Ok(Vault::with_key("key", key)?);
    }
    if let Some(file) = key_file {
        return Ok(Vault::with_file(file.trim_start_matches("file:").as_ref())?);
    }
    if let Some(file) = key_beside(config)? {
        return Ok(Vault::beside(&file)?);
    }
    warn!(
        "kubesvc.operations.encryption has no key: operations are encrypted with one that ends with this process, so that \
         no other hub can deliver them, and queued operations are lost when it exits"
    );
    Ok(Vault::fleeting()?)
}

/// File beside an SQLite database with its default key.
pub fn key_beside(config: &HubConfig) -> anyhow::Result<Option<PathBuf>> {
    let Location::File(database) = Location::of_url(&config.sql.url).context("sql.url")? else {
        return Ok(None);
    };
    let mut file = database.into_os_string();
    file.push(".key");
    Ok(Some(file.into()))
}
