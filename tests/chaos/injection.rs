//! Injection and repair of each fault.

use std::time::Duration;

use spindrift_playground::{Effect, Fault as PlaygroundFault, Faults, MalformedBody};
use spindrift_testkit::FaultProxy;
use tokio::time::sleep;

use crate::{
    fault::Fault,
    schedule::Injection,
    world::{Stack, World},
};

/// Bytes per second on a slow link: an object of a megabyte would take half a minute.
const SLOW: u64 = 32 * 1024;

/// Value of `Retry-After`.
const RETRY_AFTER: Duration = Duration::from_secs(1);

// === impl Injection ===

impl Injection {
    /// Injects the fault, waits, and repairs it.
    pub(crate) async fn happen(&self, world: &World) {
        let stack = &world.stacks[self.target % world.stacks.len()];
        match self.fault {
            Fault::LinkCut => self.break_link(&*stack.link.lock().await, FaultProxy::cut).await,
            Fault::LinkFrozen => self.break_link(&*stack.link.lock().await, FaultProxy::half_open).await,
            Fault::LinkSlow => self.break_link(&*stack.link.lock().await, |link| link.throttle(SLOW)).await,
            Fault::ApiLinkCut => self.break_link(&*world.api_link.lock().await, FaultProxy::cut).await,
            Fault::ApiLinkFrozen => {
                self.break_link(&*world.api_link.lock().await, FaultProxy::half_open).await;
            }
            Fault::AgentKilled | Fault::AgentFrozen => self.inject_into_agent(stack).await,
            Fault::HubKilled | Fault::HubFrozen => self.inject_into_hub(stack).await,
            // The other stack's database is a file.
            Fault::DatabaseFrozen | Fault::DatabaseRestarted => {
                self.inject_into_database(&world.stacks[0]).await;
            }
            Fault::ApiServerRestarted | Fault::ApiServerFrozen | Fault::Compacted => {
                self.inject_into_api_server(world).await;
            }
            Fault::Gone | Fault::TooManyRequests | Fault::ServerErrors | Fault::OddBodies => {
                self.strike_playground(&world.playground[self.target % world.playground.len()]).await;
            }
            Fault::DefinitionChanged => {
                world.sites[self.target % world.sites.len()].toggle_definition().await;
            }
        }
    }

    async fn break_link(&self, link: &FaultProxy, how: impl FnOnce(&FaultProxy)) {
        how(link);
        sleep(self.lasts).await;
        link.heal();
    }

    async fn inject_into_agent(&self, stack: &Stack) {
        let mut agent = stack.agent.lock().await;
        if self.fault == Fault::AgentFrozen {
            agent.daemon().freeze().unwrap();
            sleep(self.lasts).await;
            agent.daemon().thaw().unwrap();
        } else {
            agent.kill();
            sleep(self.lasts).await;
            agent.restart().unwrap();
        }
    }

    async fn inject_into_hub(&self, stack: &Stack) {
        let mut hub = stack.hub.lock().await;
        if self.fault == Fault::HubFrozen {
            hub.daemon().freeze().unwrap();
            sleep(self.lasts).await;
            hub.daemon().thaw().unwrap();
        } else {
            hub.kill();
            sleep(self.lasts).await;
            // A hub does not start without its database.
            let _database = stack.database.lock().await;
            hub.restart().await.unwrap();
        }
    }

    async fn inject_into_database(&self, stack: &Stack) {
        let database = stack.database.lock().await;
        if self.fault == Fault::DatabaseFrozen {
            database.freeze().unwrap();
            sleep(self.lasts).await;
            database.thaw().unwrap();
        } else {
            database.stop().await.unwrap();
            sleep(self.lasts).await;
            database.start().await.unwrap();
        }
    }

    async fn inject_into_api_server(&self, world: &World) {
        let cluster = world.api_server.lock().await;
        if self.fault == Fault::ApiServerFrozen {
            cluster.freeze_api_server().unwrap();
            sleep(self.lasts).await;
            cluster.thaw_api_server().unwrap();
            return;
        }
        if self.fault == Fault::Compacted {
            cluster.compact().await.unwrap();
        }
        cluster.stop_api_server();
        sleep(self.lasts).await;
        cluster.start_api_server().await.unwrap();
    }

    async fn strike_playground(&self, faults: &Faults) {
        let share = |effect, share| PlaygroundFault { share, ..PlaygroundFault::new(effect) };
        let status = |code, retry_after| Effect::Status { code, retry_after };
        let injected: Vec<_> = match self.fault {
            Fault::Gone => vec![PlaygroundFault::new(Effect::ExpireHistory)],
            Fault::TooManyRequests => vec![PlaygroundFault::new(status(429, Some(RETRY_AFTER)))],
            Fault::ServerErrors => vec![share(status(500, None), 0.5), share(status(503, None), 0.5)],
            _ => [MalformedBody::Truncated, MalformedBody::Garbage, MalformedBody::Duplicate]
                .map(|odd| share(Effect::Malformed(odd), 0.4))
                .to_vec(),
        };
        let injected: Vec<_> = injected.into_iter().map(|fault| faults.inject(fault)).collect();
        sleep(self.lasts).await;
        for fault in injected {
            faults.lift(fault);
        }
    }
}
