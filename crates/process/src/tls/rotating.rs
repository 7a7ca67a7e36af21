//! A client's TLS whose files may be replaced while the process runs, as certificates are.

use std::sync::Arc;

use parking_lot::Mutex;
use tracing::warn;

use super::{ClientTls, ClientTlsFiles, TlsError};
use crate::report;

/// TLS of a client that reconnects; clones share the files that were read last.
#[derive(Debug, Clone)]
pub struct RotatingClientTls {
    files: ClientTlsFiles,
    last: Arc<Mutex<ClientTls>>,
}

// === impl RotatingClientTls ===

impl RotatingClientTls {
    /// Reads the files for the first time.
    pub fn open(files: ClientTlsFiles) -> Result<Self, TlsError> {
        let last = Arc::new(Mutex::new(ClientTls::open(files.clone())?));
        Ok(Self { files, last })
    }

    /// Returns the TLS of the current files. Files that cannot be used, such as those being replaced, change nothing.
    pub fn current(&self) -> ClientTls {
        match ClientTls::open(self.files.clone()) {
            Ok(tls) => *self.last.lock() = tls,
            Err(error) => {
                warn!(error = %report(&error), "TLS files cannot be used; those read before still are");
            }
        }
        self.last()
    }

    /// Returns the TLS of the files when they were last read.
    pub fn last(&self) -> ClientTls {
        self.last.lock().clone()
    }
}
