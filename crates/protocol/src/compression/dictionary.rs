//! The dictionaries that this build ships: `make dictionary` trains the newest.

use std::{fmt, sync::OnceLock};

use zstd::zstd_safe::{CDict, DDict};

use super::LEVEL;

/// Common JSON of Kubernetes. Both sides must have the same one, so it is identified by the id in its header, which is
/// made of its content.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Dictionary(&'static Shipped);

struct Shipped {
    bytes: &'static [u8],
    /// Digested when first needed; an agent needs the one, a hub the other.
    compressing: OnceLock<CDict<'static>>,
    decompressing: OnceLock<DDict<'static>>,
}

/// Newest first. A release with a new one keeps the one before, since agents and hubs are not upgraded together.
static SHIPPED: [Shipped; 1] = [Shipped::new(include_bytes!("../../dictionary/kubernetes.zdict"))];

/// Where the header has the id.
const ID: std::ops::Range<usize> = 4..8;

// === impl Dictionary ===

impl Dictionary {
    /// Ids of all dictionaries of an agent, newest first: its offer.
    pub fn offer() -> String {
        SHIPPED.iter().map(|shipped| shipped.id().to_string()).collect::<Vec<_>>().join(",")
    }

    /// The newest of ours that the other side named too, if there is one.
    pub fn choose(offered: &str) -> Option<Self> {
        let offered: Vec<u32> = offered.split(',').filter_map(|id| id.trim().parse().ok()).collect();
        SHIPPED.iter().find(|shipped| offered.contains(&shipped.id())).map(Self)
    }

    /// Id.
    pub fn id(self) -> u32 {
        self.0.id()
    }

    pub(super) fn compressing(self) -> &'static CDict<'static> {
        self.0.compressing.get_or_init(|| CDict::create(self.0.bytes, LEVEL))
    }

    pub(super) fn decompressing(self) -> &'static DDict<'static> {
        self.0.decompressing.get_or_init(|| DDict::create(self.0.bytes))
    }
}

impl fmt::Debug for Dictionary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Dictionary({})", self.id())
    }
}

// === impl Shipped ===

impl Shipped {
    const fn new(bytes: &'static [u8]) -> Self {
        Self { bytes, compressing: OnceLock::new(), decompressing: OnceLock::new() }
    }

    fn id(&self) -> u32 {
        let id = self.bytes.get(ID).and_then(|id| id.try_into().ok());
        u32::from_le_bytes(id.expect("a dictionary is longer than its header"))
    }
}

impl PartialEq for Shipped {
    fn eq(&self, other: &Self) -> bool {
        self.id() == other.id()
    }
}

impl Eq for Shipped {}
