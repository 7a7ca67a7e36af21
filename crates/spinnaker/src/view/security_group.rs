//! Security groups: network policies, by account, provider and namespace.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{Common, Empty, KUBERNETES};
use crate::{Aspect, Inventory, Moniker, Row, SpinnakerKind, row};

/// A network policy in a list; its moniker is always empty.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct SecurityGroupSummary {
    name: String,
    id: String,
    moniker: Empty,
}

/// A network policy with all there is to show.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SecurityGroup<'a> {
    class: &'static str,
    moniker: &'a Moniker,
    inbound_rules: Vec<PortRule<'a>>,
    outbound_rules: Vec<PortRule<'a>>,
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

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct PortRule<'a> {
    class: &'static str,
    port_ranges: Vec<PortRange<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    protocol: Option<&'a str>,
}

#[derive(Debug, Serialize)]
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
            inbound_rules: inbound.iter().map(PortRule::new).collect(),
            outbound_rules: outbound.iter().map(PortRule::new).collect(),
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

// === impl PortRule ===

impl<'a> PortRule<'a> {
    fn new(rule: &'a row::PortRule) -> Self {
        let range = rule.port.as_ref().map(|port| match port {
            row::Port::Number(port) => PortRange::Numbers { start_port: *port, end_port: *port },
            row::Port::Name(name) => PortRange::Names { start_port_name: name, end_port_name: name },
        });
        Self {
            class: RULE_CLASS,
            port_ranges: range.into_iter().collect(),
            protocol: rule.protocol.as_deref(),
        }
    }
}
