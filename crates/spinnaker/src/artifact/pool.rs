//! Artifacts of one deployment: those of the request, and those that it creates.

use super::{Artifact, ArtifactKey};

/// Artifacts to bind; of two with the same type, name and location, the first is used.
#[derive(Debug, Clone, Default)]
pub struct Pool {
    artifacts: Vec<Artifact>,
}

/// Required artifacts whose names are in no manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unbound(Vec<ArtifactKey>);

// === impl Pool ===

impl Pool {
    /// Required artifacts come before optional ones.
    pub fn new(required: &[Artifact], optional: &[Artifact]) -> Self {
        let mut pool = Self::default();
        for artifact in required.iter().chain(optional) {
            if !pool.artifacts.iter().any(|other| is_same(other, artifact)) {
                pool.artifacts.push(artifact.clone());
            }
        }
        pool
    }

    /// Adds an artifact that was just created; it replaces one of the same name from the request.
    pub fn put(&mut self, created: Artifact) {
        self.artifacts.retain(|other| !is_same(other, &created));
        self.artifacts.push(created);
    }

    pub fn artifacts(&self) -> &[Artifact] {
        &self.artifacts
    }
}

fn is_same(one: &Artifact, other: &Artifact) -> bool {
    one.r#type == other.r#type && one.name == other.name && one.location == other.location
}

/// Whether all required artifacts were bound.
pub fn check_bound(required: &[Artifact], bound: &[Artifact]) -> Result<(), Unbound> {
    let bound: Vec<_> = bound.iter().map(Artifact::key).collect();
    let mut unbound: Vec<ArtifactKey> = Vec::new();
    for key in required.iter().map(Artifact::key) {
        if !bound.contains(&key) && !unbound.contains(&key) {
            unbound.push(key);
        }
    }
    if unbound.is_empty() { Ok(()) } else { Err(Unbound(unbound)) }
}

// === impl Unbound ===

impl Unbound {
    /// Message of a failed deployment.
    pub fn in_deployment(&self) -> String {
        self.sentence(" ")
    }

    /// Message of a failed patch, which has no blanks.
    pub fn in_patch(&self) -> String {
        self.sentence("")
    }

    fn sentence(&self, blank: &str) -> String {
        let keys: Vec<_> = self.0.iter().map(ToString::to_string).collect();
        format!(
            "The following required artifacts could not be bound: '[{}]'.{blank}Check that the Docker image name above \
             matches the name used in the image field of your manifest.{blank}Failing the stage as this is likely a \
             configuration error.",
            keys.join(", ")
        )
    }
}

#[cfg(test)]
mod tests {
    use std::slice::from_ref;

    use super::*;

    fn image(name: &str, reference: &str) -> Artifact {
        Artifact {
            r#type: Some("docker/image".into()),
            name: Some(name.into()),
            reference: Some(reference.into()),
            ..Artifact::default()
        }
    }

    #[test]
    fn the_first_of_a_name_wins_and_a_created_one_replaces_it() {
        let mut pool = Pool::new(&[image("nginx", "nginx:1.27")], &[image("nginx", "nginx:1.20")]);
        assert_eq!(pool.artifacts(), [image("nginx", "nginx:1.27")]);
        pool.put(image("nginx", "nginx:2"));
        assert_eq!(pool.artifacts(), [image("nginx", "nginx:2")]);
    }

    #[test]
    fn unbound_required_artifacts_are_named_as_recorded() {
        let nginx = image("nginx", "nginx:1.27");
        assert_eq!(check_bound(from_ref(&nginx), from_ref(&nginx)), Ok(()));
        let unbound = check_bound(&[nginx.clone(), nginx], &[image("nginx", "nginx:1.28")]).unwrap_err();
        assert_eq!(
            unbound.in_deployment(),
            "The following required artifacts could not be bound: '[ArtifactKey(type=docker/image, name=nginx, \
             version=null, location=null, reference=nginx:1.27)]'. Check that the Docker image name above matches the \
             name used in the image field of your manifest. Failing the stage as this is likely a configuration error."
        );
        assert!(
            unbound.in_patch().contains("'.Check that") && unbound.in_patch().contains("manifest.Failing")
        );
    }
}
