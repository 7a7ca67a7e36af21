//! Default zone of an agent: its Deployment and namespace, derived from the name of its pod.

/// Returns `<deployment>_<namespace>`, or as much of that as is known.
///
/// The Armory agent reads the pod's owners from the API server; the pod's name has the same information and needs no
/// permission.
pub(crate) fn zone(pod: &str, namespace: Option<&str>) -> String {
    match (deployment(pod), namespace) {
        (Some(deployment), Some(namespace)) => format!("{deployment}_{namespace}"),
        (Some(deployment), None) => deployment.to_owned(),
        (None, _) => pod.to_owned(),
    }
}

/// Returns the name of the Deployment in `<deployment>-<hash of the template>-<5 random letters>`.
fn deployment(pod: &str) -> Option<&str> {
    let (rest, random) = pod.rsplit_once('-')?;
    let (deployment, hash) = rest.rsplit_once('-')?;
    // Kubernetes leaves vowels out of both, so that no words come about.
    let is_random = |text: &str| text.chars().all(|letter| "bcdfghjklmnpqrstvwxz2456789".contains(letter));
    let fits = random.len() == 5 && (5..=10).contains(&hash.len()) && is_random(random) && is_random(hash);
    (fits && !deployment.is_empty()).then_some(deployment)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pods_of_a_deployment_share_a_zone() {
        let namespace = Some("spinnaker");
        for (pod, namespace, expected) in [
            ("spin-agent-7d9f8b6c5-x2vkq", namespace, "spin-agent_spinnaker"),
            ("spin-agent-6f5d7c8b94-4bdwz", namespace, "spin-agent_spinnaker"),
            ("spin-agent-7d9f8b6c5-x2vkq", None, "spin-agent"),
            ("agent-0", namespace, "agent-0"),
            ("build-machine-seven", namespace, "build-machine-seven"),
            ("laptop", None, "laptop"),
        ] {
            assert_eq!(zone(pod, namespace), expected, "{pod}");
        }
    }
}
