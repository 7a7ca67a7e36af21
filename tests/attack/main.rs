//! Attacks on a running hub: hostile peers and callers, slow readers, broken disks.
//!
//! ```text
//!  attack ──▶ hub ◀══ agent ◀── playground        (a bystander: its operation must succeed after each attack)
//!              ▲
//!              └── probe: GET /health, all the time; the longest gap and the peak of RSS are figures
//! ```
//!
//! Each attack has a hub of its own and reports cases. A failed case, or more memory than [`RSS_LIMIT`], fails the suite.
//! `make attack` runs the attacks in full size, `make test` in a short form ([`Scale`]).
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]
#![allow(clippy::needless_pass_by_value, reason = "values are formatted where they are used")]

mod artifacts;
mod big_cluster;
mod bystander;
mod chunks;
mod disk;
mod many_accounts;
mod names;
mod peer;
mod ports;
mod probe;
mod readers;
mod report;
mod rows;
mod sites;
mod target;
mod unfinished;

use futures::future::LocalBoxFuture;

use report::Report;
use target::{Scale, Target};

/// An attack: its name, further settings of the hub, and its cases.
struct Attack {
    name: &'static str,
    settings: &'static [(&'static str, &'static str)],
    run: for<'t> fn(&'t mut Target) -> LocalBoxFuture<'t, ()>,
}

/// All attacks, in the order in which they run. Settings are JSON pointers with JSON values.
const ATTACKS: &[Attack] = &[
    Attack { name: "garbage on the ports", settings: &[], run: |target| Box::pin(ports::garbage(target)) },
    Attack {
        name: "artifacts: forbidden servers",
        settings: artifacts::SETTINGS,
        run: |target| Box::pin(artifacts::forbidden_servers(target)),
    },
    Attack {
        name: "artifacts: theft of a login",
        settings: artifacts::SETTINGS,
        run: |target| Box::pin(artifacts::login_theft(target)),
    },
    Attack {
        name: "artifacts: endless servers",
        settings: artifacts::SETTINGS,
        run: |target| Box::pin(artifacts::endless_servers(target)),
    },
    Attack {
        name: "readers that do not read",
        settings: &[big_cluster::KINDS],
        run: |target| Box::pin(readers::silent(target)),
    },
    Attack {
        name: "a disk that is full, read-only or broken",
        settings: &[],
        run: |target| Box::pin(disk::faults(target)),
    },
    Attack {
        name: "rows that cannot be read",
        settings: &[],
        run: |target| Box::pin(rows::unreadable(target)),
    },
    Attack { name: "empty zstd frames", settings: &[], run: |target| Box::pin(chunks::empty_frames(target)) },
    Attack {
        name: "chunks of large content",
        settings: &[],
        run: |target| Box::pin(chunks::large_content(target)),
    },
    Attack { name: "unfinished bodies", settings: &[], run: |target| Box::pin(unfinished::bodies(target)) },
    Attack {
        name: "unfinished messages",
        settings: &[],
        run: |target| Box::pin(unfinished::messages(target)),
    },
    Attack { name: "silent connections", settings: &[], run: |target| Box::pin(unfinished::silence(target)) },
    Attack {
        name: "limits of HTTP/2",
        settings: &[],
        run: |target| Box::pin(unfinished::http2_limits(target)),
    },
    Attack {
        name: "many accounts",
        settings: many_accounts::SETTINGS,
        run: |target| Box::pin(many_accounts::announced(target)),
    },
    Attack { name: "names of other objects", settings: &[], run: |target| Box::pin(names::names(target)) },
    Attack { name: "pages of other sites", settings: &[], run: |target| Box::pin(sites::sites(target)) },
];

/// Peak of the hub's memory that no attack may exceed.
const RSS_LIMIT: u64 = 400 * 1024 * 1024;

/// `SPINDRIFT_ATTACK=<text>` selects the attacks whose name contains the text.
#[tokio::test(flavor = "multi_thread")]
async fn no_attack_disturbs_the_hub() {
    let scale = Scale::from_env();
    let selected = std::env::var("SPINDRIFT_ATTACK").unwrap_or_default();
    let mut report = Report::default();
    for attack in ATTACKS.iter().filter(|attack| attack.name.contains(&selected)) {
        println!("attack: {}", attack.name);
        let mut target = Target::start(scale, attack.settings).await;
        (attack.run)(&mut target).await;
        report.add(attack.name, target.finish().await);
    }
    println!("{report}");
    assert!(report.cases() > 0, "no attack is named {selected:?}");
    assert_eq!(report.failures(), 0, "failed cases:\n{}", report.failed_cases());
    assert!(report.peak_rss() <= RSS_LIMIT, "the hub held {} MB", report.peak_rss() >> 20);
}
