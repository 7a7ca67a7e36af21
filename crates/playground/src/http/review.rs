//! Reviews, which are answered and never stored (access, self subject, token), and token requests.

use http::Response;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::access::{self, AccessAttributes, User};
use super::create::check_type;
use super::request::ApiRequest;
use super::respond;
use super::route::RequestTarget;
use crate::catalogue::{Resource, Verbs};
use crate::cluster::{Body, IssuedToken};
use crate::object::{self, child, list, text};
use crate::status::Status;

pub(crate) fn is_review(resource: &Resource) -> bool {
    resource.verbs == Verbs::Create
}

pub(crate) fn create(call: &ApiRequest, target: &RequestTarget) -> Result<Response<Body>, Status> {
    let resource = &*target.resource;
    let mut review = call.object(&resource.kind)?;
    check_type(call, resource, &mut review)?;
    object::metadata(&mut review);
    let status = match resource.kind.as_str() {
        "SelfSubjectAccessReview" => access(call, &call.user, &review),
        "SubjectAccessReview" | "LocalSubjectAccessReview" => {
            let groups =
                list(&review, "/spec/groups").iter().filter_map(Value::as_str).map(str::to_owned).collect();
            let user = User { name: text(&review, "/spec/user").to_owned(), uid: String::new(), groups };
            access(call, &user, &review)
        }
        "SelfSubjectRulesReview" => rules(call, &review)?,
        "SelfSubjectReview" => {
            object::metadata(&mut review).insert("creationTimestamp".into(), object::now().into());
            json!({"userInfo": user_info(&call.user)})
        }
        "TokenReview" => match access::user_of_token(&call.cluster, text(&review, "/spec/token")) {
            Some(user) => json!({"authenticated": true, "user": user_info(&user)}),
            None => json!({"user": {}, "error": "invalid bearer token"}),
        },
        _ => return Err(Status::method_not_allowed()),
    };
    object::fields(&mut review).insert("status".into(), status);
    respond::coded(201, &review)
}

fn user_info(user: &User) -> Value {
    let mut info = json!({"username": user.name, "groups": user.groups});
    if !user.uid.is_empty() {
        object::fields(&mut info).insert("uid".into(), user.uid.as_str().into());
    }
    info
}

fn access(call: &ApiRequest, user: &User, review: &Value) -> Value {
    let word = |field: &str| text(review, &format!("/spec/resourceAttributes/{field}")).to_owned();
    let attempt = if review.pointer("/spec/resourceAttributes").is_some() {
        let resource = match word("subresource") {
            subresource if subresource.is_empty() => word("resource"),
            subresource => format!("{}/{subresource}", word("resource")),
        };
        AccessAttributes {
            verb: word("verb"),
            group: word("group"),
            resource,
            namespace: word("namespace"),
            name: word("name"),
            path: String::new(),
        }
    } else {
        let word = |field: &str| text(review, &format!("/spec/nonResourceAttributes/{field}")).to_owned();
        AccessAttributes { verb: word("verb"), path: word("path"), ..AccessAttributes::default() }
    };
    match access::verdict(&call.cluster, user, &attempt) {
        None => json!({"allowed": false}),
        Some(reason) if reason.is_empty() => json!({"allowed": true}),
        Some(reason) => json!({"allowed": true, "reason": reason}),
    }
}

fn rules(call: &ApiRequest, review: &Value) -> Result<Value, Status> {
    let namespace = text(review, "/spec/namespace");
    if namespace.is_empty() {
        return Err(Status::bad_request("no namespace on request"));
    }
    let grants = access::grants(&call.cluster, &call.user, namespace);
    let mut rules: Vec<Value> = grants.into_iter().map(|grant| grant.rule).collect();
    if call.user.groups.iter().any(|group| group == "system:masters") && rules.is_empty() {
        rules.push(json!({"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}));
    }
    let (paths, resources): (Vec<Value>, Vec<Value>) =
        rules.into_iter().partition(|rule| rule.get("nonResourceURLs").is_some());
    Ok(json!({"resourceRules": resources, "nonResourceRules": paths, "incomplete": false}))
}

/// Issues a token for a service account.
pub(crate) fn token(call: &ApiRequest, target: &RequestTarget) -> Result<Response<Body>, Status> {
    let mut request = call.object("TokenRequest")?;
    let account = call.cluster.object(&target.resource, &target.namespace, &target.name)?;
    let asked = request.pointer("/spec/expirationSeconds").and_then(Value::as_i64);
    let seconds = asked.unwrap_or(3_600).clamp(600, 1 << 32);
    let spec = child(&mut request, "spec");
    spec.insert("expirationSeconds".into(), seconds.into());
    object::default(spec, "audiences", json!(["https://kubernetes.default.svc"]));
    spec.entry("boundObjectRef").or_insert(Value::Null);
    let expires = Timestamp::now() + SignedDuration::from_secs(seconds);
    let token = call.cluster.tokens().lock().issue(IssuedToken {
        namespace: target.namespace.clone(),
        name: target.name.clone(),
        uid: object::uid(&account).to_owned(),
        expires,
    });
    let expires = object::timestamp(expires);
    let fields = object::fields(&mut request);
    fields.insert("kind".into(), "TokenRequest".into());
    fields.insert("apiVersion".into(), "authentication.k8s.io/v1".into());
    fields.insert("status".into(), json!({"token": token, "expirationTimestamp": expires}));
    fields.insert(
        "metadata".into(),
        json!({"name": target.name, "namespace": target.namespace, "creationTimestamp": object::now()}),
    );
    respond::coded(201, &request)
}
