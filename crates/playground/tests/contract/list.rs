//! Lists: pages of one snapshot, selectors.

use serde_json::{Value, json};

use crate::support::{Server, config_map, failure, names, pod, with};

facts![
    lists_are_sorted_and_have_a_version,
    pages_are_of_one_snapshot,
    the_last_page_has_no_continue_token,
    the_rest_can_be_had_without_a_limit,
    pages_with_a_selector_do_not_count_the_rest,
    lists_of_all_namespaces_page_across_them,
    broken_continue_tokens_are_refused,
    limits_are_numbers,
    label_selectors_choose,
    broken_label_selectors_are_refused,
    field_selectors_choose_by_name,
    pods_can_be_chosen_by_node_and_phase,
    unknown_field_selectors_are_refused,
    absent_namespaces_are_empty,
];

async fn five(server: &Server) -> anyhow::Result<()> {
    for (name, parity) in [("c0", "even"), ("c1", "odd"), ("c2", "even"), ("c3", "odd"), ("c4", "even")] {
        let labels = json!({"parity": parity, "number": name[1..]});
        let object = with(config_map(name), "/metadata/labels", labels);
        server.post(server.core("configmaps"), object).ok().await?;
    }
    Ok(())
}

async fn list(server: &Server, query: &str) -> anyhow::Result<Value> {
    server.get(server.core(&format!("configmaps?{query}"))).ok().await
}

fn token(list: &Value) -> &str {
    list["metadata"]["continue"].as_str().unwrap_or_default()
}

async fn lists_are_sorted_and_have_a_version(server: &Server) -> anyhow::Result<()> {
    for name in ["two", "one", "three"] {
        server.config_map(name).await?;
    }
    let list = list(server, "").await?;
    assert_eq!((&list["kind"], &list["apiVersion"]), (&json!("ConfigMapList"), &json!("v1")));
    assert_eq!(names(&list), ["one", "three", "two"]);
    assert_eq!(list["items"][0]["kind"], Value::Null, "the list says it once");
    assert!(list["metadata"]["resourceVersion"].is_string());
    assert_eq!(list["metadata"].as_object().unwrap().len(), 1, "{}", list["metadata"]);
    Ok(())
}

async fn pages_are_of_one_snapshot(server: &Server) -> anyhow::Result<()> {
    five(server).await?;
    let first = list(server, "limit=2").await?;
    assert_eq!(names(&first), ["c0", "c1"]);
    assert_eq!(first["metadata"]["remainingItemCount"], 3);

    server.config_map("c9").await?;
    server.delete(server.core("configmaps/c3")).ok().await?;
    let second = list(server, &format!("limit=2&continue={}", token(&first))).await?;
    assert_eq!(names(&second), ["c2", "c3"]);
    assert_eq!(second["metadata"]["remainingItemCount"], 1);
    assert_eq!(second["metadata"]["resourceVersion"], first["metadata"]["resourceVersion"]);
    let third = list(server, &format!("limit=2&continue={}", token(&second))).await?;
    assert_eq!(names(&third), ["c4"]);
    Ok(())
}

async fn the_last_page_has_no_continue_token(server: &Server) -> anyhow::Result<()> {
    five(server).await?;
    let first = list(server, "limit=4").await?;
    let last = list(server, &format!("limit=4&continue={}", token(&first))).await?;
    assert_eq!(names(&last), ["c4"]);
    assert_eq!(token(&last), "");
    assert_eq!(last["metadata"]["remainingItemCount"], Value::Null);
    assert_eq!(token(&list(server, "limit=5").await?), "");
    Ok(())
}

async fn the_rest_can_be_had_without_a_limit(server: &Server) -> anyhow::Result<()> {
    five(server).await?;
    let first = list(server, "limit=2").await?;
    let rest = list(server, &format!("continue={}", token(&first))).await?;
    assert_eq!(names(&rest), ["c2", "c3", "c4"]);
    assert_eq!(token(&rest), "");
    Ok(())
}

async fn pages_with_a_selector_do_not_count_the_rest(server: &Server) -> anyhow::Result<()> {
    five(server).await?;
    let mut page = list(server, "limit=1&labelSelector=parity=even").await?;
    let mut all = Vec::new();
    loop {
        assert_eq!(page["metadata"]["remainingItemCount"], Value::Null);
        all.extend(names(&page).into_iter().map(str::to_owned));
        let token = token(&page).to_owned();
        if token.is_empty() {
            break;
        }
        page = list(server, &format!("limit=1&labelSelector=parity=even&continue={token}")).await?;
    }
    assert_eq!(all, ["c0", "c2", "c4"]);
    Ok(())
}

async fn lists_of_all_namespaces_page_across_them(server: &Server) -> anyhow::Result<()> {
    // A label that only this test's objects have.
    let mark = server.namespace();
    let other = format!("{mark}-other");
    server.post("/api/v1/namespaces", json!({"metadata": {"name": other}})).ok().await?;
    for namespace in [mark, &other] {
        for name in ["one", "two"] {
            let object = with(config_map(name), "/metadata/labels/mark", mark);
            server.post(format!("/api/v1/namespaces/{namespace}/configmaps"), object).ok().await?;
        }
    }
    let query = format!("/api/v1/configmaps?limit=3&labelSelector=mark={mark}");
    let first = server.get(query.clone()).ok().await?;
    assert_eq!(names(&first), ["one", "two", "one"]);
    assert_eq!(
        first["items"][0]["metadata"]["namespace"], other,
        "the order is that of paths: `-` before `/`"
    );
    let second = server.get(format!("{query}&continue={}", token(&first))).ok().await?;
    assert_eq!(names(&second), ["two"]);
    assert_eq!(second["items"][0]["metadata"]["namespace"], mark);
    Ok(())
}

async fn broken_continue_tokens_are_refused(server: &Server) -> anyhow::Result<()> {
    five(server).await?;
    let refused = server.get(server.core("configmaps?continue=xyz")).refused().await?;
    assert_eq!((&refused["code"], &refused["reason"]), (&json!(400), &json!("BadRequest")));
    let message = refused["message"].as_str().unwrap();
    assert!(message.starts_with("invalid continue token: continue key is not valid: "), "{message}");

    let first = list(server, "limit=2").await?;
    let both = server.core(&format!("configmaps?resourceVersion=5&continue={}", token(&first)));
    let message = "specifying resource version is not allowed when using continue";
    assert_eq!(server.get(both).refused().await?, failure(400, "BadRequest", message, Value::Null));
    Ok(())
}

async fn limits_are_numbers(server: &Server) -> anyhow::Result<()> {
    five(server).await?;
    let message = "strconv.ParseInt: parsing \"many\": invalid syntax";
    let refused = server.get(server.core("configmaps?limit=many")).refused().await?;
    assert_eq!(refused, failure(400, "BadRequest", message, Value::Null));
    assert_eq!(names(&list(server, "limit=0").await?).len(), 5);
    Ok(())
}

async fn label_selectors_choose(server: &Server) -> anyhow::Result<()> {
    five(server).await?;
    server.config_map("c9").await?;
    for (selector, expected) in [
        ("parity=even", vec!["c0", "c2", "c4"]),
        ("parity==odd", vec!["c1", "c3"]),
        ("parity!=even", vec!["c1", "c3", "c9"]),
        ("parity in (even, other)", vec!["c0", "c2", "c4"]),
        ("parity notin (even)", vec!["c1", "c3", "c9"]),
        ("parity", vec!["c0", "c1", "c2", "c3", "c4"]),
        ("!parity", vec!["c9"]),
        ("number>2", vec!["c3", "c4"]),
        ("number in (1,2),parity=odd", vec!["c1"]),
        ("parity=", vec![]),
        ("", vec!["c0", "c1", "c2", "c3", "c4", "c9"]),
    ] {
        let found = list(server, &format!("labelSelector={selector}")).await?;
        assert_eq!(names(&found), expected, "{selector}");
    }
    Ok(())
}

async fn broken_label_selectors_are_refused(server: &Server) -> anyhow::Result<()> {
    for (selector, message) in [
        ("a b c", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"),
        ("==", "found '==', expected: !, identifier, or 'end of string'"),
        ("a=b c", "found 'c', expected: ',' or 'end of string'"),
    ] {
        let refused =
            server.get(server.core(&format!("configmaps?labelSelector={selector}"))).refused().await?;
        assert_eq!(refused, failure(400, "BadRequest", message, Value::Null));
    }
    Ok(())
}

async fn field_selectors_choose_by_name(server: &Server) -> anyhow::Result<()> {
    five(server).await?;
    for (selector, expected) in [
        ("metadata.name=c1".to_owned(), vec!["c1"]),
        ("metadata.name==c1".to_owned(), vec!["c1"]),
        ("metadata.name!=c1".to_owned(), vec!["c0", "c2", "c3", "c4"]),
        (format!("metadata.namespace={}", server.namespace()), vec!["c0", "c1", "c2", "c3", "c4"]),
        ("metadata.name=c1,metadata.name=c2".to_owned(), vec![]),
        ("metadata.name=absent".to_owned(), vec![]),
    ] {
        let found = list(server, &format!("fieldSelector={selector}")).await?;
        assert_eq!(names(&found), expected, "{selector}");
    }
    Ok(())
}

async fn pods_can_be_chosen_by_node_and_phase(server: &Server) -> anyhow::Result<()> {
    let bound = with(pod("bound"), "/spec/nodeName", "node-1");
    server.post(server.core("pods"), bound).ok().await?;
    server.post(server.core("pods"), pod("free")).ok().await?;
    for (selector, expected) in [
        ("spec.nodeName=node-1", vec!["bound"]),
        ("spec.nodeName=", vec!["free"]),
        ("status.phase=Pending", vec!["bound", "free"]),
        ("status.phase!=Pending", vec![]),
        ("spec.restartPolicy=Always", vec!["bound", "free"]),
        ("status.phase=Pending,spec.nodeName!=node-1", vec!["free"]),
    ] {
        let found = server.get(server.core(&format!("pods?fieldSelector={selector}"))).ok().await?;
        assert_eq!(names(&found), expected, "{selector}");
    }
    Ok(())
}

async fn unknown_field_selectors_are_refused(server: &Server) -> anyhow::Result<()> {
    for (query, message) in [
        (
            "configmaps?fieldSelector=data.a=1",
            "\"data.a\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\"",
        ),
        ("pods?fieldSelector=spec.containers=x", "field label not supported: spec.containers"),
        ("configmaps?fieldSelector=bogus", "invalid selector: 'bogus'; can't understand 'bogus'"),
    ] {
        let refused = server.get(server.core(query)).refused().await?;
        assert_eq!(refused, failure(400, "BadRequest", message, Value::Null));
    }
    Ok(())
}

async fn absent_namespaces_are_empty(server: &Server) -> anyhow::Result<()> {
    let list = server.get("/api/v1/namespaces/absent/configmaps").ok().await?;
    assert_eq!(list["items"], json!([]));
    Ok(())
}
