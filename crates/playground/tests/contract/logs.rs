//! Container logs: rejected requests. Log content comes from nodes, which the bare API server does not have.

use serde_json::{Value, json};

use crate::support::{Cause, Server, failure, invalid, pod, with};

facts![a_pod_must_exist, one_container_must_be_chosen, a_pod_without_a_node_has_no_log, options_are_checked,];

async fn two_containers(server: &Server) -> anyhow::Result<()> {
    let containers = json!([{"name": "a", "image": "a:1"}, {"name": "b", "image": "b:1"}]);
    server.post(server.core("pods"), with(pod("two"), "/spec/containers", containers)).ok().await?;
    Ok(())
}

async fn a_pod_must_exist(server: &Server) -> anyhow::Result<()> {
    let refused = server.get(server.core("pods/absent/log")).refused().await?;
    let details = json!({"name": "absent", "kind": "pods"});
    assert_eq!(refused, failure(404, "NotFound", "pods \"absent\" not found", details));
    Ok(())
}

async fn one_container_must_be_chosen(server: &Server) -> anyhow::Result<()> {
    two_containers(server).await?;
    let message = "a container name must be specified for pod two, choose one of: [a b]";
    let refused = server.get(server.core("pods/two/log")).refused().await?;
    assert_eq!(refused, failure(400, "BadRequest", message, Value::Null));
    let message = "container zzz is not valid for pod two";
    let refused = server.get(server.core("pods/two/log?container=zzz")).refused().await?;
    assert_eq!(refused, failure(400, "BadRequest", message, Value::Null));
    Ok(())
}

async fn a_pod_without_a_node_has_no_log(server: &Server) -> anyhow::Result<()> {
    two_containers(server).await?;
    let answer = server.get(server.core("pods/two/log?container=a")).answer().await?;
    assert_eq!((answer.code, answer.text().as_str()), (204, ""));
    Ok(())
}

async fn options_are_checked(server: &Server) -> anyhow::Result<()> {
    two_containers(server).await?;
    let refused = async |query: &str| {
        server.get(server.core(&format!("pods/two/log?container=a&{query}"))).refused().await
    };
    for (query, cause) in [
        (
            "tailLines=-1",
            Cause("FieldValueInvalid", "tailLines", "Invalid value: -1: must be greater than or equal to 0"),
        ),
        (
            "limitBytes=0",
            Cause("FieldValueInvalid", "limitBytes", "Invalid value: 0: must be greater than 0"),
        ),
    ] {
        assert_eq!(refused(query).await?, invalid("PodLogOptions", "two", cause));
    }
    let message = "strconv.ParseInt: parsing \"abc\": invalid syntax";
    assert_eq!(refused("tailLines=abc").await?, failure(400, "BadRequest", message, Value::Null));
    let both = refused("sinceSeconds=1&sinceTime=2020-01-01T00:00:00Z").await?;
    assert_eq!((&both["code"], &both["reason"]), (&json!(422), &json!("Invalid")));
    Ok(())
}
