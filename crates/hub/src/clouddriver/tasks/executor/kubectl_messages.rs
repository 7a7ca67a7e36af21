//! Messages of kubectl for errors of the API server.

use spindrift_model::{ErrorKind, KubectlAction, OperationError, StatusSource};
use spindrift_spinnaker::{Manifest, annotation};

/// Source of manifests in kubectl's messages.
const SOURCE: &str = "STDIN";

/// Message for an object that was rejected.
pub(super) fn undelivered(error: &OperationError, action: KubectlAction, manifest: &Manifest) -> String {
    if error.kind == ErrorKind::NoKindMatch {
        let (name, namespace, version) =
            (manifest.shown_name(), manifest.namespace(), manifest.api_version());
        let kind = manifest.as_map().get("kind").and_then(serde_json::Value::as_str).unwrap_or_default();
        return format!(
            "error: resource mapping not found for name: {name:?} namespace: {namespace:?} from {SOURCE:?}: \
             no matches for kind {kind:?} in version {version:?}\nensure CRDs are installed first\n"
        );
    }
    let status = error.parsed();
    // kubectl frames errors of the API server only, and not those of field managers.
    if status.source() != StatusSource::ApiServer || status.is_about_managers() {
        return error.stderr();
    }
    format!("{}\n", status.about(action, SOURCE))
}

/// Whether the API server does not support the patch type for this kind.
pub(super) fn is_unsupported_media_type(error: &OperationError) -> bool {
    error.is_failure() && error.code == 415
}

/// Message for an unsupported patch type.
pub(super) fn unsupported_patch(content_type: &str, object: &Manifest, error: &OperationError) -> String {
    let message = error.message();
    let kind = object.as_map().get("kind").and_then(serde_json::Value::as_str).unwrap_or_default();
    let version = object.api_version();
    format!("error: {content_type} is not supported by {version}, Kind={kind}: {message}\n")
}

/// Warning of kubectl before it rolls back an applied object.
pub(super) fn rollback_warning(object: &Manifest) -> Option<String> {
    object.annotation(annotation::LAST_APPLIED)?;
    let (kind, name) = (object.kind().to_string().to_lowercase(), object.shown_name());
    Some(format!(
        "Warning: resource {kind}s/{name} was previously managed with 'kubectl apply'. Rolling back will not update the \
         {} annotation, which may cause unexpected behavior on future 'kubectl apply' operations. Consider using 'kubectl \
         apply' with your previous configuration file instead.\n",
        annotation::LAST_APPLIED
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use spindrift_spinnaker::Existing;

    use super::*;

    const CREATING: KubectlAction = KubectlAction::Other("creating");

    fn of_api_server(code: u16, reason: &str, message: &str) -> OperationError {
        OperationError::api_server(code, StatusSource::ApiServer.status(code, reason, message))
    }

    fn manifest(api_version: &str, kind: &str, name: &str) -> Manifest {
        json!({ "apiVersion": api_version, "kind": kind, "metadata": { "name": name, "namespace": "account1-testns00" } })
            .try_into()
            .unwrap()
    }

    #[test]
    fn rejected_objects_have_the_recorded_messages() {
        let deployment = manifest("apps/v1", "Deployment", "err");
        let strict = "Deployment in version \"v1\" cannot be handled as a Deployment: strict decoding error: unknown field \
                      \"spec.replicaz\"";
        assert_eq!(
            undelivered(&of_api_server(400, "BadRequest", strict), CREATING, &deployment),
            format!("Error from server (BadRequest): error when creating \"STDIN\": {strict}\n")
        );
        // By the kind of the error, whatever its message; 0.1's agents sent no kind.
        let old = "no matches for kind \"Wibble\" in version \"nope.example.com/v1\" (group …) of account a";
        let old = StatusSource::Agent.status(404, "NotFound", old);
        for error in [
            OperationError::agent(ErrorKind::NoKindMatch, "any other words"),
            OperationError::received("", 404, old),
        ] {
            assert_eq!(
                undelivered(&error, CREATING, &manifest("nope.example.com/v1", "Wibble", "x")),
                "error: resource mapping not found for name: \"x\" namespace: \"account1-testns00\" from \"STDIN\": no \
             matches for kind \"Wibble\" in version \"nope.example.com/v1\"\nensure CRDs are installed first\n"
            );
        }
        let away = OperationError::hub(ErrorKind::NoAgent, "no agent that serves account a is connected");
        assert_eq!(
            undelivered(&away, CREATING, &deployment),
            "error: no agent that serves account a is connected\n"
        );
    }

    #[test]
    fn a_rollback_of_an_applied_object_has_the_recorded_warning() {
        // recording 375
        let mut applied = manifest("apps/v1", "Deployment", "shop-web");
        assert_eq!(rollback_warning(&applied), None);
        applied.annotate(annotation::LAST_APPLIED, "{}", Existing::Keep);
        assert_eq!(
            rollback_warning(&applied).unwrap(),
            "Warning: resource deployments/shop-web was previously managed with 'kubectl apply'. Rolling back will not \
             update the kubectl.kubernetes.io/last-applied-configuration annotation, which may cause unexpected behavior \
             on future 'kubectl apply' operations. Consider using 'kubectl apply' with your previous configuration file \
             instead.\n"
        );
    }

    #[test]
    fn a_patch_that_is_not_supported_names_the_kind() {
        let message = "the body of the request was in an unknown format";
        let error = of_api_server(415, "UnsupportedMediaType", message);
        assert!(is_unsupported_media_type(&error));
        assert_eq!(
            unsupported_patch(
                "application/strategic-merge-patch+json",
                &manifest("stable.example.com/v1", "CronTab", "my-cron"),
                &error
            ),
            "error: application/strategic-merge-patch+json is not supported by stable.example.com/v1, Kind=CronTab: the \
             body of the request was in an unknown format\n"
        );
    }
}
