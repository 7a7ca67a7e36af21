//! Operations that wait or run, for operators.

use std::{collections::BTreeMap, sync::Arc};

use jiff::Timestamp;
use parking_lot::Mutex;
use serde::Serialize;
use spindrift_model::{AccountName, Operation, OperationId, TargetRef};

/// Operations that have arrived and not ended; clones share them.
#[derive(Debug, Clone, Default)]
pub struct RunningOperations {
    operations: Arc<Mutex<BTreeMap<OperationId, RunningOperation>>>,
}

/// One of them, as `/operations` shows it.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RunningOperation {
    operation_id: OperationId,
    operation_type: &'static str,
    account: AccountName,
    kind: Option<String>,
    namespace: Option<String>,
    /// None for several objects.
    name: Option<String>,
    /// Time of arrival.
    since: Timestamp,
}

/// Lists an operation until it is dropped.
#[derive(Debug)]
pub(super) struct Listed {
    operations: RunningOperations,
    id: OperationId,
}

// === impl RunningOperations ===

impl RunningOperations {
    /// All of them, the oldest first.
    pub fn list(&self) -> Vec<RunningOperation> {
        self.operations.lock().values().cloned().collect()
    }

    /// Adds an operation.
    pub(super) fn enter(&self, Operation { id, account, verb, .. }: &Operation) -> Listed {
        let TargetRef { kind, namespace, name, .. } = verb.target();
        let running = RunningOperation {
            operation_id: *id,
            operation_type: verb.name(),
            account: account.clone(),
            kind: kind.map(str::to_owned),
            namespace: namespace.map(str::to_owned),
            name: name.map(str::to_owned),
            since: Timestamp::now(),
        };
        self.operations.lock().insert(*id, running);
        Listed { operations: self.clone(), id: *id }
    }
}

// === impl Listed ===

impl Drop for Listed {
    fn drop(&mut self) {
        self.operations.operations.lock().remove(&self.id);
    }
}
