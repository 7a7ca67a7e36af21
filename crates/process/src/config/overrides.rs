//! Spring-style overrides from the environment: `CLOUDDRIVER_GRPC` sets `clouddriver.grpc`.

use super::env::Env;
use super::schema::{Keys, relaxed};
use super::tree::{Origin, Tree};

/// Lays the variables that name a known key over the tree; gives a warning for each one refused.
pub(crate) fn apply(tree: &mut Tree, keys: &Keys, env: &Env) -> Vec<String> {
    let mut warnings = Vec::new();
    keys.for_each_leaf(&mut |path| {
        let name = variable(path);
        let Some(value) = env.get(&name) else { return };
        if is_service_link(&name, value) {
            let key = path.join(".");
            warnings.push(format!(
                "environment variable {name} is not used for `{key}`: it describes a Kubernetes service"
            ));
            return;
        }
        tree.set(path, Tree::text(value, Origin::Variable(name)));
    });
    warnings
}

/// Spells a path as an environment variable.
fn variable(path: &[String]) -> String {
    path.iter().map(|segment| relaxed(segment).to_uppercase()).collect::<Vec<_>>().join("_")
}

/// Whether it is a variable that the kubelet sets for each service of the namespace.
///
/// A service named `prometheus` gives `PROMETHEUS_PORT=tcp://10.0.0.1:9090`, which is not our `prometheus.port`.
fn is_service_link(name: &str, value: &str) -> bool {
    name.ends_with("_PORT") && ["tcp://", "udp://", "sctp://"].iter().any(|scheme| value.starts_with(scheme))
}
