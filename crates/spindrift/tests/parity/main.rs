//! Whatever kubectl makes of a cluster, we make of it.
//!
//! ```text
//! seed ──▶ Case: first manifest, somebody else's change, second manifest, or another verb
//!            ├─ west: kubectl ─────────────────▶ kube-apiserver ─┐
//!            └─ east: REST ─▶ hub ══ agent ────▶ kube-apiserver ─┴─▶ outcomes and objects are the same
//! ```
//!
//! Objects are compared but for what is given out anew each time; outcomes by the API server's reason and words.
//! `make parity` runs long and writes the tables of `docs/parity.md`; without settings it is a short test. A case is
//! played again by its seed and number: `SPINDRIFT_PARITY_SEED=6 SPINDRIFT_PARITY_ONLY=42`.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

mod action;
mod case;
mod compare;
mod dice;
mod features;
mod hand;
mod kinds;
mod meddling;
mod outcome;
mod plan;
mod play;
mod settings;
mod side;
mod site;
mod tally;
mod twist;

use spindrift_testkit::Cluster;

use case::Case;
use hand::{Hand, KubectlHand};
use settings::Settings;
use site::Site;
use tally::Tally;

/// Batches of cases that are played at once: kubectl is slow to start, API servers are not.
const WORKERS: usize = 3;

#[tokio::test(flavor = "multi_thread")]
async fn kubectl_beside_itself_differs_in_nothing_but_what_is_planted() {
    let settings = Settings::from_env();
    let cluster = Cluster::builder().bare().start().await.unwrap();
    let hand = KubectlHand::new(cluster.kubeconfig()).await;
    let site = Site::new(&cluster, [Hand::Kubectl(hand.clone()), Hand::Kubectl(hand)]);
    site.prepare(WORKERS).await;

    let mut tally = Tally::default();
    let cases = plan::cases(settings.seed, settings.cases);
    let only_bare = |case: &Case| case.cluster == case::Where::Bare && settings.only.is_none_or(|only| only == case.number);
    play::play_all(&site, cases.into_iter().filter(only_bare).collect(), WORKERS, |verdict| { if std::env::var_os("PARITY_DEBUG").is_some() { eprintln!("done {}", verdict.case.number); } tally.add(&verdict) }).await;
    assert_eq!(tally.differing().join("\n"), "");

    println!("{}", tally.tables());
}
