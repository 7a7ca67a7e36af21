//! Parsing of a request with operations, before its task is created.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::DeserializeOwned};
use serde_json::Value;

use super::{
    CleanupArtifacts, DeleteManifest, DeployManifest, EnableManifest, Entries, PatchManifest,
    ResizeServerGroup, RolloutManifest, RunJob, ScaleManifest, SpinnakerOperation, UndoRollout,
};
use crate::FullName;

/// Body of a request: `[{"<operation>": {…}}, …]`.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskRequest(Vec<(String, Value)>);

/// Operation of a request with its account.
#[derive(Debug, Clone, PartialEq)]
pub struct SubmittedOperation {
    pub operation: SpinnakerOperation,
    /// Names in the request; the caller looks them up.
    pub account: AccountNames,
    pub description: OperationDescription,
}

/// Accounts that a description names: `account` is used, or else `credentials`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AccountNames {
    pub account: Option<String>,
    pub credentials: Option<String>,
}

/// Parameters of an operation.
#[derive(Debug, Clone, PartialEq)]
pub enum OperationDescription {
    Deploy(DeployManifest),
    Delete(DeleteManifest),
    Scale(ScaleManifest),
    Rollout(RolloutManifest),
    Undo(UndoRollout),
    Patch(PatchManifest),
    Traffic(EnableManifest),
    Cleanup(CleanupArtifacts),
    RunJob(RunJob),
    Resize(ResizeServerGroup),
}

/// Error for a request that is rejected before anything is done: 400.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidRequest {
    #[error(
        "No atomic operation converter found for description '{name}' and cloud provider '{provider}'. It is possible \
         that either 1) the account name used for the operation is incorrect, or 2) the account name used for the \
         operation is unhealthy/unable to communicate with {provider}."
    )]
    UnknownOperation { name: String, provider: String },
    #[error("{operation} needs an account")]
    NoAccount { operation: SpinnakerOperation },
    #[error("{operation}: {reason}")]
    Undecodable { operation: SpinnakerOperation, reason: String },
    #[error("{0}")]
    BadName(String),
}

// === impl AccountNames ===

impl AccountNames {
    fn of(description: &Value) -> Self {
        let text = |key: &str| match description.get(key) {
            Some(Value::String(text)) if !text.is_empty() => Some(text.clone()),
            _ => None,
        };
        Self { account: text("account"), credentials: text("credentials") }
    }

    /// Account to look up.
    pub fn wanted(&self) -> Option<&str> {
        self.account.as_deref().or(self.credentials.as_deref())
    }
}

// === impl Request ===

impl TaskRequest {
    /// One operation.
    pub fn one(name: impl Into<String>, description: Value) -> Self {
        Self(vec![(name.into(), description)])
    }

    /// Cloud provider that each operation names.
    pub fn providers(&self) -> impl Iterator<Item = Option<&str>> {
        self.0.iter().map(|(_, description)| description.get("cloudProvider").and_then(Value::as_str))
    }

    /// Parses all operations.
    pub fn submissions(self, provider: &str) -> Result<Vec<SubmittedOperation>, InvalidRequest> {
        let submission = |(name, description): (String, Value)| match SpinnakerOperation::parse(&name) {
            Some(operation) => SubmittedOperation::parse(operation, description),
            None => Err(InvalidRequest::UnknownOperation { name, provider: provider.to_owned() }),
        };
        self.0.into_iter().map(submission).collect()
    }
}

impl Serialize for TaskRequest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|(name, description)| BTreeMap::from([(name, description)])))
    }
}

impl<'de> Deserialize<'de> for TaskRequest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Entries::deserialize(deserializer).map(|Entries(entries)| Self(entries))
    }
}

// === impl Submission ===

impl SubmittedOperation {
    pub fn parse(operation: SpinnakerOperation, description: Value) -> Result<Self, InvalidRequest> {
        let account = AccountNames::of(&description);
        if account.wanted().is_none() {
            return Err(InvalidRequest::NoAccount { operation });
        }
        Ok(Self { operation, account, description: OperationDescription::parse(operation, description)? })
    }
}

// === impl Description ===

impl OperationDescription {
    fn parse(operation: SpinnakerOperation, value: Value) -> Result<Self, InvalidRequest> {
        let description = match operation {
            SpinnakerOperation::DeployManifest => Self::Deploy(decode(operation, value)?),
            SpinnakerOperation::DeleteManifest => Self::Delete(decode(operation, value)?),
            SpinnakerOperation::ScaleManifest => Self::Scale(decode(operation, value)?),
            SpinnakerOperation::PauseRolloutManifest
            | SpinnakerOperation::ResumeRolloutManifest
            | SpinnakerOperation::RollingRestartManifest => Self::Rollout(decode(operation, value)?),
            SpinnakerOperation::UndoRolloutManifest => Self::Undo(decode(operation, value)?),
            SpinnakerOperation::PatchManifest => Self::Patch(decode(operation, value)?),
            SpinnakerOperation::EnableManifest | SpinnakerOperation::DisableManifest => {
                Self::Traffic(decode(operation, value)?)
            }
            SpinnakerOperation::CleanupArtifacts => Self::Cleanup(decode(operation, value)?),
            SpinnakerOperation::RunJob => Self::RunJob(decode(operation, value)?),
            SpinnakerOperation::ResizeServerGroup => Self::Resize(decode(operation, value)?),
        };
        match description.target() {
            Some(name) => {
                FullName::parse(name).map_err(|error| InvalidRequest::BadName(error.to_string()))?;
                Ok(description)
            }
            None => Ok(description),
        }
    }

    /// Full name of the target, if there is a single one.
    pub fn target(&self) -> Option<&str> {
        match self {
            Self::Delete(delete) => delete.manifest_name.as_deref().filter(|name| !name.is_empty()),
            Self::Scale(scale) => Some(&scale.manifest_name),
            Self::Rollout(rollout) => Some(&rollout.manifest_name),
            Self::Undo(undo) => Some(&undo.manifest_name),
            Self::Patch(patch) => Some(&patch.manifest_name),
            Self::Traffic(traffic) => Some(&traffic.manifest_name),
            Self::Resize(resize) => Some(&resize.server_group_name),
            Self::Deploy(_) | Self::Cleanup(_) | Self::RunJob(_) => None,
        }
    }
}

fn decode<T: DeserializeOwned>(operation: SpinnakerOperation, value: Value) -> Result<T, InvalidRequest> {
    serde_json::from_value(value)
        .map_err(|error| InvalidRequest::Undecodable { operation, reason: error.to_string() })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parse(body: Value) -> Result<Vec<SubmittedOperation>, InvalidRequest> {
        serde_json::from_value::<TaskRequest>(body).unwrap().submissions("kubernetes")
    }

    #[test]
    fn unknown_keys_are_ignored_and_scalars_are_taken_as_they_come() {
        let body = json!([{"scaleManifest": {"manifestName": "deployment shop-api", "location": "ns", "replicas": "2",
            "wibble": {"a": [1]}, "manifest": {"kind": "x"}, "account": "account1"}}]);
        let [submission] = &parse(body).unwrap()[..] else { panic!("one operation") };
        let scale = ScaleManifest {
            manifest_name: "deployment shop-api".into(),
            location: "ns".into(),
            replicas: Some(2),
        };
        assert_eq!(submission.description, OperationDescription::Scale(scale));
        assert_eq!(submission.account.wanted(), Some("account1"));
    }

    #[test]
    fn numbers_and_flags_are_texts_where_texts_are_meant_and_the_other_way_round() {
        let one =
            |operation: &str, description: Value| parse(json!([{operation: description}])).unwrap().remove(0);
        let scale = one(
            "scaleManifest",
            json!({"account": "a", "manifestName": "pod 1", "location": 7, "replicas": "2"}),
        );
        let OperationDescription::Scale(scale) = scale.description else { panic!("{scale:?}") };
        assert_eq!((scale.location.as_str(), scale.replicas), ("7", Some(2)));
        let selectors = json!({"selectors": [{"kind": "EQUALS", "key": 1, "values": [2, true, "x"]}]});
        let moniker = json!({"app": "a", "cluster": 1, "stack": true, "detail": 2.5, "sequence": "3"});
        let deploy = one(
            "deployManifest",
            json!({"account": "a", "manifests": [], "services": [1, "service b"], "moniker": moniker,
                "labelSelectors": selectors}),
        );
        let OperationDescription::Deploy(deploy) = deploy.description else { panic!("{deploy:?}") };
        assert_eq!(deploy.services, ["1", "service b"]);
        assert_eq!(deploy.label_selectors.to_string(), "1 = 2");
        let text = |text: &str| Some(text.to_owned());
        let moniker = deploy.moniker.unwrap();
        assert_eq!((moniker.cluster, moniker.stack, moniker.detail), (text("1"), text("true"), text("2.5")));
        assert_eq!(moniker.sequence, Some(3));
        let sequence = serde_json::from_value::<crate::Moniker>(json!({"sequence": 3.0})).unwrap().sequence;
        assert_eq!(sequence, Some(3));
        let body = json!([{"deployManifest": {"account": "a", "manifests": [], "services": [{}]}}]);
        assert!(parse(body).is_err(), "what is no scalar is no text");
    }

    #[test]
    fn an_invalid_description_is_rejected_by_name() {
        let table = [
            (
                json!([{"wibbleManifest": {"account": "a"}}]),
                "No atomic operation converter found for description 'wibbleManifest'",
            ),
            (
                json!([{"scaleManifest": {"account": "a", "manifestName": "shop-api"}}]),
                "Expected a full resource name of the form <kind> <name>. Got: shop-api",
            ),
            (
                json!([{"deployManifest": {"account": "a", "manifests": "nope"}}]),
                "deployManifest: invalid type: string \"nope\"",
            ),
            (
                json!([{"deployManifest": {"account": "a", "manifests": [], "strategy": "WIBBLE"}}]),
                "unknown variant `WIBBLE`",
            ),
            (
                json!([{"deployManifest": {"account": null, "manifests": []}}]),
                "deployManifest needs an account",
            ),
        ];
        for (body, message) in table {
            let error = parse(body).unwrap_err().to_string();
            assert!(error.contains(message), "{error}");
        }
    }

    #[test]
    fn operations_keep_the_order_in_which_they_are_written() {
        let body = r#"[{"scaleManifest": 1, "deployManifest": 2}, {"cleanupArtifacts": 3}]"#;
        let request: TaskRequest = serde_json::from_str(body).unwrap();
        let names: Vec<_> = request.0.into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["scaleManifest", "deployManifest", "cleanupArtifacts"]);
        let written = serde_json::to_string(&serde_json::from_str::<TaskRequest>(body).unwrap()).unwrap();
        assert_eq!(written, r#"[{"scaleManifest":1},{"deployManifest":2},{"cleanupArtifacts":3}]"#);
        assert!(serde_json::from_str::<TaskRequest>(r#"{"deployManifest": {}}"#).is_err());
        assert!(serde_json::from_str::<TaskRequest>(r#"["deployManifest"]"#).is_err());
    }

    #[test]
    fn credentials_stand_in_for_an_account() {
        let pause = json!({"manifestName": "deployment x", "credentials": "b", "account": null});
        let body = json!([{"pauseRolloutManifest": pause}]);
        assert_eq!(parse(body).unwrap()[0].account.wanted(), Some("b"));
    }
}
