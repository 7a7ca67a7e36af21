//! Fingerprints: the stored objects of a scope, sent to an agent that begins to list it.

use std::sync::Arc;

use futures::FutureExt;
use spindrift_model::{AccountName, Epoch, Salt};
use spindrift_protocol::{EventsDown, Known, flow::MAX_FINGERPRINTS};
use tracing::{debug, warn};

use super::{
    ListBegun,
    channel::{EventsChannel, EventsWorkDone},
};

/// Fingerprints of one message: 64 KB.
const AT_ONCE: usize = 8 * 1024;

/// Scopes of one channel whose fingerprints are read or sent at a time: an agent lists 32 at once. Of more, the agent
/// sends all objects.
const MOST_READS: usize = 64;

impl EventsChannel {
    /// Sends the fingerprints of a scope whose list has begun. The begin is committed by now, and nothing but the list
    /// itself writes into its scope, so the rows read here are those that the list is compared with.
    pub(super) fn send_fingerprints(&mut self, account: &AccountName, epoch: Epoch, begun: ListBegun) {
        let ListBegun { id, scope, generation } = begun;
        let (ingest, account) = (Arc::clone(&self.options.ingest), account.clone());
        let (tenant, down_tx) = (self.options.info.tenant.clone(), self.options.down_tx.clone());
        let is_read = self.fingerprint_reads < MOST_READS;
        self.fingerprint_reads += 1;
        let sent = async move {
            let salt = Salt(fastrand::u64(..));
            let read = async {
                if !is_read {
                    return None;
                }
                let _permit = ingest.fingerprint_reads.acquire().await.ok()?;
                match ingest.store.fingerprints(&tenant, &account, &scope, salt, MAX_FINGERPRINTS).await {
                    Ok(fingerprints) => fingerprints,
                    Err(error) => {
                        warn!(%account, %scope, %error, "fingerprints were not read: the agent sends all objects");
                        None
                    }
                }
            };
            let fingerprints = read.await.unwrap_or_default();
            debug!(%account, %scope, known = fingerprints.len(), "a list begins");
            let mut rest = fingerprints.as_slice();
            loop {
                let (part, others) = rest.split_at(rest.len().min(AT_ONCE));
                rest = others;
                let last = rest.is_empty();
                let known = Known { scope: id, generation, salt, fingerprints: part.to_vec(), last };
                let message = EventsDown::Fingerprints { account: account.clone(), epoch, known };
                // The channel ends by itself when the agent is gone.
                if down_tx.send(Ok(message.into())).await.is_err() || last {
                    return EventsWorkDone::FingerprintsSent;
                }
            }
        };
        self.work.push(sent.boxed());
    }
}
