//! Where the key comes from that encrypts operations at rest.

use std::path::PathBuf;

use anyhow::Context;
use tracing::warn;

use super::vault::Vault;
use crate::{
    config::{Encryption, HubConfig},
    store::Location,
};

/// The operator's key; else one beside the SQLite file; else one that ends with the process.
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
        "kubesvc.operations.encryption has no key: operations are encrypted by one that ends with this process, so that \
         no other hub can carry them on, and what is queued when it dies is lost"
    );
    Ok(Vault::fleeting()?)
}

/// The file beside an SQLite database in which a key is kept unless there is another.
pub fn key_beside(config: &HubConfig) -> anyhow::Result<Option<PathBuf>> {
    let Location::File(database) = Location::of_url(&config.sql.url).context("sql.url")? else {
        return Ok(None);
    };
    let mut file = database.into_os_string();
    file.push(".key");
    Ok(Some(file.into()))
}
