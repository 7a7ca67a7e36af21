//! Options whose value promises more than they do: each is named at start, with its limit.

use super::AgentConfig;
use crate::watch::OPEN_LISTS;

/// Interval of pings that hubs of this version ask for, in seconds.
const HUB_HEARTBEAT: u64 = 5;

/// Returns a warning for each option that is set to a value beyond its limit.
pub(super) fn warnings(config: &AgentConfig, is_set: &dyn Fn(&str) -> bool) -> Vec<String> {
    let AgentConfig { clouddriver, tasks, zone_id, timeout_seconds, .. } = config;
    let options = [
        (
            "clouddriver.keepAliveHeartbeatSeconds",
            clouddriver.keep_alive_heartbeat_seconds.to_string(),
            clouddriver.keep_alive_heartbeat_seconds > HUB_HEARTBEAT,
            format!("hubs ask for a ping every {HUB_HEARTBEAT} s, and the shorter interval is used"),
        ),
        (
            "tasks.totalBudget",
            tasks.total_budget.to_string(),
            tasks.total_budget == 0 || tasks.total_budget > OPEN_LISTS,
            format!("at most {OPEN_LISTS} lists run at once, so that memory is bounded"),
        ),
        (
            "tasks.queueCheckFrequencyMs",
            tasks.queue_check_frequency_ms.to_string(),
            true,
            "it has no effect: a list that waits starts when its turn comes, and nothing is polled"
                .to_owned(),
        ),
        (
            "zoneId",
            zone_id.clone(),
            !zone_id.is_empty(),
            "hubs show it, and no hub chooses agents by it".to_owned(),
        ),
        (
            "timeoutSeconds",
            timeout_seconds.to_string(),
            *timeout_seconds == 0,
            "0 is not without limit: requests to API servers end after 30 s".to_owned(),
        ),
    ];
    let limited = options.into_iter().filter(|(option, _, is_limited, _)| *is_limited && is_set(option));
    limited.map(|(option, value, _, limit)| format!("`{option}: {value}`: {limit}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_with_limits_are_named_if_they_are_set_beyond_them() {
        let mut config = AgentConfig::default();
        assert!(warnings(&config, &|_| false).is_empty(), "defaults need no warning");
        let named = |config: &AgentConfig| {
            let named = warnings(config, &|_| true).into_iter();
            named.map(|warning| warning.split('`').nth(1).unwrap_or_default().to_owned()).collect::<Vec<_>>()
        };
        let defaults = [
            "clouddriver.keepAliveHeartbeatSeconds: 20",
            "tasks.totalBudget: 1000",
            "tasks.queueCheckFrequencyMs: 2000",
            "timeoutSeconds: 0",
        ];
        assert_eq!(named(&config), defaults);
        config.clouddriver.keep_alive_heartbeat_seconds = 5;
        config.tasks.total_budget = OPEN_LISTS;
        config.timeout_seconds = 60;
        config.zone_id = "eu".into();
        assert_eq!(named(&config), ["tasks.queueCheckFrequencyMs: 2000", "zoneId: eu"]);
    }
}
