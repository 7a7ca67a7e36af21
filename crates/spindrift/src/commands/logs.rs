//! `spindrift logs`: logs of containers, in one or several accounts.

use std::{io::Write, time::Duration};

use anyhow::{bail, ensure};
use clap::Args;
use clap_complete::ArgValueCompleter;
use jiff::Timestamp;
use spindrift_model::{List, Logs as LogsVerb, ObjectRef, Verb};

use super::{
    Context,
    operate::{AccountFanout, AccountFlags, AccountLine, DisplayMode, OperationError, duration},
};
use crate::complete;

const EXAMPLES: &str = "Examples:
  # Return snapshot logs from pod web-0 with only one container
  spindrift logs web-0 -n shop -a eu-west

  # Begin streaming the logs of a deployment in two accounts
  spindrift logs -f deploy/web -n shop -a eu-west,us-east

  # Display the most recent 20 lines of all pods defined by label app=web
  spindrift logs -l app=web --tail=20 --prefix -a eu-west

  # Show the logs of the previous instance of container sidecar, written in the
  # last ten minutes
  spindrift logs web-0 -c sidecar --previous --since=10m -a eu-west";

/// Print the logs for a container in a pod or specified resource.
///
/// If the pod has only one container, the container name is optional. With several accounts, each line begins with its
/// account.
#[derive(Debug, Args)]
#[command(
    before_help = EXAMPLES,
    override_usage = "spindrift logs [-f] [-p] (POD | TYPE/NAME | -l label) [-c CONTAINER] [options]"
)]
pub(crate) struct Logs {
    /// A pod, or a resource that has pods (e.g. deploy/web, job/import).
    #[arg(value_name = "POD|TYPE/NAME", add = ArgValueCompleter::new(complete::pods))]
    resource: Option<String>,
    #[command(flatten)]
    account_flags: AccountFlags,
    /// Selector (label query) to filter on, supports '=', '==', '!=', 'in' and 'notin' (e.g. -l key1=value1,key2=value2).
    /// Matching objects must satisfy all of the specified label constraints.
    #[arg(short = 'l', long, conflicts_with = "resource")]
    selector: Option<String>,
    /// Print the logs of this container. Defaults to the only container, or to the default container of the pod.
    #[arg(short, long, value_name = "NAME")]
    container: Option<String>,
    /// Specify if the logs should be streamed.
    #[arg(short, long)]
    follow: bool,
    /// If true, print the logs for the previous instance of the container in a pod if it exists.
    #[arg(short, long)]
    previous: bool,
    /// Lines of recent log file to display. Defaults to -1 with no selector, showing all log lines, otherwise 10, if a
    /// selector is provided.
    #[arg(long, allow_negative_numbers = true, value_name = "LINES")]
    tail: Option<i64>,
    /// Only return logs newer than a relative duration like 5s, 2m, or 3h. Defaults to all logs.
    #[arg(long, value_parser = duration, value_name = "TIME", conflicts_with = "since_time")]
    since: Option<Duration>,
    /// Only return logs after a specific date (RFC3339). Defaults to all logs.
    #[arg(long, value_name = "DATE")]
    since_time: Option<String>,
    /// Include timestamps on each line in the log output.
    #[arg(long)]
    timestamps: bool,
    /// Maximum bytes of logs to return. Defaults to no limit.
    #[arg(long, value_name = "BYTES")]
    limit_bytes: Option<u64>,
    /// Prefix each log line with the log source (pod name).
    #[arg(long)]
    prefix: bool,
}

/// Deadline of `--follow`: containers may be idle for long, but every operation has a deadline.
const FOLLOWED: Duration = Duration::from_hours(24);
/// Default of `--tail` for several pods, as in kubectl.
const TAIL_OF_MANY: u64 = 10;

// === impl Logs ===

impl Logs {
    pub(crate) async fn run(self, context: &Context) -> anyhow::Result<()> {
        self.check()?;
        let fanout = AccountFanout::new(context)?;
        let accounts = self.account_flags.accounts(fanout.hub()).await?;
        fanout
            .run(&accounts, DisplayMode::Stream, async |line| {
                match self.targets(&fanout, line.account()).await {
                    Ok(targets) if targets.is_empty() => {
                        line.note(&format!(
                            "No resources found in {} namespace.",
                            self.account_flags.namespace()
                        ));
                    }
                    Ok(targets) => self.show(&fanout, line, targets).await?,
                    Err(error) => line.fail(&error.to_string()),
                }
                Ok(())
            })
            .await
    }

    fn check(&self) -> anyhow::Result<()> {
        ensure!(
            self.resource.is_some() || self.selector.is_some(),
            "POD, TYPE/NAME or -l is a required argument for the logs command (e.g. logs web-0, logs deploy/web, logs -l app=web)"
        );
        if let Some(moment) = &self.since_time
            && moment.parse::<Timestamp>().is_err()
        {
            bail!("--since-time {moment:?} is not a date such as 2026-11-16T08:00:00Z");
        }
        Ok(())
    }

    /// Prints the logs of the pods one after the other, or in parallel with `--follow`.
    async fn show(
        &self,
        fanout: &AccountFanout<'_>,
        line: &AccountLine,
        targets: Vec<ObjectRef>,
    ) -> anyhow::Result<()> {
        let many = targets.len() > 1;
        let each = targets.into_iter().map(|target| self.read(fanout, line, target, many));
        if self.follow {
            futures::future::try_join_all(each).await?;
            return Ok(());
        }
        for read in each {
            read.await?;
        }
        Ok(())
    }

    async fn targets(
        &self,
        fanout: &AccountFanout<'_>,
        account: &str,
    ) -> Result<Vec<ObjectRef>, OperationError> {
        let namespace = Some(self.account_flags.namespace().to_owned());
        let object = |kind: &str, name: &str| ObjectRef {
            api_version: None,
            kind: kind.to_owned(),
            namespace: namespace.clone(),
            name: name.to_owned(),
        };
        if let Some(resource) = &self.resource {
            let (kind, name) = resource.split_once('/').unwrap_or(("pod", resource));
            return Ok(vec![object(kind, name)]);
        }
        let list = Verb::List(List {
            api_version: Some("v1".to_owned()),
            kind: "Pod".to_owned(),
            namespace: namespace.clone(),
            label_selector: self.selector.clone(),
            field_selector: None,
            anywhere: false,
        });
        let found: serde_json::Value = fanout.submit(account, &list, None).await?.json().await?;
        let pods = found["items"].as_array().map(Vec::as_slice).unwrap_or_default();
        let names = pods.iter().filter_map(|pod| pod["metadata"]["name"].as_str());
        Ok(names.map(|name| object("pod", name)).collect())
    }

    async fn read(
        &self,
        fanout: &AccountFanout<'_>,
        line: &AccountLine,
        target: ObjectRef,
        many: bool,
    ) -> anyhow::Result<()> {
        let prefix = if self.prefix { format!("[{}/{}] ", target.kind, target.name) } else { String::new() };
        let verb = self.verb(target, many);
        let mut reply = match fanout.submit(line.account(), &verb, self.follow.then_some(FOLLOWED)).await {
            Ok(reply) => reply,
            Err(error) => {
                line.fail(&error.to_string());
                return Ok(());
            }
        };
        // Raw bytes, unless lines of several sources are mixed.
        let is_plain = !line.is_one_of_several() && prefix.is_empty() && !(many && self.follow);
        let ended = if is_plain {
            loop {
                match reply.next().await {
                    Ok(Some(bytes)) => {
                        let mut out = std::io::stdout().lock();
                        out.write_all(&bytes)?;
                        out.flush()?;
                    }
                    Ok(None) => break Ok(()),
                    Err(error) => break Err(error),
                }
            }
        } else {
            reply
                .lines(|text| {
                    let text = String::from_utf8_lossy(text);
                    // The line break keeps empty lines.
                    Ok(line.print(&format!("{prefix}{text}\n"))?)
                })
                .await?
        };
        if let Err(error) = ended {
            line.fail(&error.to_string());
        }
        Ok(())
    }

    fn verb(&self, target: ObjectRef, many: bool) -> Verb {
        let tail_lines = match self.tail {
            Some(lines) => u64::try_from(lines).ok(),
            None if many || self.selector.is_some() => Some(TAIL_OF_MANY),
            None => None,
        };
        Verb::Logs(LogsVerb {
            target,
            container: self.container.clone(),
            previous: self.previous,
            follow: self.follow,
            tail_lines,
            // The API server accepts whole seconds only, and rejects zero.
            since_seconds: self.since.map(|since| since.as_secs().max(1)),
            since_time: self.since_time.clone(),
            timestamps: self.timestamps,
            limit_bytes: self.limit_bytes,
            anywhere: false,
        })
    }
}
