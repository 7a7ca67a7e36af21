//! The changes that we make to a cluster are those of kubectl.
//!
//! ```text
//! seed ──▶ Case: first manifest, another client's change, second manifest, or another verb
//!            ├─ west: kubectl ─────────────────▶ kube-apiserver ─┐
//!            └─ east: REST, or spindrift ─▶ hub ══ agent ────────┴─▶ outcomes and objects are the same
//! ```
//!
//! Objects are compared except for generated values; outcomes by the API server's reason and message, those of the
//! command line by exit code and output.
//! `make parity` runs long and writes the tables of `docs/kubectl.md`; without settings it is a short test. A case is
//! played again by its seed and number, several by their numbers: `SPINDRIFT_PARITY_SEED=6 SPINDRIFT_PARITY_ONLY=42-50`.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

mod action;
mod actor;
mod case;
mod compare;
mod decisions;
mod features;
mod foreign_change;
mod kinds;
mod logs;
mod oddity;
mod outcome;
mod output;
mod page;
mod plan;
mod play;
mod settings;
mod side;
mod tally;
mod testbed;
mod top;
mod world;

use spindrift_testkit::Cluster;
use tokio::sync::Mutex;

use actor::{Actor, KubectlActor};
use case::{Case, Step, Where};
use settings::Settings;
use tally::Tally;
use testbed::Testbed;
use world::World;

/// Batches of cases that are played at once: kubectl is slow to start, API servers are not.
const WORKERS: usize = 3;

/// A long run prints its progress after so many cases.
const PROGRESS: u64 = 500;

/// Names of objects follow from numbers of cases, so that only one test at a time can use the cluster.
static TURN: Mutex<()> = Mutex::const_new(());

#[tokio::test(flavor = "multi_thread")]
async fn our_changes_are_those_of_kubectl() {
    let _turn = TURN.lock().await;
    let settings = Settings::from_env();
    println!("parity: seed {}, {} cases of applying and more of other verbs", settings.seed, settings.cases);
    let world = World::start(WORKERS).await;
    let mut tally = Tally::default();
    let (bare, living): (Vec<_>, Vec<_>) = plan::cases(settings.seed, settings.cases)
        .into_iter()
        .filter(|case| settings.only.as_ref().is_none_or(|only| only.contain(case.number)))
        .partition(|case| case.cluster == Where::Bare);
    // Printed at once: a long run may be cut short.
    let mut tell = |verdict| {
        if let Some(difference) = tally.add(&verdict) {
            println!("{difference}");
        }
        if tally.cases().is_multiple_of(PROGRESS) {
            println!("parity: {} cases played, {} differ", tally.cases(), tally.differences());
        }
    };
    play::play_all(&world.bare, bare, WORKERS, &mut tell).await;
    if !living.is_empty() {
        play::play_all(&world.living().await.testbed, living, WORKERS, &mut tell).await;
    }
    if settings.only.is_none() {
        logs::compare(world.living().await, &settings, &mut tally).await;
        top::compare(world.living().await, &settings, &mut tally).await;
    }

    println!("{}\n\n{}", tally.tables(), tally.figures());
    if settings.writes {
        page::write(&settings, &tally);
    }
    assert_eq!(tally.differing().join("\n"), "", "seed {}", settings.seed);
    if settings.only.is_none() {
        assert_eq!(tally.neglected(settings.is_long()), Vec::<String>::new(), "seed {}", settings.seed);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn kubectl_beside_itself_differs_in_nothing_but_what_is_planted() {
    let _turn = TURN.lock().await;
    let cluster = Cluster::shared().await.unwrap();
    let actor = KubectlActor::new(cluster.kubeconfig()).await;
    let testbed = Testbed::new(cluster, [Actor::Kubectl(actor.clone()), Actor::Kubectl(actor)]);
    testbed.prepare(WORKERS).await;
    let cases =
        || plan::cases(Settings::from_env().seed, 12).into_iter().filter(|case| case.number < 100_000);

    let mut plain = Tally::default();
    play::play_all(&testbed, cases().collect(), WORKERS, |verdict| {
        plain.add(&verdict);
    })
    .await;
    assert_eq!((plain.cases(), plain.differences()), (12, 0), "{}", plain.differing().join("\n"));

    let sabotage = |mut case: Case| {
        case.steps.push(Step::Sabotage);
        case
    };
    let mut planted = Tally::default();
    play::play_all(&testbed, cases().map(sabotage).collect(), WORKERS, |verdict| {
        planted.add(&verdict);
    })
    .await;
    assert_eq!((planted.cases(), planted.differences()), (12, 12));
}
