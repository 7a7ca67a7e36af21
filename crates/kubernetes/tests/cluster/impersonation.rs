use std::{fs, path::Path};

use spindrift_kubernetes::{Access, Api, ApiOptions, Credentials};
use spindrift_process::report;
use spindrift_testkit::{Cluster, scratch};

use crate::support::{connect, resource};

async fn acting(kubeconfig: &Path, user: &str) -> Result<Api, spindrift_kubernetes::ConnectError> {
    let credentials = Credentials::Kubeconfig { path: kubeconfig.to_owned(), context: None };
    let impersonate = Some(user.to_owned());
    Api::connect(&credentials, &ApiOptions { no_proxy: true, impersonate, ..ApiOptions::default() }).await
}

#[tokio::test]
async fn impersonation_gives_the_permissions_of_the_account_and_its_groups() -> anyhow::Result<()> {
    let cluster = Cluster::shared().await?;
    let namespace = cluster.namespace("acting").await?;
    let create = async |arguments: &[&str]| {
        cluster.kubectl(&[&["-n", &namespace, "create"], arguments].concat()).await
    };
    create(&["serviceaccount", "robot"]).await?;
    // Impersonation of this account is the only permission of the agent.
    let name = ["--verb=impersonate", "--resource=serviceaccounts", "--resource-name=robot"];
    create(&[&["role", "actor"], &name[..]].concat()).await?;
    create(&["rolebinding", "actor", "--role=actor", "--user=agent"]).await?;
    create(&["role", "configmaps", "--verb=list", "--resource=configmaps"]).await?;
    let robot = format!("--serviceaccount={namespace}:robot");
    create(&["rolebinding", "configmaps", "--role=configmaps", &robot]).await?;
    create(&["role", "services", "--verb=list", "--resource=services"]).await?;
    let group = format!("--group=system:serviceaccounts:{namespace}");
    create(&["rolebinding", "services", "--role=services", &group]).await?;

    let agent = cluster.kubeconfig_for("agent")?;
    let robot = format!("system:serviceaccount:{namespace}:robot");
    let api = acting(&agent, &robot).await?;
    assert_eq!(api.user_name().await?, robot);
    let admin = connect(cluster.kubeconfig()).await?;
    for (kind, allowed) in [("ConfigMap", true), ("Service", true), ("Pod", false)] {
        let resource = resource(&admin, "", kind).await?;
        let access = Access { verb: "list", resource: &resource, namespace: Some(&namespace), name: None };
        assert_eq!(api.may(access).await?, allowed, "{kind}");
    }

    let other = acting(&agent, &format!("system:serviceaccount:{namespace}:other")).await?;
    let error = other.user_name().await.expect_err("it may not act for that one");
    assert!(error.status().is_some_and(spindrift_kubernetes::Status::is_forbidden), "{error:?}");
    for nobody in ["robot", "system:serviceaccount:robot", "system:serviceaccount:a/b:robot", "admin"] {
        let text = report(&acting(&agent, nobody).await.err().expect("only service accounts are meant"));
        assert!(text.contains("system:serviceaccount:<namespace>:<name>"), "{text}");
    }
    Ok(())
}

#[tokio::test]
async fn a_kubeconfig_may_say_whom_to_act_for() -> anyhow::Result<()> {
    let cluster = Cluster::shared().await?;
    let directory = scratch("acting")?;
    let path = directory.path().join("kubeconfig");
    let text = fs::read_to_string(cluster.kubeconfig())?;
    fs::write(
        &path,
        text.replace("token: admin-token", "token: admin-token, as: dave, as-groups: [readers]"),
    )?;
    assert_eq!(connect(&path).await?.user_name().await?, "dave");
    Ok(())
}
