//! Creation: names, defaults, and rejected objects.

use serde_json::{Value, json};

use crate::support::{Cause, Server, config_map, deployment, failure, invalid, plain, pod, with};

facts![
    the_answer_is_the_object,
    kind_and_version_may_be_left_out,
    names_can_be_generated,
    yaml_is_understood,
    protobuf_is_understood,
    the_system_fields_are_its_own,
    an_object_exists_only_once,
    a_name_is_required,
    names_and_labels_have_rules,
    a_namespace_must_exist,
    a_namespace_must_be_that_of_the_path,
    the_kind_must_be_that_of_the_path,
    a_version_must_not_be_given,
    bodies_must_be_readable,
    unknown_fields_are_dropped_warned_of_or_refused,
    unknown_fields_are_found_at_any_depth,
    wrong_types_are_refused,
    deployments_get_defaults,
    pods_get_defaults,
    secrets_take_plain_strings,
    obvious_mistakes_are_refused,
    collections_take_no_puts_and_objects_no_posts,
];

async fn the_answer_is_the_object(server: &Server) -> anyhow::Result<()> {
    let answer = server.post(server.core("configmaps"), config_map("one")).answer().await?;
    assert_eq!(answer.code, 201);
    let object = answer.json()?;
    assert_eq!(plain(&object), config_map("one"));
    assert_eq!(object["metadata"]["namespace"], server.namespace());
    assert_eq!(server.get(server.core("configmaps/one")).ok().await?, object);
    Ok(())
}

async fn kind_and_version_may_be_left_out(server: &Server) -> anyhow::Result<()> {
    let body = json!({"metadata": {"name": "one"}, "data": {"a": "1"}});
    assert_eq!(plain(&server.post(server.core("configmaps"), body).ok().await?), config_map("one"));
    Ok(())
}

async fn names_can_be_generated(server: &Server) -> anyhow::Result<()> {
    let body = json!({"metadata": {"generateName": "some-"}});
    let one = server.post(server.core("configmaps"), body.clone()).ok().await?;
    let two = server.post(server.core("configmaps"), body).ok().await?;
    let name = one["metadata"]["name"].as_str().unwrap();
    assert_eq!((name.starts_with("some-"), name.len()), (true, "some-".len() + 5), "{name}");
    assert_ne!(name, two["metadata"]["name"]);
    assert_eq!(one["metadata"]["generateName"], "some-");
    Ok(())
}

async fn yaml_is_understood(server: &Server) -> anyhow::Result<()> {
    let text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one}\ndata:\n  a: \"1\"\n";
    let call =
        server.post(server.core("configmaps"), Value::Null).body(text).content_type("application/yaml");
    assert_eq!(plain(&call.ok().await?), config_map("one"));
    Ok(())
}

/// The encoding of client-go's typed clients.
async fn protobuf_is_understood(server: &Server) -> anyhow::Result<()> {
    let field = |number: u8, content: &[u8]| {
        [&[number << 3 | 2, u8::try_from(content.len()).unwrap()], content].concat()
    };
    let metadata = field(1, &field(1, b"one"));
    let data = field(2, &[field(1, b"a"), field(2, b"1")].concat());
    let type_meta = field(1, &[field(1, b"v1"), field(2, b"ConfigMap")].concat());
    let body = [b"k8s\0".to_vec(), type_meta, field(2, &[metadata, data].concat())].concat();
    let call = server.post(server.core("configmaps"), Value::Null).body(body);
    let created = call.content_type("application/vnd.kubernetes.protobuf").ok().await?;
    assert_eq!(plain(&created), config_map("one"), "and JSON is answered if that is wanted");
    Ok(())
}

async fn the_system_fields_are_its_own(server: &Server) -> anyhow::Result<()> {
    let mut body = config_map("one");
    body["metadata"]["uid"] = "mine".into();
    body["metadata"]["creationTimestamp"] = "2001-01-01T00:00:00Z".into();
    body["metadata"]["generation"] = 7.into();
    body["metadata"]["selfLink"] = "/mine".into();
    body["metadata"]["deletionTimestamp"] = "2001-01-01T00:00:00Z".into();
    let object = server.post(server.core("configmaps"), body).ok().await?;
    assert_ne!(object["metadata"]["uid"], "mine");
    assert!(!object["metadata"]["creationTimestamp"].as_str().unwrap().starts_with("2001"));
    assert_eq!(object["metadata"]["deletionTimestamp"], Value::Null);
    Ok(())
}

async fn an_object_exists_only_once(server: &Server) -> anyhow::Result<()> {
    server.config_map("one").await?;
    let refused = server.post(server.core("configmaps"), config_map("one")).refused().await?;
    let details = json!({"name": "one", "kind": "configmaps"});
    assert_eq!(refused, failure(409, "AlreadyExists", "configmaps \"one\" already exists", details));

    let path = server.named("apps/v1", "deployments");
    server.post(path.clone(), deployment("web")).ok().await?;
    let refused = server.post(path, deployment("web")).refused().await?;
    let details = json!({"name": "web", "group": "apps", "kind": "deployments"});
    assert_eq!(refused, failure(409, "AlreadyExists", "deployments.apps \"web\" already exists", details));
    Ok(())
}

async fn a_name_is_required(server: &Server) -> anyhow::Result<()> {
    let refused = server.post(server.core("configmaps"), json!({"metadata": {}})).refused().await?;
    let cause =
        Cause("FieldValueRequired", "metadata.name", "Required value: name or generateName is required");
    assert_eq!(refused, invalid("ConfigMap", "", cause));
    Ok(())
}

async fn names_and_labels_have_rules(server: &Server) -> anyhow::Result<()> {
    let refused = server.post(server.core("configmaps"), config_map("Bad_Name")).refused().await?;
    let cause = Cause(
        "FieldValueInvalid",
        "metadata.name",
        "Invalid value: \"Bad_Name\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric \
         characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex \
         used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
    );
    assert_eq!(refused, invalid("ConfigMap", "Bad_Name", cause));

    let labelled = with(config_map("one"), "/metadata/labels/a", "b c");
    let refused = server.post(server.core("configmaps"), labelled).refused().await?;
    let cause = Cause(
        "FieldValueInvalid",
        "metadata.labels",
        "Invalid value: \"b c\": a valid label must be an empty string or consist of alphanumeric characters, '-', \
         '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or \
         '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
    );
    assert_eq!(refused, invalid("ConfigMap", "one", cause));
    Ok(())
}

async fn a_namespace_must_exist(server: &Server) -> anyhow::Result<()> {
    let refused = server.post("/api/v1/namespaces/absent/configmaps", config_map("one")).refused().await?;
    let details = json!({"name": "absent", "kind": "namespaces"});
    assert_eq!(refused, failure(404, "NotFound", "namespaces \"absent\" not found", details));
    Ok(())
}

async fn a_namespace_must_be_that_of_the_path(server: &Server) -> anyhow::Result<()> {
    let elsewhere = with(config_map("one"), "/metadata/namespace", "other");
    let refused = server.post(server.core("configmaps"), elsewhere).refused().await?;
    let message = "the namespace of the provided object does not match the namespace sent on the request";
    assert_eq!(refused, failure(400, "BadRequest", message, Value::Null));
    Ok(())
}

async fn the_kind_must_be_that_of_the_path(server: &Server) -> anyhow::Result<()> {
    let body = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "one"}});
    let refused = server.post(server.core("configmaps"), body).refused().await?;
    assert_eq!((&refused["code"], &refused["reason"]), (&json!(400), &json!("BadRequest")));
    let message = refused["message"].as_str().unwrap();
    assert!(message.starts_with("Secret in version \"v1\" cannot be handled as a ConfigMap: "), "{message}");
    Ok(())
}

async fn a_version_must_not_be_given(server: &Server) -> anyhow::Result<()> {
    let body = with(config_map("one"), "/metadata/resourceVersion", "5");
    let refused = server.post(server.core("configmaps"), body).refused().await?;
    let message = "resourceVersion should not be set on objects to be created";
    assert_eq!(refused, failure(500, "", message, Value::Null));
    Ok(())
}

async fn bodies_must_be_readable(server: &Server) -> anyhow::Result<()> {
    let post = |body: &str| server.post(server.core("configmaps"), Value::Null).body(body);
    for body in ["{broken", ""] {
        let refused = post(body).refused().await?;
        assert_eq!((&refused["code"], &refused["reason"]), (&json!(400), &json!("BadRequest")), "{body}");
    }
    let refused = post("{}").content_type("text/plain").refused().await?;
    assert_eq!((&refused["code"], &refused["reason"]), (&json!(415), &json!("UnsupportedMediaType")));
    let message = refused["message"].as_str().unwrap();
    let words = "the body of the request was in an unknown format - accepted media types include: ";
    assert!(message.starts_with(&format!("{words}application/json, application/yaml")), "{message}");

    let refused = post(r#"{"metadata": {"name": "one"}, "data": {"a": 1}}"#).refused().await?;
    let message = "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: json: cannot unmarshal number into \
                   Go struct field ConfigMap.data of type string";
    assert_eq!(refused, failure(400, "BadRequest", message, Value::Null));
    Ok(())
}

async fn unknown_fields_are_dropped_warned_of_or_refused(server: &Server) -> anyhow::Result<()> {
    let post = |query: &str| {
        let body = with(config_map("one"), "/bogus", 1);
        server.post(server.core(&format!("configmaps?dryRun=All{query}")), body)
    };
    for (query, warning) in [("", "299 - \"unknown field \\\"bogus\\\"\""), ("&fieldValidation=Ignore", "")] {
        let answer = post(query).answer().await?;
        assert_eq!((answer.code, answer.header("warning")), (201, warning), "{query}");
        assert_eq!(answer.json()?["bogus"], Value::Null);
    }
    let refused = post("&fieldValidation=Strict").refused().await?;
    let message = "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: strict decoding error: unknown \
                   field \"bogus\"";
    assert_eq!(refused, failure(400, "BadRequest", message, Value::Null));
    Ok(())
}

async fn unknown_fields_are_found_at_any_depth(server: &Server) -> anyhow::Result<()> {
    let bogus = with(pod("one"), "/spec/containers/0/bogus", 1);
    let bogus = with(bogus, "/spec/volumes", json!([{"name": "v", "emptyDir": {}}]));
    let answer = server.post(server.core("pods?dryRun=All"), bogus.clone()).answer().await?;
    let warning = "299 - \"unknown field \\\"spec.containers[0].bogus\\\"\"";
    assert_eq!((answer.code, answer.header("warning")), (201, warning));
    assert_eq!(answer.json()?["spec"]["containers"][0]["bogus"], Value::Null);
    let refused = server.post(server.core("pods?dryRun=All&fieldValidation=Strict"), bogus).refused().await?;
    let message = "Pod in version \"v1\" cannot be handled as a Pod: strict decoding error: unknown field \
                   \"spec.containers[0].bogus\"";
    assert_eq!(refused, failure(400, "BadRequest", message, Value::Null));
    Ok(())
}

async fn wrong_types_are_refused(server: &Server) -> anyhow::Result<()> {
    for (pointer, value, why) in [
        (
            "/spec/replicas",
            json!("3"),
            "string into Go struct field DeploymentSpec.spec.replicas of type int32",
        ),
        (
            "/spec/replicas",
            json!(1.5),
            "number 1.5 into Go struct field DeploymentSpec.spec.replicas of type int32",
        ),
        ("/spec/paused", json!("yes"), "string into Go struct field DeploymentSpec.spec.paused of type bool"),
        (
            "/spec/template",
            json!(3),
            "number into Go struct field DeploymentSpec.spec.template of type v1.PodTemplateSpec",
        ),
        (
            "/spec/selector/matchLabels",
            json!([]),
            "array into Go struct field LabelSelector.spec.selector.matchLabels of type map[string]string",
        ),
        (
            "/spec/template/spec/containers/0/args",
            json!("x"),
            "string into Go struct field Container.spec.template.spec.containers.args of type []string",
        ),
    ] {
        let body = with(deployment("x"), pointer, value);
        let refused = server.post(server.named("apps/v1", "deployments"), body).refused().await?;
        let head = "Deployment in version \"v1\" cannot be handled as a Deployment";
        let message = format!("{head}: json: cannot unmarshal {why}");
        assert_eq!(refused, failure(400, "BadRequest", &message, Value::Null));
    }
    let lots = with(pod("x"), "/spec/containers/0/resources", json!({"limits": {"cpu": "lots"}}));
    let refused = server.post(server.core("pods"), lots).refused().await?;
    let message = "Pod in version \"v1\" cannot be handled as a Pod: quantities must match the regular expression \
                   '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
    assert_eq!(refused, failure(400, "BadRequest", message, Value::Null));
    Ok(())
}

async fn deployments_get_defaults(server: &Server) -> anyhow::Result<()> {
    let created = server.post(server.named("apps/v1", "deployments"), deployment("web")).ok().await?;
    let expected = json!({
        "kind": "Deployment", "apiVersion": "apps/v1", "metadata": {"name": "web", "generation": 1},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {
                    "containers": [{
                        "name": "main", "image": "main:1", "env": [{"name": "A", "value": "1"}], "resources": {},
                        "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File",
                        "imagePullPolicy": "IfNotPresent",
                    }],
                    "restartPolicy": "Always", "terminationGracePeriodSeconds": 30, "dnsPolicy": "ClusterFirst",
                    "securityContext": {}, "schedulerName": "default-scheduler",
                },
            },
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"}},
            "revisionHistoryLimit": 10, "progressDeadlineSeconds": 600,
        },
        "status": {},
    });
    assert_eq!(plain(&created), expected);
    Ok(())
}

async fn pods_get_defaults(server: &Server) -> anyhow::Result<()> {
    let created =
        server.post(server.core("pods"), with(pod("main"), "/spec/containers/0/image", "main")).ok();
    let created = created.await?;
    assert_eq!(created["spec"]["containers"][0]["imagePullPolicy"], "Always", "for it means main:latest");
    assert_eq!(created["spec"]["restartPolicy"], "Always");
    assert_eq!(created["spec"]["terminationGracePeriodSeconds"], 30);
    assert_eq!(created["status"], json!({"phase": "Pending", "qosClass": "BestEffort"}));
    Ok(())
}

async fn secrets_take_plain_strings(server: &Server) -> anyhow::Result<()> {
    let body = json!({"metadata": {"name": "one"}, "stringData": {"password": "secret"}});
    let created = server.post(server.core("secrets"), body).ok().await?;
    assert_eq!(created["data"], json!({"password": "c2VjcmV0"}));
    assert_eq!(created["stringData"], Value::Null);
    assert_eq!(created["type"], "Opaque");
    Ok(())
}

async fn obvious_mistakes_are_refused(server: &Server) -> anyhow::Result<()> {
    let deployments = server.named("apps/v1", "deployments");
    let jobs = server.named("batch/v1", "jobs");
    let job = json!({"metadata": {"name": "x"}, "spec": {"template": pod("x")}});
    for (path, body, kind, cause) in [
        (
            deployments.clone(),
            with(deployment("x"), "/spec/selector/matchLabels/app", "other"),
            "Deployment.apps",
            Cause(
                "FieldValueInvalid",
                "spec.template.metadata.labels",
                "Invalid value: {\"app\":\"x\"}: `selector` does not match template `labels`",
            ),
        ),
        (
            deployments,
            with(deployment("x"), "/spec/replicas", -1),
            "Deployment.apps",
            Cause(
                "FieldValueInvalid",
                "spec.replicas",
                "Invalid value: -1: must be greater than or equal to 0",
            ),
        ),
        (
            server.core("pods"),
            json!({"metadata": {"name": "x"}}),
            "Pod",
            Cause("FieldValueRequired", "spec.containers", "Required value"),
        ),
        (
            server.core("pods"),
            with(pod("x"), "/spec/containers/0/image", Value::Null),
            "Pod",
            Cause("FieldValueRequired", "spec.containers[0].image", "Required value"),
        ),
        (
            server.core("services"),
            json!({"metadata": {"name": "x"}, "spec": {}}),
            "Service",
            Cause("FieldValueRequired", "spec.ports", "Required value"),
        ),
        (
            jobs,
            job,
            "Job.batch",
            Cause(
                "FieldValueRequired",
                "spec.template.spec.restartPolicy",
                "Required value: valid values: \"OnFailure\", \"Never\"",
            ),
        ),
    ] {
        assert_eq!(server.post(path, body).refused().await?, invalid(kind, "x", cause));
    }
    Ok(())
}

async fn collections_take_no_puts_and_objects_no_posts(server: &Server) -> anyhow::Result<()> {
    server.config_map("one").await?;
    let message = "the server does not allow this method on the requested resource";
    let expected = failure(405, "MethodNotAllowed", message, json!({}));
    assert_eq!(server.put(server.core("configmaps"), config_map("one")).refused().await?, expected);
    assert_eq!(server.post(server.core("configmaps/one"), config_map("one")).refused().await?, expected);
    Ok(())
}
