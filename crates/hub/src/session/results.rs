//! The Results channel: large answers, in chunks. Operations come with a later release; until then nothing is
//! awaited, and what arrives is named and dropped.

use std::sync::Arc;

use futures::{Stream, StreamExt};
use spindrift_process::shutdown::BoxError;
use spindrift_protocol::v1;
use tokio::sync::mpsc;
use tonic::Status;
use tracing::warn;

use super::sessions::Live;
use crate::store::SessionInfo;

pub(super) async fn run(
    info: SessionInfo,
    live: Arc<Live>,
    mut up: impl Stream<Item = Result<v1::ResultsUp, Status>> + Unpin,
    down_tx: mpsc::Sender<Result<v1::ResultsDown, Status>>,
) -> Result<(), BoxError> {
    let token = live.tasks().token();
    loop {
        let chunk = tokio::select! {
            biased;
            () = token.cancelled() => return Ok(()),
            () = down_tx.closed() => return Ok(()),
            chunk = up.next() => chunk,
        };
        let Some(Ok(v1::ResultsUp { operation, more, .. })) = chunk else { return Ok(()) };
        if !more {
            warn!(agent = %info.agent, operation, "a result arrived that nobody waits for");
        }
    }
}
