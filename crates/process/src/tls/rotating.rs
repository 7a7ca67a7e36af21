//! A client's TLS whose files may be replaced while the process runs, as certificates are.

use std::sync::Arc;

use parking_lot::Mutex;
use tracing::warn;

use super::{ClientTls, ClientTlsFiles, TlsError};
use crate::report;

/// TLS of a client that dials again and again; clones share what was read last.
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

    /// What the files say now. Files that cannot be used, such as those that are just being replaced, change nothing.
    pub fn current(&self) -> ClientTls {
        match ClientTls::open(self.files.clone()) {
            Ok(tls) => *self.last.lock() = tls,
            Err(error) => {
                warn!(error = %report(&error), "TLS files cannot be used; those read before still are");
            }
        }
        self.last()
    }

    /// What the files said when they were last read.
    pub fn last(&self) -> ClientTls {
        self.last.lock().clone()
    }
}
