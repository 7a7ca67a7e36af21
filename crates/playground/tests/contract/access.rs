//! Authorization: denials, roles, and access reviews.

use serde_json::{Value, json};

use crate::support::{Server, config_map, failure};

facts![
    refusals_say_who_may_not_do_what,
    a_role_allows_what_it_names,
    a_cluster_role_allows_everywhere,
    users_can_ask_what_they_may,
    others_can_be_asked_about,
    users_can_ask_who_they_are,
    a_wrong_token_is_nobody,
    discovery_is_open_to_all_users,
];

const RBAC: &str = "rbac.authorization.k8s.io/v1";

/// A user name that no other test uses.
fn user(server: &Server) -> String {
    format!("user-of-{}", server.namespace())
}

async fn grant(server: &Server, user: &str, verbs: &[&str]) -> anyhow::Result<()> {
    let role = json!({
        "metadata": {"name": "reader"},
        "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": verbs}],
    });
    server.post(server.named(RBAC, "roles"), role).ok().await?;
    let binding = json!({
        "metadata": {"name": "reader"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader"},
        "subjects": [{"kind": "User", "name": user, "apiGroup": "rbac.authorization.k8s.io"}],
    });
    server.post(server.named(RBAC, "rolebindings"), binding).ok().await?;
    server
        .until(
            "the role is in force",
            || server.get(server.core("configmaps")).by_user(user).answer(),
            |answer| answer.code == 200,
        )
        .await;
    Ok(())
}

async fn refusals_say_who_may_not_do_what(server: &Server) -> anyhow::Result<()> {
    let user = user(server);
    let namespaced = format!("in the namespace \"{}\"", server.namespace());
    let cluster = "at the cluster scope".to_owned();
    for (call, what, doing, details) in [
        (
            server.get(server.core("configmaps")),
            "configmaps",
            format!("list resource \"configmaps\" in API group \"\" {namespaced}"),
            json!({"kind": "configmaps"}),
        ),
        (
            server.get(server.core("configmaps/one")),
            "configmaps \"one\"",
            format!("get resource \"configmaps\" in API group \"\" {namespaced}"),
            json!({"kind": "configmaps", "name": "one"}),
        ),
        (
            server.get("/api/v1/pods"),
            "pods",
            format!("list resource \"pods\" in API group \"\" {cluster}"),
            json!({"kind": "pods"}),
        ),
        (
            server.get("/api/v1/nodes?watch=1"),
            "nodes",
            format!("watch resource \"nodes\" in API group \"\" {cluster}"),
            json!({"kind": "nodes"}),
        ),
        (
            server.post(server.named("apps/v1", "deployments"), json!({})),
            "deployments.apps",
            format!("create resource \"deployments\" in API group \"apps\" {namespaced}"),
            json!({"kind": "deployments", "group": "apps"}),
        ),
        (
            server.get(server.core("pods/one/log")),
            "pods \"one\"",
            format!("get resource \"pods/log\" in API group \"\" {namespaced}"),
            json!({"kind": "pods", "name": "one"}),
        ),
        (
            server.delete(server.core("pods")),
            "pods",
            format!("deletecollection resource \"pods\" in API group \"\" {namespaced}"),
            json!({"kind": "pods"}),
        ),
    ] {
        let message = format!("{what} is forbidden: User \"{user}\" cannot {doing}");
        assert_eq!(call.by_user(&user).refused().await?, failure(403, "Forbidden", &message, details));
    }
    Ok(())
}

async fn a_role_allows_what_it_names(server: &Server) -> anyhow::Result<()> {
    let user = user(server);
    grant(server, &user, &["get", "list"]).await?;
    server.config_map("one").await?;
    server.get(server.core("configmaps/one")).by_user(&user).ok().await?;
    for call in [
        server.get(server.core("configmaps?watch=1")),
        server.post(server.core("configmaps"), config_map("two")),
        server.delete(server.core("configmaps/one")),
        server.get(server.core("secrets")),
        server.get("/api/v1/configmaps"),
        server.get("/api/v1/namespaces/default/configmaps"),
    ] {
        assert_eq!(call.by_user(&user).refused().await?["reason"], "Forbidden");
    }
    Ok(())
}

async fn a_cluster_role_allows_everywhere(server: &Server) -> anyhow::Result<()> {
    let user = user(server);
    let role = json!({
        "metadata": {"name": user},
        "rules": [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["list"]}],
    });
    server.post(format!("/apis/{RBAC}/clusterroles"), role).ok().await?;
    let binding = json!({
        "metadata": {"name": user},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": user},
        "subjects": [{"kind": "Group", "name": format!("group-of-{user}"), "apiGroup": "rbac.authorization.k8s.io"}],
    });
    server.post(format!("/apis/{RBAC}/clusterrolebindings"), binding).ok().await?;
    let as_member = |path: String| {
        let group = format!("group-of-{user}");
        server.get(path).by_user(&user).header("impersonate-group", &group)
    };
    for path in
        ["/api/v1/configmaps".to_owned(), "/api/v1/nodes".to_owned(), server.named("apps/v1", "deployments")]
    {
        server
            .until("the role is in force", || as_member(path.clone()).answer(), |answer| answer.code == 200)
            .await;
    }
    assert_eq!(server.get("/api/v1/nodes").by_user(&user).refused().await?["reason"], "Forbidden");
    Ok(())
}

async fn users_can_ask_what_they_may(server: &Server) -> anyhow::Result<()> {
    let user = user(server);
    grant(server, &user, &["list"]).await?;
    let ask = |verb: &str| {
        let attributes = json!({"namespace": server.namespace(), "verb": verb, "resource": "configmaps"});
        let body = json!({
            "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": attributes},
        });
        server.post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", body)
    };
    let answer = ask("list").by_user(&user).answer().await?;
    assert_eq!(answer.code, 201);
    let review = answer.json()?;
    assert_eq!(review["kind"], "SelfSubjectAccessReview");
    assert_eq!(review["spec"]["resourceAttributes"]["verb"], "list");
    assert_eq!(review["status"]["allowed"], true);
    let namespace = server.namespace();
    let reason =
        format!("RBAC: allowed by RoleBinding \"reader/{namespace}\" of Role \"reader\" to User \"{user}\"");
    assert_eq!(review["status"]["reason"], reason);
    let review = ask("delete").by_user(&user).ok().await?;
    assert_eq!(review["status"], json!({"allowed": false}));
    let review = ask("delete").ok().await?;
    assert_eq!(review["status"]["allowed"], true, "the administrator may");
    Ok(())
}

async fn others_can_be_asked_about(server: &Server) -> anyhow::Result<()> {
    let user = user(server);
    grant(server, &user, &["list"]).await?;
    let ask = |verb: &str| {
        let attributes = json!({"namespace": server.namespace(), "verb": verb, "resource": "configmaps"});
        let body = json!({"spec": {"user": user, "resourceAttributes": attributes}});
        server.post("/apis/authorization.k8s.io/v1/subjectaccessreviews", body)
    };
    assert_eq!(ask("list").ok().await?["status"]["allowed"], true);
    assert_eq!(ask("watch").ok().await?["status"]["allowed"], false);
    Ok(())
}

async fn users_can_ask_who_they_are(server: &Server) -> anyhow::Result<()> {
    let body = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"});
    let path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
    let review = server.post(path, body).by_user("alice").ok().await?;
    let info = json!({"username": "alice", "groups": ["system:authenticated"]});
    assert_eq!(review["status"]["userInfo"], info);
    Ok(())
}

async fn a_wrong_token_is_nobody(server: &Server) -> anyhow::Result<()> {
    let stranger = server.client_with_token("wrong")?;
    let call = server.get(server.core("configmaps")).through(&stranger);
    assert_eq!(call.refused().await?, failure(401, "Unauthorized", "Unauthorized", Value::Null));
    Ok(())
}

async fn discovery_is_open_to_all_users(server: &Server) -> anyhow::Result<()> {
    for path in ["/api", "/apis", "/apis/apps/v1", "/version"] {
        server.get(path).by_user(&user(server)).ok().await?;
    }
    let refused = server.get("/metrics").by_user("alice").refused().await?;
    let message = "forbidden: User \"alice\" cannot get path \"/metrics\"";
    assert_eq!(refused, failure(403, "Forbidden", message, json!({})));
    Ok(())
}
