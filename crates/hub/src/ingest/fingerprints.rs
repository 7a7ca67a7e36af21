//! Telling an agent what is stored of a scope that it begins to list.

use std::sync::Arc;

use futures::FutureExt;
use spindrift_model::{AccountName, Epoch, Salt};
use spindrift_protocol::{EventsDown, Known, flow::MAX_FINGERPRINTS};
use tracing::{debug, warn};

use super::{
    Begun,
    channel::{Done, EventsChannel},
};

/// Fingerprints of one message: 64 KB.
const AT_ONCE: usize = 8 * 1024;

impl EventsChannel {
    /// Answers the beginning of a listing. It is committed by now, so what is read is what the listing meets: nothing but
    /// the listing itself writes into its scope.
    pub(super) fn tell(&mut self, account: &AccountName, epoch: Epoch, begun: Begun) {
        let Begun { id, scope, generation } = begun;
        let (context, account) = (Arc::clone(&self.options.context), account.clone());
        let (tenant, down_tx) = (self.options.info.tenant.clone(), self.options.down_tx.clone());
        let told = async move {
            let salt = Salt(fastrand::u64(..));
            let read = async {
                let _permit = context.fingerprinting.acquire().await.ok()?;
                match context.store.fingerprints(&tenant, &account, &scope, salt, MAX_FINGERPRINTS).await {
                    Ok(fingerprints) => fingerprints,
                    Err(error) => {
                        warn!(%account, %scope, %error, "what is stored was not read: all of it is sent again");
                        None
                    }
                }
            };
            let fingerprints = read.await.unwrap_or_default();
            debug!(%account, %scope, known = fingerprints.len(), "a listing begins");
            let mut rest = fingerprints.as_slice();
            loop {
                let (part, others) = rest.split_at(rest.len().min(AT_ONCE));
                rest = others;
                let last = rest.is_empty();
                let known = Known { scope: id, generation, salt, fingerprints: part.to_vec(), last };
                let message = EventsDown::Fingerprints { account: account.clone(), epoch, known };
                // A channel that is gone says so by itself.
                if down_tx.send(Ok(message.into())).await.is_err() || last {
                    return Done::Nothing;
                }
            }
        };
        self.work.push(told.boxed());
    }
}
