//! Activity in shops: programs are scaled, released, crash and are evicted.

use std::{convert::Infallible, ops::RangeInclusive, sync::Arc, time::Duration};

use jiff::Timestamp;
use serde_json::Value;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::{
    ShopSize,
    cluster_wide::GROUP,
    programs::WORKLOADS,
    workload::{Workload, WorkloadKind},
};
use crate::{
    cluster::{Cluster, DeleteOptions, Key},
    controllers::{Crash, Timers, fields},
};

/// Rate of a shop's activity.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ActivityRate {
    /// Average interval between two events in a cluster.
    pub every: Duration,
}

/// Activity of all shops of a process, run by one task.
pub struct ShopActivity {
    shops: Vec<ActiveShop>,
    rate: ActivityRate,
}

struct ActiveShop {
    cluster: Arc<Cluster>,
    size: ShopSize,
    rng: fastrand::Rng,
}

/// An event in a shop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ShopEvent {
    /// Traffic changes: a program is scaled.
    Traffic,
    /// A new release of a program is rolled out.
    Release,
    /// A program runs out of memory, and is restarted.
    Crash,
    /// A pod is evicted, and replaced.
    Eviction,
    /// A customer redeems a promotion.
    Redemption,
}

/// Lower limit of the interval, for one task.
const FASTEST: Duration = Duration::from_millis(1);

/// Upper limit of the interval.
const SLOWEST: Duration = Duration::from_hours(24);

/// Frequency of each event in percent.
const FREQUENCY: [(ShopEvent, u8); 5] = [
    (ShopEvent::Traffic, 50),
    (ShopEvent::Release, 8),
    (ShopEvent::Crash, 12),
    (ShopEvent::Eviction, 15),
    (ShopEvent::Redemption, 15),
];

// === impl ActivityRate ===

impl ActivityRate {
    /// A few seconds in a few clusters; longer in many, so that the total rate stays bounded.
    pub fn for_clusters(count: usize) -> Self {
        let slower = u32::try_from(count / 10).unwrap_or(u32::MAX);
        Self { every: Duration::from_secs(4) + Duration::from_millis(500) * slower }
    }

    /// Multiplies the rate.
    #[must_use]
    pub fn times(self, factor: f64) -> Self {
        let seconds = self.every.as_secs_f64() / factor.max(f64::MIN_POSITIVE);
        let every = Duration::try_from_secs_f64(seconds).unwrap_or(SLOWEST);
        Self { every: every.clamp(FASTEST, SLOWEST) }
    }
}

// === impl ShopActivity ===

impl ShopActivity {
    pub fn new(rate: ActivityRate) -> Self {
        Self { shops: Vec::new(), rate }
    }

    pub fn add(&mut self, cluster: &Arc<Cluster>, size: ShopSize, seed: u64) {
        self.shops.push(ActiveShop {
            cluster: Arc::clone(cluster),
            size,
            rng: fastrand::Rng::with_seed(seed),
        });
    }

    /// Runs until `shutdown` is cancelled.
    pub async fn run(mut self, shutdown: CancellationToken) -> Result<(), Infallible> {
        let mut timers = Timers::new();
        let start = Instant::now();
        let mut rng = fastrand::Rng::with_seed(self.shops.len() as u64);
        for number in 0..self.shops.len() {
            timers.set(number, start + self.rate.every.mul_f64(rng.f64() * 2.0));
        }
        loop {
            let due = timers.next().unwrap_or_else(|| Instant::now() + Duration::from_hours(1));
            tokio::select! {
                biased;
                () = shutdown.cancelled() => return Ok(()),
                () = sleep_until(due) => {}
            }
            let now = Instant::now();
            while let Some(number) = timers.pop(now) {
                let Some(shop) = self.shops.get_mut(number) else { continue };
                shop.act();
                timers.set(number, now + self.rate.every.mul_f64(shop.rng.f64() * 2.0));
            }
        }
    }
}

// === impl ActiveShop ===

impl ActiveShop {
    /// Runs one random event. Its target may be deleted meanwhile; then nothing happens.
    fn act(&mut self) {
        let mut lot = self.rng.u8(..100);
        for (event, frequency) in FREQUENCY {
            if lot < frequency {
                self.apply(event);
                return;
            }
            lot -= frequency;
        }
    }

    fn apply(&mut self, event: ShopEvent) {
        match event {
            ShopEvent::Traffic => self.scale(),
            ShopEvent::Release => self.release(),
            ShopEvent::Crash => self.crash(),
            ShopEvent::Eviction => self.evict(),
            ShopEvent::Redemption => self.redeem(),
        }
    }

    /// Returns a random program that can be scaled.
    fn program(&mut self) -> Option<(&'static Workload, i64, i64)> {
        let size = self.size;
        let scaled: Vec<_> = WORKLOADS
            .iter()
            .filter(|workload| workload.is_in(size) && workload.namespace != "kube-system")
            .filter_map(|workload| match workload.kind {
                WorkloadKind::Deployment { least, most } => Some((workload, least, most)),
                _ => None,
            })
            .collect();
        scaled.get(self.rng.usize(..scaled.len().max(1))).copied()
    }

    fn scale(&mut self) {
        let Some((workload, least, most)) = self.program() else { return };
        let range = if self.size == ShopSize::Full { least..=most } else { 1..=2 };
        let step = if self.rng.bool() { 1 } else { -1 };
        self.change(workload, |deployment| {
            let now = fields::count(deployment, "/spec/replicas");
            if let Some(next) = next_size(now, step, &range) {
                fields::set(deployment, &["spec", "replicas"], next);
            }
        });
    }

    fn release(&mut self) {
        let Some((workload, ..)) = self.program() else { return };
        let minor = self.rng.u8(..4) == 0;
        self.change(workload, |deployment| {
            let image = fields::text(deployment, "/spec/template/spec/containers/0/image");
            let next = workload.image_of(next_release(image, workload.release, minor));
            fields::set(&mut deployment["spec"]["template"]["spec"]["containers"][0], &["image"], next);
        });
    }

    fn crash(&mut self) {
        let Some(key) = self.pod() else { return };
        let crash = Crash { exit_code: 137, at: Timestamp::now() };
        // The pod may be deleted meanwhile.
        drop(self.cluster.update(&key, |pod| crash.befall(pod)));
    }

    fn evict(&mut self) {
        if let Some(key) = self.pod() {
            drop(self.cluster.delete_with(&key, &DeleteOptions::default()));
        }
    }

    /// Returns a random running pod of the shop's deployments.
    fn pod(&mut self) -> Option<Key> {
        let (workload, ..) = self.program()?;
        let pods = self.cluster.list("", "pods", Some(workload.namespace));
        let running: Vec<_> = pods
            .iter()
            .filter(|pod| fields::label(pod, "app") == workload.name && fields::is_ready(pod))
            .filter(|pod| fields::is_active(pod))
            .collect();
        let pod: &Value = running.get(self.rng.usize(..running.len().max(1)))?;
        Some(Key::new("", "pods", fields::namespace(pod), fields::name(pod)))
    }

    fn redeem(&mut self) {
        let promotions = self.cluster.list(GROUP, "promotions", Some("shop"));
        let Some(promotion) = promotions.get(self.rng.usize(..promotions.len().max(1))) else { return };
        let times = self.rng.i64(1..20);
        let key = Key::new(GROUP, "promotions", "shop", fields::name(promotion));
        drop(self.cluster.update(&key, |promotion| {
            let redeemed = fields::count(promotion, "/status/redeemed") + times;
            fields::set(promotion, &["status", "redeemed"], redeemed);
        }));
    }

    fn change(&self, workload: &Workload, change: impl FnOnce(&mut Value)) {
        let key = Key::new("apps", "deployments", workload.namespace, workload.name);
        // A user may have deleted it.
        drop(self.cluster.update(&key, change));
    }
}

/// Next number of replicas; reverses at a bound. None outside of the range: only a user can have set that number.
fn next_size(now: i64, step: i64, range: &RangeInclusive<i64>) -> Option<i64> {
    if !range.contains(&now) {
        return None;
    }
    [now + step, now - step].into_iter().find(|next| range.contains(next))
}

/// Release after the one of an image.
fn next_release(image: &str, first: (u8, u8, u8), minor: bool) -> (u8, u8, u8) {
    let numbers: Vec<u8> = image
        .rsplit_once(':')
        .map(|(_, tag)| tag.split('.').filter_map(|number| number.parse().ok()).collect())
        .unwrap_or_default();
    match numbers.as_slice() {
        [major, middle, _] if minor => (*major, middle.wrapping_add(1), 0),
        [major, middle, patch] => (*major, *middle, patch.wrapping_add(1)),
        _ => first,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_that_can_happen_has_its_share() {
        assert_eq!(FREQUENCY.iter().map(|(_, share)| share).sum::<u8>(), 100);
    }

    #[test]
    fn any_factor_makes_a_pace_that_can_be_kept() {
        let usual = ActivityRate::for_clusters(3);
        assert_eq!(usual.times(2.0).every, usual.every / 2);
        assert_eq!((usual.times(1e300).every, usual.times(0.0).every), (FASTEST, SLOWEST));
        assert!(ActivityRate::for_clusters(1_000).every > usual.every);
    }

    #[test]
    fn what_a_visitor_has_scaled_stays() {
        assert_eq!((next_size(2, 1, &(1..=4)), next_size(4, 1, &(1..=4))), (Some(3), Some(3)));
        assert_eq!((next_size(10, 1, &(1..=4)), next_size(0, 1, &(1..=4))), (None, None));
        assert_eq!(next_size(1, 1, &(1..=1)), None);
    }

    #[test]
    fn releases_count_up() {
        let first = (1, 0, 0);
        assert_eq!(next_release("r/shop/cart:2.3.1", first, false), (2, 3, 2));
        assert_eq!(next_release("r/shop/cart:2.3.1", first, true), (2, 4, 0));
        assert_eq!(next_release("r/shop/cart:latest", first, false), first);
    }
}
