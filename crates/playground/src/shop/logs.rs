//! What the shop's programs log: the same lines for the same pod and time, however often they are read.

use std::hash::{DefaultHasher, Hash, Hasher};

use jiff::Timestamp;

/// Makes up log lines; nothing is kept.
#[derive(Debug, Clone, Copy, Default)]
pub struct Logs;

const PATHS: [&str; 6] = ["/", "/p/1042", "/search?q=lamp", "/cart", "/p/77", "/checkout"];

// === impl Logs ===

impl Logs {
    /// The line that a program logs in a second, if it logs any; about every other second.
    pub(crate) fn line(app: &str, uid: &str, second: i64) -> Option<String> {
        let mut hasher = DefaultHasher::new();
        (uid, second).hash(&mut hasher);
        let mut rng = fastrand::Rng::with_seed(hasher.finish());
        if rng.bool() {
            return None;
        }
        let at = Timestamp::from_second(second).unwrap_or(Timestamp::UNIX_EPOCH);
        let order = rng.u32(100_000..999_999);
        let took = rng.u32(1..180);
        Some(match app {
            "frontend" => {
                let path = PATHS[rng.usize(..PATHS.len())];
                let code = if rng.u8(..40) == 0 { 502 } else { 200 };
                format!("{at} INFO  GET {path} {code} {took}ms")
            }
            "cart" => format!("{at} INFO  cart of session {:08x} has {} items", rng.u32(..), rng.u8(1..9)),
            "checkout" => {
                format!("{at} INFO  order {order} placed, {}.{:02} EUR", rng.u8(5..200), rng.u8(..100))
            }
            "payment" if rng.u8(..15) == 0 => {
                format!("{at} WARN  payment of order {order} declined, asking again")
            }
            "payment" => format!("{at} INFO  payment of order {order} authorized in {took}ms"),
            "ledger" => format!("{at} INFO  booked order {order}"),
            "search" => format!("{at} DEBUG query answered from {} documents in {took}ms", rng.u32(..5000)),
            "recommendation" => format!("{at} INFO  12 items for customer {:06x}", rng.u32(..1 << 24)),
            "catalogue-db" => format!("{at} LOG:  checkpoint complete: wrote {} buffers", rng.u32(..900)),
            "sales-report" | "stock-sync" | "settlement" => {
                format!("{at} INFO  {} of {} records done", rng.u32(..500), 500)
            }
            app => format!("{at} INFO  {app} is well ({took}ms)"),
        })
    }

    /// The lines of a range of seconds.
    pub(crate) fn lines(app: &str, uid: &str, from: i64, until: i64) -> impl Iterator<Item = (i64, String)> {
        (from..until).filter_map(move |second| Some((second, Self::line(app, uid, second)?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_do_not_change_when_they_are_read_again() {
        let read = |from, until| Logs::lines("checkout", "u", from, until).collect::<Vec<_>>();
        let all = read(1_000, 1_100);
        assert!((20..80).contains(&all.len()), "{}", all.len());
        assert_eq!([read(1_000, 1_050), read(1_050, 1_100)].concat(), all);
        assert!(all[0].1.contains("order"), "{}", all[0].1);
    }
}
