//! As many open files as the system allows: every watch and every agent is a connection, and shells allow 1,024.

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use tracing::warn;

/// Raises the soft limit to the hard one.
pub fn raise_limit() {
    let raised = getrlimit(Resource::RLIMIT_NOFILE)
        .and_then(|(_, hardest)| setrlimit(Resource::RLIMIT_NOFILE, hardest, hardest));
    if let Err(error) = raised {
        warn!(%error, "the limit of open files stays as it is (ulimit -n)");
    }
}
