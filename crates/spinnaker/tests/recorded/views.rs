//! Views for Gate and Deck, built from the rows of recorded objects.

use std::{collections::BTreeSet, sync::Arc};

use serde::Serialize;
use serde_json::{Value, json};
use spindrift_model::ObjectKey;
use spindrift_spinnaker::{
    Coordinates, Inventory, Kind, KindRules, Row, RowKey, RowRules, SpinnakerKind,
    row::Summary,
    view::{
        AccountDetails, AccountMarks, AccountSettings, AccountView, ApplicationDetails, Cluster, ClusterRef,
        ClusterSummary, ExpandedServerGroup, Instance, KindExpressions, LoadBalancer, RawResource,
        SearchPage, SearchTypes, Searched, SecurityGroup, ServerGroup, ServerGroupManager,
        ServerGroupSummary, applications, clusters_of, search, security_groups,
    },
};

use crate::{assert_same, entries};

/// Rows of both recorded accounts: one with `onlySpinnakerManaged`, the other with `cacheAllApplicationRelationships`.
fn rows() -> Vec<Row> {
    let kinds = KindRules::default();
    let derive = |entry: Value| {
        let (account, object) = (entry["account"].as_str().unwrap(), &entry["object"]);
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let key = ObjectKey {
            group: text("/apiVersion").split_once('/').map_or("", |(group, _)| group).into(),
            kind: text("/kind").into(),
            namespace: text("/metadata/namespace").into(),
            name: text("/metadata/name").into(),
        };
        let (only_managed, all_applications) = (account == "account1", account == "wide");
        let rules = RowRules { kinds: &kinds, only_managed, all_applications };
        Row::derive(&Arc::from(account), &key, object.to_string().as_bytes(), rules)
    };
    let rows: Vec<_> = entries(include_str!("objects.jsonl")).into_iter().filter_map(derive).collect();
    // A store keeps summaries as text.
    let stored = |mut row: Row| {
        let text = serde_json::to_string(&row.summary).unwrap();
        row.summary = serde_json::from_str::<Summary>(&text).unwrap();
        row
    };
    rows.into_iter().map(stored).collect()
}

/// Settings of the same accounts.
fn accounts() -> [AccountSettings; 2] {
    let texts = |texts: &[&str]| texts.iter().map(ToString::to_string).collect::<Vec<_>>();
    let custom = json!([{"kubernetesKind": "crontab.stable.example.com", "versioned": false}]);
    let test_namespaces = (0..5).map(|number| format!("account1-testns{number:02}"));
    let account1 = AccountSettings {
        name: "account1".into(),
        cache_threads: Some(3),
        cache_interval_seconds: Some(5),
        namespaces: std::iter::once("default".to_owned()).chain(test_namespaces).collect(),
        kinds: KindRules::new(serde_json::from_value(custom).unwrap()),
        ..AccountSettings::default()
    };
    let permissions = [("READ", " Devs"), ("WRITE", "sre")];
    let wide = AccountSettings {
        name: "wide".into(),
        environment: Some("prod".into()),
        account_type: Some("prod".into()),
        permissions: permissions.map(|(action, role)| (action.to_owned(), texts(&[role]))).into(),
        required_group_membership: texts(&["ignored, since there are permissions"]),
        cache_interval_seconds: Some(5),
        ..AccountSettings::default()
    };
    [account1, wide]
}

fn json(value: impl Serialize) -> Value {
    serde_json::to_value(value).unwrap()
}

#[test]
fn views_are_as_recorded() {
    let rows = rows();
    let inventory = Inventory::new(&rows);
    let clusters: BTreeSet<_> = rows.iter().filter_map(ClusterRef::of).collect();
    let clusters: Vec<_> = clusters.into_iter().collect();
    let names: BTreeSet<_> = rows.iter().filter_map(|row| row.application.clone()).collect();
    let names: Vec<_> = names.into_iter().collect();
    let group = |account: &str, namespace: &str, kind: &str, name: &str| {
        inventory.find(account, namespace, &Kind::parse(kind), name).unwrap()
    };
    let detail = |account, namespace, kind, name| {
        json(ServerGroup::new(group(account, namespace, kind, name), &inventory))
    };
    let of_application = |application| -> Value {
        let groups = inventory.of_application(application, SpinnakerKind::ServerGroups);
        groups.map(|row| json(ServerGroupSummary::new(row, &inventory))).collect()
    };
    let cluster =
        |account, name, expand| json(Cluster::find(("shop", account, name), expand, &inventory).unwrap());
    let keys: Vec<RowKey> = rows.iter().map(RowKey::from).collect();
    let found = |types: &str| {
        let searched = Searched { rows: &keys, clusters: &clusters, applications: &names };
        let hits = search("shop", &SearchTypes::parse(types.split(',')), searched);
        json!([SearchPage::new("shop", hits, 1, 500)])
    };
    let default = vec!["default".to_owned()];
    let marks = AccountMarks { challenged_environments: default.clone(), primary_types: default };
    let entries = entries(include_str!("views.jsonl"));
    assert_eq!(entries.len(), 31);
    for entry in entries {
        let recording = entry["recording"].as_u64().unwrap();
        let mut recorded = entry["body"].clone();
        let ours = match recording {
            2 => accounts().iter().map(|account| json(AccountView::new(account, &marks))).collect(),
            3 => accounts().iter().map(|account| json(AccountDetails::new(account, &marks))).collect(),
            112 => json(applications(names.iter().map(String::as_str), &clusters)),
            115 => json(ApplicationDetails::new("shop", &clusters)),
            118 => json(ApplicationDetails::new("junk", &clusters)),
            119 => json(clusters_of("shop", &clusters)),
            121 => json(ClusterSummary::of_account("shop", "account1", &inventory)),
            126 => cluster("account1", "deployment shop-web", true),
            127 => cluster("account1", "deployment shop-web", false),
            129 => cluster("wide", "statefulSet shop-sts", true),
            147 => of_application("shop"),
            151 => {
                let groups = of_application("shop");
                let is_web = |group: &&Value| group["cluster"] == "deployment shop-web";
                groups.as_array().unwrap().iter().filter(is_web).cloned().collect()
            }
            154 => of_application("junk"),
            155 => detail("account1", "default", "replicaSet", "shop-web-565d5b9787"),
            157 => detail("account1", "account1-testns00", "rs", "traffic-rs-v001"),
            158 => detail("wide", "wide-ns00", "statefulset", "shop-sts"),
            159 => detail("wide", "wide-ns00", "daemonSet", "shop-ds"),
            173 => inventory
                .of_application("shop", SpinnakerKind::ServerGroupManagers)
                .map(|row| json(ServerGroupManager::new(row, &inventory)))
                .collect(),
            175 => json(LoadBalancer::of_application("shop", &inventory)),
            179 => json!([LoadBalancer::new(group("account1", "default", "svc", "shop-svc"), &inventory)]),
            182 => {
                let accounts = security_groups(&inventory).into_iter();
                accounts
                    .map(|(account, groups)| (account.to_owned(), json!({"kubernetes": groups})))
                    .collect()
            }
            188 => json(SecurityGroup::new(group("account1", "default", "netpol", "shop-netpol"))),
            193 => json(Instance::new(group("account1", "default", "pod", "shop-web-565d5b9787-dpxjp"))),
            252 => json(Instance::new(group("wide", "wide-ns00", "pod", "shop-multi-5c5cdc668c-2fplr"))),
            268 => found("serverGroups"),
            269 => found("instances"),
            271 => {
                // Our hits name the application of every security group, see `Hit`.
                recorded[0]["results"][0]["application"] = "shop".into();
                found("securityGroups")
            }
            272 => found("serverGroupManagers"),
            273 => found("clusters"),
            274 => {
                // Clouddriver picks any of the clusters.
                recorded[0]["results"][1]["cluster"] = "statefulSet shop-sts".into();
                found("applications")
            }
            287 => {
                let shown = KindExpressions::default();
                let of_shop =
                    |row: &&Row| row.application.as_deref() == Some("shop") && shown.show(row.kind());
                rows.iter().filter(of_shop).map(|row| json(RawResource::new(row))).collect()
            }
            other => panic!("nobody compares recording {other}"),
        };
        assert_same(ours, recorded, &format!("recording {recording}, {}", entry["path"]));
    }
}

#[test]
fn an_expanded_server_group_names_its_account_cluster_and_application() {
    let rows = rows();
    let inventory = Inventory::new(&rows);
    let row = inventory.of_application("shop", SpinnakerKind::ServerGroups).next().unwrap();
    let expanded = json(ExpandedServerGroup::new(row, &inventory));
    assert_eq!(expanded["accountName"], expanded["account"]);
    assert_eq!(
        (&expanded["application"], &expanded["cluster"]),
        (&json!("shop"), &json!("cronJob shop-cron"))
    );
    assert!(expanded.get("stack").is_none(), "nothing is null");
}

#[test]
fn a_workload_that_no_load_balancer_finds_is_disabled() {
    let mut rows = rows();
    for row in &mut rows {
        if let spindrift_spinnaker::Aspect::ServerGroup(workload) = &mut row.summary.aspect {
            workload.pod_labels.remove("lb");
        }
    }
    let inventory = Inventory::new(&rows);
    let kind = Kind::parse("replicaSet");
    let row = inventory.find("account1", "account1-testns00", &kind, "traffic-rs-v000").unwrap();
    let detail = json(ServerGroup::new(row, &inventory));
    assert_eq!(detail["disabled"], true);
    assert_eq!(detail["loadBalancers"], json!(["service traffic-svc"]));
}

#[test]
fn pages_are_counted_from_one() {
    let keys: Vec<RowKey> = rows().iter().map(RowKey::from).collect();
    let found = |query: &str, types: &[&str]| {
        let searched = Searched { rows: &keys, clusters: &[], applications: &[] };
        json(search(query, &SearchTypes::parse(types.iter().copied()), searched)).as_array().unwrap().len()
    };
    let page = |number| {
        let searched = Searched { rows: &keys, clusters: &[], applications: &[] };
        let hits = search("SHOP", &SearchTypes::parse(["serverGroups", "instances"]), searched);
        json(SearchPage::new("SHOP", hits, number, 5))
    };
    assert_eq!(page(2)["totalMatches"], 5);
    assert_ne!(page(1)["results"], page(2)["results"]);
    for number in [1_000_000, 0, -1, i32::MIN] {
        assert_eq!((&page(number)["totalMatches"], &page(number)["pageNumber"]), (&json!(0), &json!(number)));
    }
    assert_eq!((found("shop", &["wibble"]), found("", &["loadBalancers"])), (0, 12));
}

#[test]
fn every_security_group_that_is_found_names_an_application() {
    let row = |kind: &str, application: Option<&str>| RowKey {
        account: "account1".into(),
        object: Coordinates::new(Kind::parse(kind), "default", "wall"),
        spinnaker_kind: SpinnakerKind::SecurityGroups,
        application: application.map(str::to_owned),
        cluster: None,
    };
    let rows = [row("networkPolicy", None), row("Firewall.example.com", None), row("netpol", Some("shop"))];
    let searched = Searched { rows: &rows, clusters: &[], applications: &[] };
    let hits = json(search("wall", &SearchTypes::parse(["securityGroups"]), searched));
    let applications: Vec<_> = hits.as_array().unwrap().iter().map(|hit| &hit["application"]).collect();
    assert_eq!(applications, ["", "", "shop"], "Orca compares them without a look");
}
