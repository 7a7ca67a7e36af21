//! Fields that every line carries.

use super::LoggingConfig;
use crate::config::Env;
use crate::daemon;

/// Gives the fields of the process and those of `logging.fields`; one without a value is found out, or left away.
pub(super) fn constants(
    config: &LoggingConfig,
    env: &Env,
    of_process: &[(&str, String)],
) -> Vec<(String, String)> {
    let of_process = of_process.iter().map(|(name, value)| ((*name).to_owned(), value.clone()));
    let configured = config.fields.iter().filter_map(|(name, value)| {
        let given = value.clone().filter(|value| !value.is_empty());
        Some((name.clone(), given.or_else(|| detect(name, env))?))
    });
    of_process.chain(configured).collect()
}

/// Finds the values that the Armory agent adds to its log, under its names.
fn detect(name: &str, env: &Env) -> Option<String> {
    match name {
        "agentCluster" => {
            let variable = |name| env.get(name).map(str::to_owned);
            variable("KUBERNETES_SERVICE_NAME").or_else(|| variable("KUBERNETES_SERVICE_HOST"))
        }
        "agentNamespace" => daemon::pod_namespace(env),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_without_a_value_are_found_out_or_left_away() {
        let fields =
            [("team", Some("edge")), ("agentCluster", None), ("agentNamespace", None), ("colour", None)];
        let fields = fields.map(|(name, value)| (name.to_owned(), value.map(str::to_owned)));
        let config = LoggingConfig { fields: fields.into(), ..LoggingConfig::default() };
        let env = Env::from_iter([("KUBERNETES_SERVICE_HOST", "10.0.0.1"), ("POD_NAMESPACE", "spinnaker")]);
        let constants = constants(&config, &env, &[("agentId", "a-1".to_owned())]);
        let shown: Vec<_> = constants.iter().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(shown, ["agentId=a-1", "agentCluster=10.0.0.1", "agentNamespace=spinnaker", "team=edge"]);
    }
}
