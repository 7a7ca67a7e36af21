//! Security groups: network policies, by account, provider and namespace.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{Common, Empty, KUBERNETES};
use crate::{Aspect, Inventory, Moniker, Row, SpinnakerKind, row};

/// Network policy in a list; its moniker is always empty.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct SecurityGroupSummary {
    name: String,
    id: String,
    moniker: Empty,
}

/// Network policy with all details.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SecurityGroup<'a> {
    class: &'static str,
    moniker: &'a Moniker,
    inbound_rules: Vec<PortRuleView<'a>>,
    outbound_rules: Vec<PortRuleView<'a>>,
    id: String,
    name: String,
    #[serde(flatten)]
    common: Common<'a>,
    region: &'a str,
    account_name: &'a str,
    cloud_provider: &'static str,
    summary: SecurityGroupSummary,
    r#type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    application: Option<&'a str>,
}

#[derive(Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct PortRuleView<'a> {
    class: &'static str,
    /// One port; none if the rule is for all ports.
    #[serde(skip_serializing_if = "Option::is_none")]
    port_ranges: Option<[PortRange<'a>; 1]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    protocol: Option<&'a str>,
}

#[derive(Debug, PartialEq, Serialize)]
#[serde(untagged, rename_all_fields = "camelCase")]
enum PortRange<'a> {
    Numbers { start_port: i64, end_port: i64 },
    Names { start_port_name: &'a str, end_port_name: &'a str },
}

const CLASS: &str = "com.netflix.spinnaker.clouddriver.kubernetes.caching.view.model.KubernetesSecurityGroup";
const RULE_CLASS: &str =
    "com.netflix.spinnaker.clouddriver.kubernetes.caching.view.model.KubernetesSecurityGroup$PortRule";

/// Summaries by account and namespace, sorted by name. The routes differ in how many of these levels they show.
pub fn security_groups<'a>(
    inventory: &Inventory<'a>,
) -> BTreeMap<&'a str, BTreeMap<&'a str, Vec<SecurityGroupSummary>>> {
    let mut groups: BTreeMap<_, BTreeMap<_, Vec<_>>> = BTreeMap::new();
    for row in inventory.of_kind(SpinnakerKind::SecurityGroups) {
        let account = groups.entry(&*row.account).or_default();
        account.entry(&*row.object.namespace).or_default().push(SecurityGroupSummary::new(row));
    }
    groups
}

// === impl SecurityGroupSummary ===

impl SecurityGroupSummary {
    pub fn new(row: &Row) -> Self {
        let name = row.full_name();
        Self { id: name.clone(), name, moniker: Empty {} }
    }
}

// === impl SecurityGroup ===

impl<'a> SecurityGroup<'a> {
    pub fn new(row: &'a Row) -> Self {
        let (inbound, outbound): (&[_], &[_]) = match &row.summary.aspect {
            Aspect::SecurityGroup(rules) => (&rules.inbound, &rules.outbound),
            _ => (&[], &[]),
        };
        Self {
            class: CLASS,
            moniker: &row.summary.moniker,
            inbound_rules: PortRuleView::each_once(inbound),
            outbound_rules: PortRuleView::each_once(outbound),
            id: row.full_name(),
            name: row.full_name(),
            common: Common::of(row),
            region: &row.object.namespace,
            account_name: &row.account,
            cloud_provider: KUBERNETES,
            summary: SecurityGroupSummary::new(row),
            r#type: KUBERNETES,
            application: row.summary.moniker.application(),
        }
    }
}

// === impl PortRuleView ===

impl<'a> PortRuleView<'a> {
    /// Removes duplicates: rules also differ by peers, which are not shown.
    fn each_once(rules: &'a [row::PortRule]) -> Vec<Self> {
        let mut shown = Vec::new();
        for rule in rules.iter().map(Self::new) {
            if !shown.contains(&rule) {
                shown.push(rule);
            }
        }
        shown
    }

    fn new(rule: &'a row::PortRule) -> Self {
        let range = rule.port.as_ref().map(|port| match port {
            row::Port::Number(port) => PortRange::Numbers { start_port: *port, end_port: *port },
            row::Port::Name(name) => PortRange::Names { start_port_name: name, end_port_name: name },
        });
        Self {
            class: RULE_CLASS,
            port_ranges: range.map(|range| [range]),
            protocol: rule.protocol.as_deref(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn each_rule_is_shown_once_and_one_for_every_port_without_ranges() {
        let ports = json!([{"protocol": "TCP", "port": 80}, {"protocol": "TCP"}, {"protocol": "TCP", "port": 80},
            {"protocol": "UDP", "port": "dns"}]);
        let rules: Vec<row::PortRule> = serde_json::from_value(ports).unwrap();
        let shown = serde_json::to_value(PortRuleView::each_once(&rules)).unwrap();
        let rule = |protocol: &str, ranges: Value| json!({"class": RULE_CLASS, "portRanges": ranges, "protocol": protocol});
        let names = json!([{"startPortName": "dns", "endPortName": "dns"}]);
        assert_eq!(
            shown,
            json!([
                rule("TCP", json!([{"startPort": 80, "endPort": 80}])),
                {"class": RULE_CLASS, "protocol": "TCP"},
                rule("UDP", names)
            ])
        );
    }
}
