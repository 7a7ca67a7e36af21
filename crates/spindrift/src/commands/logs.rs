//! `spindrift logs`: logs of containers, in one or several accounts.

mod merge;
mod target;

use std::{cell::RefCell, io::Write, time::Duration};

use anyhow::{bail, ensure};
use clap::Args;
use clap_complete::ArgValueCompleter;
use jiff::Timestamp;
use spindrift_model::{Logs as LogsVerb, ObjectRef, Verb};

use self::{merge::MergedLines, target::LogTargets};
use super::{
    Context,
    operate::{AccountFanout, AccountFlags, AccountLine, DisplayMode, duration},
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
/// If the pod has only one container, the container name is optional. Without an account, the logs come from the only
/// account that has the resource. With several accounts, each line begins with its account, and the lines of all pods are
/// sorted by time unless they are followed.
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
        let found = LogTargets { logs: &self, fanout: &fanout };
        let accounts = found.accounts().await?;
        // The lines of a followed log are printed as they arrive.
        let merged = (!self.follow && !self.previous).then(|| RefCell::new(MergedLines::default()));
        let done = fanout
            .run(&accounts, DisplayMode::Stream, async |line| {
                match found.of_account(line).await {
                    Ok(targets) if targets.is_empty() => {
                        line.note(&format!(
                            "No resources found in {} namespace.",
                            self.account_flags.namespace()
                        ));
                    }
                    Ok(targets) => {
                        let is_one = accounts.len() == 1 && targets.len() == 1;
                        let merged = merged.as_ref().filter(|_| !is_one);
                        self.show(&fanout, line, targets, merged).await?;
                    }
                    Err(error) => line.fail(&error.to_string()),
                }
                Ok(())
            })
            .await;
        if let Some(merged) = merged {
            merged.into_inner().print(self.timestamps)?;
        }
        done
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
        merged: Option<&RefCell<MergedLines>>,
    ) -> anyhow::Result<()> {
        let many = targets.len() > 1;
        let each = targets.into_iter().map(|target| self.read(fanout, line, target, many, merged));
        if self.follow {
            futures::future::try_join_all(each).await?;
            return Ok(());
        }
        for read in each {
            read.await?;
        }
        Ok(())
    }

    async fn read(
        &self,
        fanout: &AccountFanout<'_>,
        line: &AccountLine,
        target: ObjectRef,
        many: bool,
        merged: Option<&RefCell<MergedLines>>,
    ) -> anyhow::Result<()> {
        let prefix = if self.prefix { format!("[{}/{}] ", target.kind, target.name) } else { String::new() };
        let verb = self.verb(target, many, merged.is_some());
        let mut reply = match fanout.submit(line.account(), &verb, self.follow.then_some(FOLLOWED)).await {
            Ok(reply) => reply,
            Err(error) => {
                line.fail(&error.to_string());
                return Ok(());
            }
        };
        // Raw bytes, unless lines of several sources are mixed.
        let is_plain =
            merged.is_none() && !line.is_one_of_several() && prefix.is_empty() && !(many && self.follow);
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
                    if let Some(merged) = merged {
                        merged.borrow_mut().add(&text, |text| line.labelled(&format!("{prefix}{text}")));
                        return Ok(());
                    }
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

    fn verb(&self, target: ObjectRef, many: bool, merged: bool) -> Verb {
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
            // Lines of several pods are sorted by their times.
            timestamps: self.timestamps || merged,
            limit_bytes: self.limit_bytes,
            anywhere: false,
        })
    }
}
