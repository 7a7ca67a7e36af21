//! Random faults while objects change; at every quiet point each hub has exactly the objects of its clusters.
//!
//! ```text
//!  writers ──▶ kube-apiserver ◀── proxy ──┬── agent-p ══ proxy ══▶ hub-p ──▶ PostgreSQL
//!          ──▶ playground eu-west ◀───────┤
//!          ──▶ playground us-east ◀── agent-s ══ proxy ══▶ hub-s ──▶ SQLite     (agent-s has kube-apiserver, too)
//!
//!  round:  faults (cut, kill, freeze, …) while writers write ──▶ quiet point: all repaired, no writes, compare
//! ```
//!
//! Faults, their times and their targets follow from the seed, which is printed. `make chaos` runs long; without
//! settings it is a short test in which every fault is injected at least once.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

mod fault;
mod injection;
mod memory;
mod quiet;
mod schedule;
mod settings;
mod tally;
mod world;
mod writer;

use std::sync::Arc;

use futures::future::join_all;
use tokio::time::{Instant, sleep};

use memory::MemoryWatch;
use schedule::{Round, Schedule};
use settings::Settings;
use tally::Tally;
use world::World;

#[tokio::test(flavor = "multi_thread")]
async fn hubs_converge_after_every_fault() {
    let settings = Settings::from_env();
    println!("chaos: seed {}, {settings}", settings.seed);
    let world = Arc::new(World::build(settings.seed).await);
    quiet::converge(&world, "before anything broke").await;

    let begun = Instant::now();
    let memory = MemoryWatch::start(&world);
    let mut tally = Tally::default();
    let mut schedule = Schedule::new(settings.seed);
    while !settings.is_enough(begun.elapsed(), &tally) {
        let round = schedule.next_round();
        println!("round {}: {round}", tally.quiet_points() + 1);
        play(&world, &round, &mut tally).await;
        let took = quiet::converge(&world, &format!("after {round} (seed {})", settings.seed)).await;
        println!("    converged after {took:.1?}");
        tally.quiet(took);
        memory.check();
    }
    println!("{}", tally.table(begun.elapsed(), &world.written(), &memory.peaks()));
}

/// Lets all injections of a round happen, each at its time, while the writers write.
async fn play(world: &Arc<World>, round: &Round, tally: &mut Tally) {
    world.write();
    let injections = round.injections.iter().map(|injection| async move {
        sleep(injection.after).await;
        injection.happen(world).await;
    });
    join_all(injections).await;
    world.stop_writing().await;
    for injection in &round.injections {
        tally.injected(injection.fault);
    }
}
