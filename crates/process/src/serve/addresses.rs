//! Connections of each address.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use parking_lot::Mutex;

use super::budget::limited_address;

/// Counts things of addresses; one address has a limited number of them.
#[derive(Debug, Clone)]
pub(super) struct Addresses {
    most: usize,
    counts: Arc<Mutex<HashMap<IpAddr, usize>>>,
}

/// One thing of an address, until this is dropped.
#[derive(Debug)]
pub(super) struct AddressSlot {
    addresses: Addresses,
    address: IpAddr,
}

// === impl Addresses ===

impl Addresses {
    /// Allows each address this many.
    pub(super) fn new(most: usize) -> Self {
        Self { most, counts: Arc::default() }
    }

    /// Adds one to an address; none if it has its number already.
    pub(super) fn admit(&self, address: IpAddr) -> Option<AddressSlot> {
        let address = limited_address(address);
        let mut counts = self.counts.lock();
        let count = counts.entry(address).or_default();
        if *count >= self.most {
            return None;
        }
        *count += 1;
        Some(AddressSlot { addresses: self.clone(), address })
    }
}

// === impl AddressSlot ===

impl Drop for AddressSlot {
    fn drop(&mut self) {
        let mut counts = self.addresses.counts.lock();
        if let Some(count) = counts.get_mut(&self.address) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.address);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_address_has_its_own_number() {
        let addresses = Addresses::new(2);
        let [one, other] = [[10, 0, 0, 1], [10, 0, 0, 2]].map(IpAddr::from);
        let slots: Vec<_> = (0..3).filter_map(|_| addresses.admit(one)).collect();
        assert_eq!(slots.len(), 2);
        assert!(addresses.admit(other).is_some());
        drop(slots);
        assert!(addresses.admit(one).is_some());
        assert!(addresses.counts.lock().is_empty());
    }
}
