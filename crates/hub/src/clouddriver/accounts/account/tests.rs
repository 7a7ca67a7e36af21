use spindrift_model::{AccountDescription, AgentId, ClusterIdentity, Cursor, Epoch, Seq};
use std::time::Duration;

use super::*;

fn account(properties: &str, runtime: &str) -> Account {
    let row = AccountRow {
        description: AccountDescription {
            name: AccountName::parse("wide").unwrap(),
            cluster: ClusterIdentity::default(),
            kubernetes_version: "v1.36.3".into(),
            namespaces: vec!["default".into()],
            properties: properties.into(),
            max_resumable_age: Duration::ZERO,
        },
        announced_by: AgentId::parse("agent").unwrap(),
        first_seen: jiff::Timestamp::UNIX_EPOCH,
        last_seen: jiff::Timestamp::UNIX_EPOCH,
        problem: None,
        cursor: Cursor { epoch: Epoch(0), seq: Seq(0) },
        holder: None,
    };
    Account::new(&row, &serde_json::from_str(runtime).unwrap())
}

fn caller(accounts: &[&str]) -> Caller {
    Caller { user: None, accounts: accounts.iter().map(ToString::to_string).collect() }
}

#[test]
fn a_restricted_account_is_changed_only_by_callers_that_name_it() {
    for restricted in [
        r#"{"permissions":{"READ":["devs"],"WRITE":["sre"]}}"#,
        r#"{"permissions":{"READ":["devs"]}}"#,
        r#"{"requiredGroupMembership":["sre"]}"#,
    ] {
        let account = account(restricted, "{}");
        assert!(!account.may_change(&caller(&[])), "{restricted}");
        assert!(!account.may_change(&caller(&["account1"])), "{restricted}");
        assert!(account.may_change(&caller(&["account1", "Wide"])), "{restricted}");
    }
    assert!(account(r#"{"permissions":{"WRITE":[]}}"#, "{}").may_change(&caller(&[])), "no role is required");
}

#[test]
fn an_account_with_invalid_roles_cannot_be_changed() {
    for unreadable in [
        r#"{"permissions":"sre"}"#,
        r#"{"permissions":{"READ":["devs"]},"omitNamespaces":"all"}"#,
        r#"{"permissions":{"READ":["spindrift:nobody"],"WRITE":["spindrift:nobody"]}}"#,
    ] {
        let account = account(unreadable, "{}");
        assert!(!account.may_change(&caller(&["wide"])), "{unreadable}");
    }
}

#[test]
fn the_hubs_entry_overrides_the_announcement_which_overrides_the_hubs_defaults() {
    let only_managed = |properties: &str, runtime: &str| account(properties, runtime).only_managed;
    let defaults = r#"{"defaults":{"onlySpinnakerManaged":true}}"#;
    let own =
        r#"{"defaults":{"onlySpinnakerManaged":true},"accounts":{"wide":{"onlySpinnakerManaged":false}}}"#;
    assert!(!only_managed("{}", "{}"));
    assert!(only_managed("{}", defaults));
    assert!(!only_managed(r#"{"onlySpinnakerManaged":false}"#, defaults));
    assert!(!only_managed(r#"{"onlySpinnakerManaged":true}"#, own));
    assert!(only_managed(
        r#"{"onlySpinnakerManaged":true}"#,
        r#"{"accounts":{"other":{"onlySpinnakerManaged":false}}}"#
    ));

    let kind = |properties: &str, runtime: &str| {
        let account = account(properties, runtime);
        account.settings.kinds.spinnaker_kind(&spindrift_spinnaker::Kind::parse("Cart.example.com"))
    };
    let announced =
        r#"{"customResources":[{"kubernetesKind":"Cart.example.com","spinnakerKind":"serverGroups"}]}"#;
    let runtime = r#"{"accounts":{"wide":{"customResources":[
        {"kubernetesKind":"Cart.example.com","spinnakerKind":"loadBalancers"}]}}}"#;
    assert_eq!(kind(announced, "{}"), spindrift_spinnaker::SpinnakerKind::ServerGroups);
    assert_eq!(kind(announced, runtime), spindrift_spinnaker::SpinnakerKind::LoadBalancers);
}
