use serde_json::json;

use super::*;

/// `prod` is the only account of ours, and `foreign` one that the other is not asked for.
fn is_theirs(account: &str) -> bool {
    !["prod", "foreign"].contains(&account)
}

#[allow(clippy::needless_pass_by_value, reason = "`json!` is written where it is used")]
fn merged(list: MergedList, ours: Value, theirs: Value) -> Value {
    let (ours, theirs) = (ours.to_string(), theirs.to_string());
    let sides = Sides { ours: ours.as_bytes(), theirs: theirs.as_bytes(), is_theirs: &is_theirs };
    serde_json::from_slice(&sides.merge(list).unwrap()).unwrap()
}

#[test]
fn applications_are_joined_by_name_and_sorted() {
    let ours = json!([
        { "name": "shop", "attributes": { "name": "shop" }, "clusterNames": { "prod": ["deployment shop"] } },
        { "name": "api", "attributes": { "name": "api" }, "clusterNames": { "prod": ["deployment api"] } },
    ]);
    let theirs = json!([
        { "name": "shop", "attributes": { "name": "shop", "email": "a@b" },
          "clusterNames": { "aws": ["shop-main"], "prod": ["an old one"] } },
        { "name": "Moved", "attributes": { "name": "Moved" }, "clusterNames": { "prod": ["deployment moved"] } },
        { "name": "Bare", "attributes": { "name": "Bare" }, "clusterNames": {} },
    ]);
    assert_eq!(
        merged(MergedList::Applications, ours, theirs),
        json!([
            { "name": "api", "attributes": { "name": "api" }, "clusterNames": { "prod": ["deployment api"] } },
            { "name": "Bare", "attributes": { "name": "Bare" }, "clusterNames": {} },
            { "name": "shop", "attributes": { "name": "shop", "email": "a@b" },
              "clusterNames": { "prod": ["deployment shop"], "aws": ["shop-main"] } },
        ])
    );
}

#[test]
fn applications_that_differ_in_case_are_two() {
    let named = |name: &str| json!({ "name": name, "clusterNames": {} });
    let (ours, theirs) =
        (json!([named("shop"), named("Zoo")]), json!([named("Shop"), named("SHOP"), named("shop")]));
    let expected = json!([named("SHOP"), named("Shop"), named("shop"), named("Zoo")]);
    assert_eq!(merged(MergedList::Applications, ours, theirs), expected);
}

#[test]
fn each_side_fills_in_the_clusters_of_its_own_accounts() {
    let entry = |account: &str, by: &str| json!({ "account": account, "by": by });
    let ours = json!([entry("prod", "us"), entry("aws", "us")]);
    let theirs = json!([entry("prod", "them"), entry("aws", "them")]);
    let both = json!([entry("prod", "us"), entry("aws", "them")]);
    assert_eq!(merged(MergedList::Projects, ours.clone(), theirs.clone()), both);
    assert_eq!(merged(MergedList::Projects, json!([]), theirs.clone()), theirs, "we know no projects");
    assert_eq!(merged(MergedList::Projects, json!([ours[0]]), theirs), both, "they know more of it");
}

#[test]
fn entries_of_other_accounts_are_left_out() {
    let entry = |account: &str| json!({ "account": account, "name": account });
    let theirs = json!([entry("foreign"), entry("aws")]);
    assert_eq!(merged(MergedList::Entries, json!([]), theirs.clone()), json!([entry("aws")]));
    assert_eq!(merged(MergedList::Credentials, json!([]), theirs), json!([entry("aws")]));
    let by_account = merged(MergedList::ByAccount, json!({}), json!({ "foreign": [], "aws": [] }));
    assert_eq!(by_account, json!({ "aws": [] }));
    let application = |clusters: Value| json!({ "name": "shop", "clusterNames": clusters });
    let theirs = json!([application(json!({ "foreign": ["a"] }))]);
    assert_eq!(merged(MergedList::Applications, json!([]), theirs), json!([]));
    let theirs = json!([application(json!({ "foreign": ["a"], "aws": ["b"] }))]);
    assert_eq!(
        merged(MergedList::Applications, json!([]), theirs),
        json!([application(json!({ "aws": ["b"] }))])
    );
}

#[test]
fn an_application_has_the_clusters_and_providers_of_both() {
    let ours = json!({ "name": "shop", "attributes": { "cloudProviders": "kubernetes", "name": "shop" },
        "clusters": { "prod": [{ "name": "deployment shop" }] } });
    let theirs = json!({ "name": "shop", "attributes": { "cloudProviders": "aws,kubernetes", "owner": "x" },
        "clusters": { "aws": [{ "name": "shop" }], "prod": [] } });
    assert_eq!(
        merged(MergedList::Application, ours, theirs),
        json!({ "name": "shop", "attributes": { "cloudProviders": "kubernetes,aws", "name": "shop", "owner": "x" },
            "clusters": { "prod": [{ "name": "deployment shop" }], "aws": [{ "name": "shop" }] } })
    );
}

#[test]
fn entries_keep_their_writing_and_those_of_our_accounts_are_ours() {
    let sides = Sides {
        ours: br#"[{"account":"prod","n":1.0}]"#,
        theirs: br#"[{"account":"prod"}, {"accountName":"prod"}, {"n":1.2345678E7,"account":"a\u0077s"}, 7]"#,
        is_theirs: &is_theirs,
    };
    let text = String::from_utf8(sides.merge(MergedList::Entries).unwrap()).unwrap();
    assert_eq!(text, r#"[{"account":"prod","n":1.0},{"n":1.2345678E7,"account":"a\u0077s"},7]"#);
}

#[test]
fn each_list_is_merged_by_its_format() {
    let by_name = |names: &[&str]| -> Value { names.iter().map(|name| json!({ "name": name })).collect() };
    let credentials = merged(MergedList::Credentials, by_name(&["prod"]), by_name(&["aws", "prod"]));
    assert_eq!(credentials, by_name(&["prod", "aws"]));
    let balancers = merged(MergedList::LoadBalancers, by_name(&["service b"]), by_name(&["a", "z"]));
    assert_eq!(balancers, by_name(&["a", "service b", "z"]));
    let clusters = merged(MergedList::ByAccount, json!({ "prod": [1] }), json!({ "prod": [2], "aws": [3] }));
    assert_eq!(clusters, json!({ "prod": [1], "aws": [3] }));
    let artifact = |name: &str, kind: &str| json!({ "name": name, "type": kind });
    let artifacts = merged(
        MergedList::ArtifactCredentials,
        json!([artifact("embedded", "embedded/base64")]),
        json!([artifact("embedded", "embedded/base64"), artifact("embedded", "http/file")]),
    );
    assert_eq!(
        artifacts,
        json!([artifact("embedded", "embedded/base64"), artifact("embedded", "http/file")])
    );
    let stages = merged(
        MergedList::Stages,
        json!([{ "name": "deployManifest", "enabled": true }]),
        json!([{ "name": "deployManifest", "enabled": false }, { "name": "bake", "enabled": false }]),
    );
    let both = json!([{ "name": "deployManifest", "enabled": true }, { "name": "bake", "enabled": false }]);
    assert_eq!(stages, both);
}

#[test]
fn a_search_page_counts_its_hits() {
    let page = |platform: &str, results: Value| {
        let total = results.as_array().unwrap().len();
        json!([{ "pageNumber": 1, "pageSize": 10, "platform": platform, "query": "shop", "results": results,
            "totalMatches": total }])
    };
    let ours = page("kubernetes", json!([{ "account": "prod", "name": "pod a" }]));
    let theirs = page("aws", json!([{ "account": "prod", "name": "pod old" }, { "application": "shop" }]));
    let both = page("aws", json!([{ "account": "prod", "name": "pod a" }, { "application": "shop" }]));
    assert_eq!(merged(MergedList::Search, ours, theirs), both);
}

#[test]
fn an_application_that_both_find_is_listed_once() {
    let hit = |kind: &str, name: &str| json!({ "type": kind, "name": name, "application": name });
    let page = |results: Value| {
        let total = results.as_array().unwrap().len();
        json!([{ "pageNumber": 1, "pageSize": 10, "platform": "aws", "query": "", "results": results,
            "totalMatches": total }])
    };
    let ours = page(json!([hit("applications", "shop"), hit("clusters", "deployment shop")]));
    let theirs =
        page(json!([hit("applications", "shop"), hit("applications", "mart"), hit("clusters", "shop")]));
    let names = json!([
        hit("applications", "shop"),
        hit("clusters", "deployment shop"),
        hit("applications", "mart"),
        hit("clusters", "shop")
    ]);
    assert_eq!(merged(MergedList::Search, ours, theirs), page(names));
}

#[test]
fn an_answer_of_another_shape_is_no_part_of_a_list() {
    let sides = Sides { ours: b"[]", theirs: br#"{"error":"no"}"#, is_theirs: &is_theirs };
    for list in [MergedList::Entries, MergedList::Applications, MergedList::Credentials, MergedList::Stages] {
        assert!(sides.merge(list).is_err(), "{list:?}");
    }
}
