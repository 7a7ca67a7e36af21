//! Quiet point: no fault, no writes, and every hub has exactly the objects of its clusters.

use std::{path::Path, time::Duration};

use anyhow::{bail, ensure};
use spindrift_testkit::{KindToCompare, compare};
use tokio::time::{Instant, sleep};

use crate::{
    world::{Stack, World},
    writer::{Definition, GROUP, Site},
};

/// Long for a loaded machine; after this time convergence is not expected any more.
const LIMIT: Duration = Duration::from_mins(2);

const PAUSE: Duration = Duration::from_millis(200);

const WIDGETS: KindToCompare<'_> = (GROUP, "v1", "Widget", "widgets");

const OTHERS: [KindToCompare<'_>; 3] = [
    ("", "v1", "ConfigMap", "configmaps"),
    ("", "v1", "Secret", "secrets"),
    ("apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions"),
];

/// Waits until all accounts have converged, and returns how long it took.
pub(crate) async fn converge(world: &World, when: &str) -> Duration {
    let begun = Instant::now();
    for stack in &world.stacks {
        for (account, site) in &stack.accounts {
            let site = &world.sites[*site];
            while let Err(divergence) = look(stack, account, site).await {
                if begun.elapsed() > LIMIT {
                    keep_logs(world).await;
                    panic!("{account} of stack {} has not converged {when}: {divergence:#}", stack.name);
                }
                sleep(PAUSE).await;
            }
        }
    }
    begun.elapsed()
}

async fn look(stack: &Stack, account: &str, site: &Site) -> anyhow::Result<()> {
    let mut kinds = OTHERS.to_vec();
    match site.definition().await? {
        Definition::Absent => {}
        Definition::Served => kinds.push(WIDGETS),
        Definition::Unsettled => bail!("the definition still comes or goes in {}", site.name),
    }
    let hub = stack.hub.lock().await;
    ensure!(hub.daemon().exited().is_none(), "the hub has ended");
    ensure!(stack.agent.lock().await.daemon().exited().is_none(), "the agent has ended");
    compare(&site.client, &hub, account, &kinds).await
}

/// Keeps the logs of the daemons, whole: their end is rarely the reason.
async fn keep_logs(world: &World) {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR"));
    for stack in &world.stacks {
        let (agent, hub) = (stack.agent.lock().await, stack.hub.lock().await);
        for (program, log) in [("agent", agent.daemon().log()), ("hub", hub.daemon().log())] {
            let file = directory.join(format!("chaos-{program}-{}.log", stack.name));
            std::fs::write(&file, log).ok();
            println!("kept {}", file.display());
        }
    }
}
