//! `rollout history`: lists revisions, or shows the pod template of one.

use std::fmt::Write;

use anyhow::ensure;
use clap::Args;
use serde::Deserialize;
use serde_json::Value;
use spindrift_model::{DryRun, ObjectRef, Rollout, RolloutAction, Verb};
use spindrift_printer::describe_template;

use crate::commands::{
    Context,
    operate::{AccountFanout, AccountFlags, DisplayMode, ResourceArgs},
};

const EXAMPLES: &str = "Examples:
  # View the rollout history of a deployment
  spindrift rollout history deploy/web -n shop -a eu-west

  # View the details of daemonset revision 3
  spindrift rollout history daemonset/proxy -a eu-west --revision=3";

/// View rollout history.
///
/// View previous rollout revisions and configurations.
#[derive(Debug, Args)]
#[command(
    before_help = EXAMPLES,
    override_usage = "spindrift rollout history (-f FILENAME | TYPE NAME | TYPE/NAME ...) [options]"
)]
pub(super) struct History {
    #[command(flatten)]
    resources: ResourceArgs,
    #[command(flatten)]
    account_flags: AccountFlags,
    /// See the details, including podTemplate of the revision specified.
    #[arg(long, default_value_t = 0, value_name = "REVISION")]
    revision: u64,
}

/// Response of the agent.
#[derive(Debug, Deserialize)]
struct Revisions {
    revisions: Vec<Revision>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Revision {
    #[serde(rename = "revision")]
    number: u64,
    #[serde(default)]
    change_cause: Option<String>,
    #[serde(default)]
    template: Value,
}

/// Kinds with revisions, and all their names.
const KINDS: [(&str, &[&str]); 3] = [
    ("deployment.apps", &["deployment", "deployments", "deploy"]),
    ("statefulset.apps", &["statefulset", "statefulsets", "sts"]),
    ("daemonset.apps", &["daemonset", "daemonsets", "ds"]),
];

// === impl History ===

impl History {
    pub(super) async fn run(self, context: &Context) -> anyhow::Result<()> {
        let Self { resources, account_flags, revision } = &self;
        let chosen = resources.chosen(account_flags).await?;
        ensure!(!chosen.is_empty(), "no objects passed to rollout");
        let wanted = Some(*revision).filter(|revision| *revision > 0);
        let fanout = AccountFanout::new(context)?;
        let accounts = account_flags.accounts(fanout.hub()).await?;
        fanout
            .run(&accounts, DisplayMode::Stream, async |line| {
                let account = line.account();
                let found = match resources.in_account(&fanout, account, &chosen).await {
                    Ok(found) => found,
                    Err(error) => {
                        line.fail(&error.to_string());
                        return Ok(());
                    }
                };
                for (target, _) in found {
                    let title = title(&target);
                    let action = RolloutAction::History { revision: wanted };
                    let verb = Verb::Rollout(Rollout { target, action, dry_run: DryRun::None });
                    let answer =
                        async { fanout.submit(account, &verb, None).await?.json::<Revisions>().await };
                    match answer.await {
                        Ok(Revisions { revisions }) => line.print(&page(&title, &revisions, wanted))?,
                        Err(error) => line.fail(&error.to_string()),
                    }
                }
                Ok(())
            })
            .await
    }
}

/// Name as kubectl prints it, regardless of the alias that the user typed.
fn title(target: &ObjectRef) -> String {
    let kind = target.kind.to_lowercase();
    let word = kind.split('.').next().unwrap_or_default();
    let known = KINDS.iter().find(|(_, names)| names.contains(&word));
    format!("{}/{}", known.map_or(kind.as_str(), |(kind, _)| kind), target.name)
}

fn page(title: &str, revisions: &[Revision], wanted: Option<u64>) -> String {
    if let Some(wanted) = wanted {
        let template = revisions.iter().find(|revision| revision.number == wanted);
        let template = template.map(|revision| describe_template(&revision.template)).unwrap_or_default();
        return format!("{title} with revision #{wanted}\n{template}\n");
    }
    let cause = |revision: &Revision| match revision.change_cause.as_deref() {
        None | Some("") => "<none>".to_owned(),
        Some(cause) => cause.to_owned(),
    };
    let rows = revisions.iter().map(|revision| (revision.number.to_string(), cause(revision)));
    let header = ("REVISION".to_owned(), "CHANGE-CAUSE".to_owned());
    let rows: Vec<_> = std::iter::once(header).chain(rows).collect();
    let widest = rows.iter().map(|(revision, _)| revision.len()).max().unwrap_or_default();
    let mut page = format!("{title} \n");
    for (revision, cause) in rows {
        // Writing to a string cannot fail.
        writeln!(page, "{revision:widest$}  {cause}").ok();
    }
    page.push('\n');
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn revisions_are_shown_as_kubectl_shows_them() {
        let revision = |number, cause: Option<&str>| Revision {
            number,
            change_cause: cause.map(str::to_owned),
            template: Value::Null,
        };
        let shown =
            page("deployment.apps/web", &[revision(1, None), revision(12, Some("a new image"))], None);
        let expected =
            "deployment.apps/web \nREVISION  CHANGE-CAUSE\n1         <none>\n12        a new image\n\n";
        assert_eq!(shown, expected);
    }

    #[test]
    fn workloads_have_one_name() {
        for (kind, expected) in [
            ("deploy", "deployment.apps/web"),
            ("Deployment", "deployment.apps/web"),
            ("deployments.v1.apps", "deployment.apps/web"),
            ("sts", "statefulset.apps/web"),
            ("ds", "daemonset.apps/web"),
            ("pod", "pod/web"),
        ] {
            let target =
                ObjectRef { api_version: None, kind: kind.into(), namespace: None, name: "web".into() };
            assert_eq!(title(&target), expected);
        }
    }
}
