//! Delay before the next attempt.

use std::time::Duration;

/// An attempt that lived this long was healthy, so the next failure starts from the shortest delay again.
const HEALTHY: Duration = Duration::from_mins(1);

/// Growth of delays, with the names and defaults of gRPC's connection backoff.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BackoffConfig {
    /// The first delay.
    pub base: Duration,
    /// Factor between one delay and the next.
    pub multiplier: f64,
    /// The share by which a delay is randomly shortened or lengthened, from zero to one.
    pub jitter: f64,
    /// The longest delay before jitter.
    pub max: Duration,
}

/// Delays that grow with each failure, jittered so that a fleet does not come back in step.
#[derive(Debug, Clone)]
pub struct Backoff {
    config: BackoffConfig,
    /// The next delay before jitter.
    delay: Duration,
}

// === impl BackoffConfig ===

impl Default for BackoffConfig {
    /// The defaults of the agent's `clouddriver.backoff.*`.
    fn default() -> Self {
        Self { base: Duration::from_secs(1), multiplier: 1.6, jitter: 0.2, max: Duration::from_mins(2) }
    }
}

// === impl Backoff ===

impl Backoff {
    /// Starts at the shortest delay; values that make no sense are moved to the nearest that do.
    pub fn new(config: BackoffConfig) -> Self {
        let BackoffConfig { base, multiplier, jitter, max } = config;
        let config = BackoffConfig {
            base: base.min(max),
            // A NaN from a configuration file must not end up in a duration: `max` and `clamp` differ there.
            multiplier: multiplier.max(1.0),
            jitter: if jitter.is_nan() { 0.0 } else { jitter.clamp(0.0, 1.0) },
            max,
        };
        Self { config, delay: config.base }
    }

    /// Gives the time to wait now and makes the next one longer.
    #[expect(
        clippy::should_implement_trait,
        reason = "an iterator without end would hand out options for nothing"
    )]
    pub fn next(&mut self) -> Duration {
        let delay = self.delay;
        let longer = delay.as_secs_f64() * self.config.multiplier;
        self.delay = Duration::try_from_secs_f64(longer).unwrap_or(self.config.max).min(self.config.max);
        let factor = 1.0 + self.config.jitter * (2.0 * fastrand::f64() - 1.0);
        delay.mul_f64(factor)
    }

    /// Starts again at the shortest delay.
    pub fn reset(&mut self) {
        self.delay = self.config.base;
    }

    /// Starts again at the shortest delay if the attempt that has just ended lived for a healthy minute.
    pub fn ended_after(&mut self, lifetime: Duration) {
        if lifetime >= HEALTHY {
            self.reset();
        }
    }
}

impl Default for Backoff {
    fn default() -> Self {
        Self::new(BackoffConfig::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEADY: BackoffConfig = BackoffConfig {
        base: Duration::from_secs(1),
        multiplier: 2.0,
        jitter: 0.0,
        max: Duration::from_secs(5),
    };

    fn seconds(backoff: &mut Backoff, count: usize) -> Vec<u64> {
        std::iter::repeat_with(|| backoff.next().as_secs()).take(count).collect()
    }

    #[test]
    fn delays_grow_to_the_cap_and_start_again() {
        let mut backoff = Backoff::new(STEADY);
        assert_eq!(seconds(&mut backoff, 5), [1, 2, 4, 5, 5]);
        backoff.reset();
        assert_eq!(seconds(&mut backoff, 2), [1, 2]);
    }

    #[test]
    fn only_a_healthy_minute_resets() {
        let mut backoff = Backoff::new(STEADY);
        seconds(&mut backoff, 3);
        backoff.ended_after(Duration::from_secs(59));
        assert_eq!(seconds(&mut backoff, 1), [5]);
        backoff.ended_after(Duration::from_mins(1));
        assert_eq!(seconds(&mut backoff, 1), [1]);
    }

    #[test]
    fn jitter_stays_within_its_share() {
        let bounds = Duration::from_millis(799)..=Duration::from_millis(1201);
        for _ in 0..1000 {
            let delay = Backoff::default().next();
            assert!(bounds.contains(&delay), "{delay:?}");
        }
    }

    #[test]
    fn senseless_configurations_still_wait() {
        for (multiplier, jitter) in [(f64::NAN, f64::NAN), (0.0, -1.0), (f64::INFINITY, 9.0), (-3.0, 2.0)] {
            let mut backoff = Backoff::new(BackoffConfig { multiplier, jitter, ..STEADY });
            for _ in 0..100 {
                assert!(backoff.next() <= 2 * STEADY.max);
            }
        }
    }
}
