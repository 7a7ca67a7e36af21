//! Bytes that unfinished requests may hold, in all and for each address.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;

use parking_lot::Mutex;

/// Limit of the bytes of unfinished requests. One address gets a part of it, so that it cannot keep others away.
#[derive(Debug, Clone)]
pub struct ByteBudget {
    total: usize,
    per_address: usize,
    used: Arc<Mutex<BudgetUse>>,
}

#[derive(Debug, Default)]
struct BudgetUse {
    total: usize,
    /// Addresses that use something.
    by_address: HashMap<IpAddr, usize>,
}

/// Bytes of one request, until this is dropped.
#[derive(Debug)]
pub struct ByteHold {
    budget: ByteBudget,
    address: IpAddr,
    bytes: usize,
}

/// The budget is used up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("unfinished requests hold all of their {0} bytes; try again")]
pub struct BudgetExceeded(usize);

/// Returns the address that limits apply to. A peer of IPv6 has a whole /64 of addresses.
pub(super) fn limited_address(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & (u128::MAX << 64))),
        address @ IpAddr::V4(_) => address,
    }
}

// === impl ByteBudget ===

impl ByteBudget {
    /// Creates a budget of `total` bytes, of which one address may use `per_address`.
    pub fn new(total: usize, per_address: usize) -> Self {
        Self { total, per_address, used: Arc::default() }
    }

    /// Begins a request without any bytes so far.
    pub fn hold(&self, address: IpAddr) -> ByteHold {
        ByteHold { budget: self.clone(), address: limited_address(address), bytes: 0 }
    }

    /// Returns the bytes in use.
    pub fn used(&self) -> usize {
        self.used.lock().total
    }
}

// === impl ByteHold ===

impl ByteHold {
    /// Changes the number of bytes. If there is no room for more, nothing changes.
    pub fn resize(&mut self, bytes: usize) -> Result<(), BudgetExceeded> {
        let ByteBudget { total, per_address, used } = &self.budget;
        let mut used = used.lock();
        let of_address = used.by_address.get(&self.address).copied().unwrap_or_default();
        if bytes > self.bytes {
            let more = bytes - self.bytes;
            for (used, most) in [(used.total, *total), (of_address, *per_address)] {
                if used.saturating_add(more) > most {
                    return Err(BudgetExceeded(most));
                }
            }
        }
        used.total = used.total - self.bytes + bytes;
        match of_address - self.bytes + bytes {
            0 => used.by_address.remove(&self.address),
            left => used.by_address.insert(self.address, left),
        };
        self.bytes = bytes;
        Ok(())
    }
}

impl Drop for ByteHold {
    fn drop(&mut self) {
        let released = self.resize(0);
        debug_assert!(released.is_ok(), "less always fits");
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    #[test]
    fn one_address_leaves_room_for_others() {
        let budget = ByteBudget::new(100, 60);
        let [mine, other] = [1, 2].map(|last| IpAddr::from(Ipv4Addr::new(10, 0, 0, last)));
        let mut first = budget.hold(mine);
        first.resize(60).unwrap();
        let mut second = budget.hold(mine);
        assert_eq!(second.resize(1), Err(BudgetExceeded(60)));
        let mut third = budget.hold(other);
        third.resize(40).unwrap();
        assert_eq!(third.resize(41), Err(BudgetExceeded(100)));
        first.resize(20).unwrap();
        second.resize(40).unwrap();
        assert_eq!(budget.used(), 100);
        drop((first, second, third));
        assert_eq!(budget.used(), 0);
        assert!(budget.used.lock().by_address.is_empty());
    }

    #[test]
    fn a_prefix_of_ipv6_is_one_address() {
        let [one, same, other] = ["2001:db8::1", "2001:db8::ffff:2", "2001:db8:0:1::1"]
            .map(|address| limited_address(address.parse().unwrap()));
        assert_eq!(one, same);
        assert_ne!(one, other);
        assert_eq!(limited_address("::ffff:10.0.0.1".parse().unwrap()), IpAddr::from([10, 0, 0, 1]));
    }
}
