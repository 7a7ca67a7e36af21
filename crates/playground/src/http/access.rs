//! Authentication and authorization.
//!
//! Without credentials everything is allowed: a playground has no secrets. A request that impersonates a user, or
//! carries the token of a service account, has only the permissions of the roles bound to it.

use http::HeaderMap;
use jiff::Timestamp;
use serde_json::Value;

use super::request::ApiRequest;
use super::route::Route;
use crate::cluster::{Cluster, IssuedToken, Key};
use crate::object::{list, text};
use crate::status::Status;

/// Authenticated user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct User {
    pub(crate) name: String,
    pub(crate) uid: String,
    pub(crate) groups: Vec<String>,
}

/// Attributes of a request for authorization.
#[derive(Debug, Clone, Default)]
pub(crate) struct AccessAttributes {
    pub(crate) verb: String,
    pub(crate) group: String,
    /// With its subresource: `pods/log`.
    pub(crate) resource: String,
    pub(crate) namespace: String,
    pub(crate) name: String,
    /// Non-resource path; the other fields are empty then.
    pub(crate) path: String,
}

const MASTERS: &str = "system:masters";
const AUTHENTICATED: &str = "system:authenticated";

// === impl User ===

impl User {
    fn admin() -> Self {
        let groups = vec![MASTERS.to_owned(), AUTHENTICATED.to_owned()];
        Self { name: "admin".into(), uid: String::new(), groups }
    }

    pub(crate) fn service_account(namespace: &str, name: &str, uid: &str) -> Self {
        Self {
            name: format!("system:serviceaccount:{namespace}:{name}"),
            uid: uid.to_owned(),
            groups: vec![
                "system:serviceaccounts".into(),
                format!("system:serviceaccounts:{namespace}"),
                AUTHENTICATED.into(),
            ],
        }
    }

    fn is_named_by(&self, subject: &Value) -> bool {
        let name = text(subject, "/name");
        match text(subject, "/kind") {
            "User" => self.name == name,
            "Group" => self.groups.iter().any(|group| group == name),
            "ServiceAccount" => {
                self.name == format!("system:serviceaccount:{}:{name}", text(subject, "/namespace"))
            }
            _ => false,
        }
    }
}

/// Returns the user of a request.
pub(crate) fn authenticate(cluster: &Cluster, headers: &HeaderMap) -> Result<User, Status> {
    // A value that is not ASCII must not count as absent: without credentials a request is the administrator's.
    let text = |value: &http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    let header = |name: &str| headers.get(name).map(text).unwrap_or_default();
    let user = match header("authorization").strip_prefix("Bearer ") {
        None => User::admin(),
        Some(token) => {
            let known = user_of_token(cluster, token.trim());
            known.ok_or_else(|| Status::new(401, "Unauthorized", "Unauthorized"))?
        }
    };
    let wanted = header("impersonate-user");
    let groups: Vec<String> = headers.get_all("impersonate-group").iter().map(text).collect();
    if wanted.is_empty() {
        if groups.is_empty() {
            return Ok(user);
        }
        let words: Vec<String> = groups.iter().map(|group| format!("{group:?}")).collect();
        return Err(Status::bad_request(format!(
            "requested &user.DefaultInfo{{Name:\"\", UID:\"\", Groups:[]string{{{}}}, Extra:map[string][]string(nil)}} without impersonating a user name",
            words.join(", ")
        )));
    }
    let attempt = AccessAttributes {
        verb: "impersonate".into(),
        resource: "users".into(),
        name: wanted.clone(),
        ..AccessAttributes::default()
    };
    if !allows(cluster, &user, &attempt) {
        return Err(denial(&user, &attempt));
    }
    let mut impersonated =
        match wanted.strip_prefix("system:serviceaccount:").and_then(|rest| rest.split_once(':')) {
            Some((namespace, name)) => User::service_account(namespace, name, ""),
            None => User { name: wanted.clone(), uid: String::new(), groups: vec![AUTHENTICATED.into()] },
        };
    if !groups.is_empty() {
        impersonated.groups = groups;
        impersonated.groups.push(AUTHENTICATED.into());
    }
    Ok(impersonated)
}

/// User of a token; none if it has expired or its service account was deleted.
pub(crate) fn user_of_token(cluster: &Cluster, token: &str) -> Option<User> {
    let issued = cluster.tokens().lock().get(token)?;
    let IssuedToken { namespace, name, uid, expires } = issued;
    let account = cluster.get(&Key::new("", "serviceaccounts", &namespace, &name))?;
    let valid = crate::object::uid(&account) == uid && Timestamp::now() < expires;
    valid.then(|| User::service_account(&namespace, &name, &uid))
}

/// Rejects requests that the user is not authorized for.
pub(crate) fn check(call: &ApiRequest, route: &Route) -> Result<(), Status> {
    let attempt = match route {
        Route::Resource(target) => {
            let resource = match &target.subresource {
                Some(subresource) => format!("{}/{subresource}", target.resource.plural),
                None => target.resource.plural.clone(),
            };
            AccessAttributes {
                verb: target.verb.into(),
                group: target.resource.group.clone(),
                resource,
                // A namespace counts as inside itself, so that a role in it can grant reading it.
                namespace: if target.resource.is("namespaces") {
                    target.name.clone()
                } else {
                    target.namespace.clone()
                },
                name: target.name.clone(),
                path: String::new(),
            }
        }
        _ => AccessAttributes {
            verb: call.method.as_str().to_ascii_lowercase(),
            path: call.path.clone(),
            ..AccessAttributes::default()
        },
    };
    if allows(&call.cluster, &call.user, &attempt) { Ok(()) } else { Err(denial(&call.user, &attempt)) }
}

/// Whether the bound roles allow a request.
pub(crate) fn allows(cluster: &Cluster, user: &User, attempt: &AccessAttributes) -> bool {
    verdict(cluster, user, attempt).is_some()
}

/// Reason why a request is allowed, in the words of the real server; empty for administrators. None if it is not
/// allowed.
pub(crate) fn verdict(cluster: &Cluster, user: &User, attempt: &AccessAttributes) -> Option<String> {
    if user.groups.iter().any(|group| group == MASTERS) {
        return Some(String::new());
    }
    let grants = grants(cluster, user, &attempt.namespace);
    grants.into_iter().find(|grant| rule_allows(&grant.rule, attempt)).map(|grant| grant.reason)
}

/// A rule that is bound to a user, and its binding.
pub(crate) struct BoundRule {
    pub(crate) rule: Value,
    reason: String,
}

/// All rules that are bound to a user, cluster-wide and in a namespace.
pub(crate) fn grants(cluster: &Cluster, user: &User, namespace: &str) -> Vec<BoundRule> {
    const GROUP: &str = "rbac.authorization.k8s.io";
    let mut bindings = cluster.list(GROUP, "clusterrolebindings", None);
    if !namespace.is_empty() {
        bindings.extend(cluster.list(GROUP, "rolebindings", Some(namespace)));
    }
    let mut grants = Vec::new();
    for binding in bindings {
        let Some(subject) = list(&binding, "/subjects").iter().find(|subject| user.is_named_by(subject))
        else {
            continue;
        };
        let (kind, role) = (text(&binding, "/roleRef/kind"), text(&binding, "/roleRef/name"));
        let (plural, namespace) = if kind == "Role" { ("roles", namespace) } else { ("clusterroles", "") };
        let key = crate::cluster::Key::new(GROUP, plural, namespace, role);
        let Some(found) = cluster.get(&key) else { continue };
        let reason = reason(&binding, subject);
        let rules = list(&found, "/rules").iter();
        grants.extend(rules.map(|rule| BoundRule { rule: rule.clone(), reason: reason.clone() }));
    }
    grants
}

fn reason(binding: &Value, subject: &Value) -> String {
    let place = |name: &str, namespace: &str| {
        if namespace.is_empty() { name.to_owned() } else { format!("{name}/{namespace}") }
    };
    format!(
        "RBAC: allowed by {} {:?} of {} {:?} to {} {:?}",
        text(binding, "/kind"),
        place(text(binding, "/metadata/name"), text(binding, "/metadata/namespace")),
        text(binding, "/roleRef/kind"),
        text(binding, "/roleRef/name"),
        text(subject, "/kind"),
        place(text(subject, "/name"), text(subject, "/namespace")),
    )
}

fn rule_allows(rule: &Value, attempt: &AccessAttributes) -> bool {
    let has = |field: &str, wanted: &str| {
        list(rule, field).iter().filter_map(Value::as_str).any(|word| word == "*" || word == wanted)
    };
    if !has("/verbs", &attempt.verb) {
        return false;
    }
    if !attempt.path.is_empty() {
        return list(rule, "/nonResourceURLs").iter().filter_map(Value::as_str).any(|url| {
            url.strip_suffix('*').map_or(url == attempt.path, |prefix| attempt.path.starts_with(prefix))
        });
    }
    let names = list(rule, "/resourceNames");
    let any = names.is_empty() || names.iter().any(|name| name.as_str() == Some(&attempt.name));
    let any_of_subresource = attempt
        .resource
        .split_once('/')
        .is_some_and(|(_, subresource)| has("/resources", &format!("*/{subresource}")));
    has("/apiGroups", &attempt.group) && (has("/resources", &attempt.resource) || any_of_subresource) && any
}

fn denial(user: &User, attempt: &AccessAttributes) -> Status {
    let AccessAttributes { verb, group, resource, namespace, name, path } = attempt;
    if !path.is_empty() {
        let message = format!("forbidden: User {:?} cannot {verb} path {path:?}", user.name);
        return Status::new(403, "Forbidden", message).with_details(serde_json::json!({}));
    }
    let plural = resource.split('/').next().unwrap_or_default();
    let id = crate::catalogue::table_id(group, plural);
    let subject = if name.is_empty() { id.to_string() } else { format!("{id} {name:?}") };
    let place = if namespace.is_empty() || &*id == "namespaces" && name.is_empty() {
        "at the cluster scope".to_owned()
    } else {
        format!("in the namespace {namespace:?}")
    };
    let message = format!(
        "{subject} is forbidden: User {:?} cannot {verb} resource {resource:?} in API group {group:?} {place}",
        user.name
    );
    let mut details = serde_json::json!({"kind": plural});
    for (key, value) in [("name", name), ("group", group)] {
        if !value.is_empty() {
            crate::object::fields(&mut details).insert(key.into(), value.as_str().into());
        }
    }
    Status::new(403, "Forbidden", message).with_details(details)
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;
    use serde_json::json;

    use super::*;

    fn issue(cluster: &Cluster, uid: &str, seconds: i64) -> String {
        let expires = Timestamp::now() + SignedDuration::from_secs(seconds);
        let (namespace, name, uid) = ("default".to_owned(), "robot".to_owned(), uid.to_owned());
        cluster.tokens().lock().issue(IssuedToken { namespace, name, uid, expires })
    }

    #[test]
    fn credentials_that_are_not_ascii_are_not_ignored() {
        let cluster = Cluster::new("a");
        let headers = |name: &'static str, value: &[u8]| {
            let mut headers = HeaderMap::new();
            headers.append("impersonate-user", "jane".parse().unwrap());
            headers.insert(name, http::HeaderValue::from_bytes(value).unwrap());
            headers
        };
        let refused = authenticate(&cluster, &headers("authorization", b"Bearer t\xc3\xb6ken")).unwrap_err();
        assert_eq!(refused.code, 401);
        let user = authenticate(&cluster, &headers("impersonate-user", "josé".as_bytes())).unwrap();
        assert_eq!(user.name, "josé");
        let user = authenticate(&cluster, &headers("impersonate-group", "entwürfe".as_bytes())).unwrap();
        assert_eq!(user.groups, ["entwürfe", AUTHENTICATED]);
    }

    #[test]
    fn a_token_is_valid_until_it_expires_or_its_account_is_deleted() {
        let cluster = Cluster::new("a");
        let account = json!({
            "apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot", "namespace": "default"},
        });
        let uid = crate::object::uid(&cluster.create(account.clone()).unwrap()).to_owned();
        let token = issue(&cluster, &uid, 600);
        assert_eq!(user_of_token(&cluster, &token).unwrap().name, "system:serviceaccount:default:robot");
        assert_eq!(user_of_token(&cluster, &issue(&cluster, &uid, -1)), None);
        cluster.delete(&Key::new("", "serviceaccounts", "default", "robot")).unwrap();
        cluster.create(account).unwrap();
        assert_eq!(user_of_token(&cluster, &token), None, "another account of the same name");
    }
}
