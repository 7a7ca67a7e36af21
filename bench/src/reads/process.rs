//! CPU and memory of a process.

use std::time::Duration;

use anyhow::Context;

/// So far.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Usage {
    pub(crate) cpu: Duration,
    /// The most memory that was resident, in bytes.
    pub(crate) peak: u64,
}

/// The kernel counts CPU time in these.
const TICK: Duration = Duration::from_millis(10);

// === impl Usage ===

impl Usage {
    pub(crate) fn of(pid: u32) -> anyhow::Result<Self> {
        let stat =
            std::fs::read_to_string(format!("/proc/{pid}/stat")).context("read what a process used")?;
        // The name may hold spaces; behind it come numbers, of which the 12th and 13th are the time in and for it.
        let (_, numbers) = stat.rsplit_once(") ").context("read what a process used")?;
        let ticks: u32 =
            numbers.split(' ').skip(11).take(2).filter_map(|number| number.parse::<u32>().ok()).sum();
        let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).context("no peak is known")?;
        let kilobytes: u64 = peak.trim().trim_end_matches(" kB").parse()?;
        Ok(Self { cpu: TICK * ticks, peak: kilobytes * 1024 })
    }

    /// From now on, the peak is that of the time from now on.
    pub(crate) fn forget_peak(pid: u32) -> anyhow::Result<()> {
        std::fs::write(format!("/proc/{pid}/clear_refs"), "5").context("forget the peak of a process")
    }
}
