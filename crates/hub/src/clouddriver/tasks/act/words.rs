//! What kubectl adds to the words of an API server.

use spindrift_spinnaker::{Manifest, annotation};

use crate::clouddriver::Trouble;

/// Where kubectl has manifests from.
const SOURCE: &str = "STDIN";

/// How an agent begins when there is no such kind.
const NO_MATCHES: &str = "no matches for kind";

/// An object that was not taken.
pub(super) fn undelivered(trouble: &Trouble, doing: &str, manifest: &Manifest) -> String {
    let Trouble::Failed(status) = trouble else { return trouble.said() };
    if status.message.starts_with(NO_MATCHES) {
        let (name, namespace, version) =
            (manifest.shown_name(), manifest.namespace(), manifest.api_version());
        let kind = manifest.as_map().get("kind").and_then(serde_json::Value::as_str).unwrap_or_default();
        return format!(
            "error: resource mapping not found for name: {name:?} namespace: {namespace:?} from {SOURCE:?}: \
             {NO_MATCHES} {kind:?} in version {version:?}\nensure CRDs are installed first\n"
        );
    }
    // Of the words of others than the API server, kubectl knows nothing.
    if trouble.said().starts_with("error: ") {
        return trouble.said();
    }
    format!("{}\n", status.clone().about(doing, SOURCE))
}

/// Whether the API server does not merge objects of this kind so.
pub(super) fn is_unsupported_media_type(trouble: &Trouble) -> bool {
    matches!(trouble, Trouble::Failed(status) if status.code == 415)
}

/// A patch of a kind that is not merged so.
pub(super) fn unsupported_patch(content_type: &str, object: &Manifest, trouble: &Trouble) -> String {
    let message = match trouble {
        Trouble::Failed(status) => status.message.as_str(),
        _ => "",
    };
    let kind = object.as_map().get("kind").and_then(serde_json::Value::as_str).unwrap_or_default();
    let version = object.api_version();
    format!("error: {content_type} is not supported by {version}, Kind={kind}: {message}\n")
}

/// What kubectl says before it rolls back what was applied.
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
    use spindrift_model::Status;
    use spindrift_spinnaker::Existing;

    use super::*;

    fn trouble(code: u16, reason: &str, message: &str, details: &serde_json::Value) -> Trouble {
        let status = json!({ "kind": "Status", "code": code, "reason": reason, "message": message, "details": details });
        Trouble::Failed(Box::new(Status::read(status.to_string().as_bytes()).unwrap()))
    }

    fn manifest(api_version: &str, kind: &str, name: &str) -> Manifest {
        json!({ "apiVersion": api_version, "kind": kind, "metadata": { "name": name, "namespace": "account1-testns00" } })
            .try_into()
            .unwrap()
    }

    #[test]
    fn what_is_not_delivered_is_told_as_recorded() {
        let deployment = manifest("apps/v1", "Deployment", "err");
        let strict = "Deployment in version \"v1\" cannot be handled as a Deployment: strict decoding error: unknown field \
                      \"spec.replicaz\"";
        assert_eq!(
            undelivered(&trouble(400, "BadRequest", strict, &json!({})), "creating", &deployment),
            format!("Error from server (BadRequest): error when creating \"STDIN\": {strict}\n")
        );
        let message =
            "no matches for kind \"Wibble\" in version \"nope.example.com/v1\" (group …) of account a";
        assert_eq!(
            undelivered(
                &trouble(404, "NotFound", message, &json!(null)),
                "creating",
                &manifest("nope.example.com/v1", "Wibble", "x")
            ),
            "error: resource mapping not found for name: \"x\" namespace: \"account1-testns00\" from \"STDIN\": no \
             matches for kind \"Wibble\" in version \"nope.example.com/v1\"\nensure CRDs are installed first\n"
        );
        let away = Status::new(503, "ServiceUnavailable", "no agent that serves account a is connected");
        assert_eq!(
            undelivered(&Trouble::Failed(Box::new(away)), "creating", &deployment),
            "error: no agent that serves account a is connected\n"
        );
    }

    #[test]
    fn who_goes_back_from_what_was_applied_is_warned_as_recorded() {
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
        let trouble = trouble(415, "UnsupportedMediaType", message, &json!({}));
        assert!(is_unsupported_media_type(&trouble));
        assert_eq!(
            unsupported_patch(
                "application/strategic-merge-patch+json",
                &manifest("stable.example.com/v1", "CronTab", "my-cron"),
                &trouble
            ),
            "error: application/strategic-merge-patch+json is not supported by stable.example.com/v1, Kind=CronTab: the \
             body of the request was in an unknown format\n"
        );
    }
}
