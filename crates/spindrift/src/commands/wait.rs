//! `spindrift wait`: waits until objects meet a condition.

mod condition;

use std::time::Duration;

use anyhow::ensure;
use clap::Args;
use serde_json::Value;
use spindrift_model::{Get, ObjectRef, Verb};
use tokio::time::{Instant, sleep};

use self::condition::WaitCondition;
use super::{
    Context,
    operate::{
        AccountFanout, AccountFlags, AccountLine, DisplayMode, OperationError, ResourceArg, ResourceArgs,
        duration, title,
    },
};

const EXAMPLES: &str = "Examples:
  # Wait for the pod 'busybox1' to contain the status condition of type 'Ready'
  spindrift wait --for=condition=Ready pod/busybox1 -a eu-west

  # The default value of status condition is true; you can wait for other values
  spindrift wait --for=condition=Ready=false pod/busybox1 -a eu-west

  # Wait until all deployments of a namespace are available, in all accounts
  spindrift wait --for=condition=Available deploy --all -n shop --all-accounts

  # Wait for the pod 'busybox1' to contain the status phase to be 'Running'
  spindrift wait --for=jsonpath='{.status.phase}'=Running pod/busybox1 \\
    -a eu-west

  # Wait for the pod 'busybox1' to be deleted, with a timeout of 60s
  spindrift delete pod/busybox1 -a eu-west --wait=false
  spindrift wait --for=delete pod/busybox1 --timeout=60s -a eu-west";

/// Wait for a specific condition on one or many resources.
///
/// The command takes multiple resources and waits until the specified condition is seen in the Status field of every
/// given resource, in every selected account.
///
/// Alternatively, the command can wait for the given set of resources to be created or deleted by providing the "create"
/// or "delete" keyword as the value to the --for flag.
///
/// A successful message will be printed to stdout indicating when the specified condition has been met.
#[derive(Debug, Args)]
#[command(
    before_help = EXAMPLES,
    override_usage = "spindrift wait ([-f FILENAME] | TYPE/NAME | TYPE [(-l label | --all)]) --for=CONDITION [options]"
)]
pub(crate) struct Wait {
    #[command(flatten)]
    resources: ResourceArgs,
    #[command(flatten)]
    account_flags: AccountFlags,
    /// The condition to wait on: [create|delete|condition=condition-name[=condition-value]|jsonpath='{JSONPath
    /// expression}'=[JSONPath value]]. The default condition-value is true. Condition values are compared without regard
    /// to case. Multiple conditions are supported and AND'ed to each other in a sequential order.
    #[arg(long = "for", required = true, value_name = "CONDITION")]
    conditions: Vec<WaitCondition>,
    /// Select all resources in the namespace of the specified resource types.
    #[arg(long, conflicts_with = "selector")]
    all: bool,
    /// The length of time to wait before giving up. Zero means check once and don't wait.
    #[arg(long, value_parser = duration, default_value = "30s", value_name = "TIME")]
    timeout: Duration,
}

/// Interval between two reads of an object. Reads are live: a cached object could be older than the user's last change.
const PACE: Duration = Duration::from_secs(1);
/// Deadline of one read.
const READ_TIMEOUT: Duration = Duration::from_secs(20);

// === impl Wait ===

impl Wait {
    pub(crate) async fn run(self, context: &Context) -> anyhow::Result<()> {
        let Self { resources, account_flags, .. } = &self;
        let chosen = if self.all {
            resources.named(account_flags).await?
        } else {
            resources.chosen(account_flags).await?
        };
        ensure!(!chosen.is_empty(), "no matching resources found");
        let fanout = AccountFanout::new(context)?;
        let accounts = account_flags.accounts(fanout.hub()).await?;
        let end = Instant::now() + self.timeout;
        fanout
            .run(&accounts, DisplayMode::Progress, async |line| {
                match self.wait_in(&fanout, line, &chosen, end).await {
                    Ok(()) => {}
                    Err(error) => line.fail(&error),
                }
                Ok(())
            })
            .await
    }

    /// Waits for all objects of an account, one after the other.
    async fn wait_in(
        &self,
        fanout: &AccountFanout<'_>,
        line: &AccountLine,
        chosen: &[ResourceArg],
        end: Instant,
    ) -> Result<(), String> {
        let targets = self.targets(fanout, line, chosen, end).await?;
        let mut errors = Vec::new();
        for target in targets {
            for condition in &self.conditions {
                line.set_activity(&format!("waiting for {target}"));
                match self.wait_for(fanout, line, &target, condition, end).await {
                    Ok(None) => {}
                    Ok(Some(name)) => line
                        .done(&format!("{name} condition met"), "met")
                        .map_err(|error| error.to_string())?,
                    Err(error) => {
                        errors.push(error);
                        break;
                    }
                }
            }
        }
        if errors.is_empty() { Ok(()) } else { Err(errors.join("\n")) }
    }

    /// Objects to wait for; waits until a selector matches any, if they are to be created.
    async fn targets(
        &self,
        fanout: &AccountFanout<'_>,
        line: &AccountLine,
        chosen: &[ResourceArg],
        end: Instant,
    ) -> Result<Vec<ObjectRef>, String> {
        loop {
            let found = self.resources.in_account(fanout, line.account(), chosen).await;
            let found = found.map_err(|error| error.to_string())?;
            if !found.is_empty() {
                return Ok(found.into_iter().map(|(target, _)| target).collect());
            }
            let is_for = |wanted: &WaitCondition| self.conditions.contains(wanted);
            if is_for(&WaitCondition::Deleted) {
                return Ok(Vec::new());
            }
            if !is_for(&WaitCondition::Created) {
                return Err("error: no matching resources found".to_owned());
            }
            pause(end).await.ok_or("error: timed out waiting for the condition")?;
        }
    }

    /// Reads an object until the condition is met; returns its name, unless it was never there.
    async fn wait_for(
        &self,
        fanout: &AccountFanout<'_>,
        line: &AccountLine,
        target: &ObjectRef,
        condition: &WaitCondition,
        end: Instant,
    ) -> Result<Option<String>, String> {
        let verb = Verb::Get(Get { target: target.clone(), reveal: false, anywhere: false });
        let mut seen: Option<Value> = None;
        loop {
            let read = async {
                let reply = fanout.submit(line.account(), &verb, Some(READ_TIMEOUT)).await?;
                reply.json::<Value>().await
            };
            match read.await {
                // Another object of the same name is not the one that was to be deleted.
                Ok(object) if *condition == WaitCondition::Deleted && is_other(seen.as_ref(), &object) => {
                    return Ok(Some(title(&object)));
                }
                Ok(object) => {
                    if condition.is_met(&object)? {
                        return Ok(Some(title(&object)));
                    }
                    seen = Some(object);
                }
                Err(error) if error.is("NotFound") => match condition {
                    WaitCondition::Deleted => return Ok(seen.as_ref().map(title)),
                    WaitCondition::Created => {}
                    _ => return Err(error.to_string()),
                },
                // The agent or the API server may be back before the end.
                Err(error) if !is_temporary(&error) => return Err(error.to_string()),
                Err(_) => {}
            }
            pause(end).await.ok_or_else(|| {
                format!("error: timed out waiting for the condition on {}", plural(seen.as_ref(), target))
            })?;
        }
    }
}

/// Waits until the next read; `None` at the end.
async fn pause(end: Instant) -> Option<()> {
    let left = end.saturating_duration_since(Instant::now());
    if left.is_zero() {
        return None;
    }
    sleep(PACE.min(left)).await;
    Some(())
}

fn is_temporary(error: &OperationError) -> bool {
    ["ServiceUnavailable", "TooManyRequests", "Timeout", "ServerTimeout"]
        .iter()
        .any(|reason| error.is(reason))
}

/// Whether an object has been created again since it was first read.
fn is_other(seen: Option<&Value>, live: &Value) -> bool {
    seen.is_some_and(|seen| seen["metadata"]["uid"] != live["metadata"]["uid"])
}

/// Object as kubectl writes it in an error: `deployments/web`.
fn plural(seen: Option<&Value>, target: &ObjectRef) -> String {
    let kind = seen.and_then(|seen| seen["kind"].as_str()).unwrap_or(&target.kind).to_lowercase();
    let plural = match kind.as_bytes() {
        _ if seen.is_none() || kind == "endpoints" => kind,
        [.., b's' | b'x'] => kind + "es",
        [.., b'y'] => kind.trim_end_matches('y').to_owned() + "ies",
        _ => kind + "s",
    };
    format!("{plural}/{}", target.name)
}
