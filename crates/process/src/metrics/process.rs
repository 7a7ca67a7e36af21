//! The process as the kernel sees it, read from `/proc` at each scrape.

use std::fmt;
use std::fs;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;

/// Ticks per second in `/proc`; the kernel fixes `USER_HZ` at this value on all platforms we run on.
const TICKS_PER_SECOND: f64 = 100.0;

/// Collects the standard process metrics; those that cannot be read, on other systems all of them, are left out.
#[derive(Debug)]
pub(super) struct ProcessCollector;

/// The parts of `/proc/self/stat` we show.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Stat {
    cpu_seconds: f64,
    /// Seconds from the start of the machine to the start of the process.
    started: f64,
}

// === impl ProcessCollector ===

impl Collector for ProcessCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let status = read("/proc/self/status");
        let stat = read("/proc/self/stat").as_deref().and_then(Stat::parse);
        let limits = read("/proc/self/limits");

        gauge(
            &mut encoder,
            "resident_memory_bytes",
            "Resident memory",
            kilobytes(status.as_deref(), "VmRSS:"),
        )?;
        gauge(
            &mut encoder,
            "virtual_memory_bytes",
            "Virtual memory",
            kilobytes(status.as_deref(), "VmSize:"),
        )?;
        let most = limits.as_deref().and_then(max_virtual_memory);
        gauge(&mut encoder, "virtual_memory_max_bytes", "Most virtual memory allowed; -1 is no limit", most)?;
        gauge(&mut encoder, "open_fds", "Open file descriptors", open_fds())?;
        gauge(&mut encoder, "max_fds", "Most file descriptors allowed", max_fds(limits.as_deref()))?;
        let boot = read("/proc/stat").as_deref().and_then(|text| field(text, "btime"));
        let since_epoch = stat.zip(boot).map(|(stat, boot)| boot + stat.started);
        gauge(&mut encoder, "start_time_seconds", "Start of the process since the epoch", since_epoch)?;
        if let Some(stat) = stat {
            let counter = ConstCounter::new(stat.cpu_seconds);
            let name = "process_cpu_seconds";
            let metric = encoder.encode_descriptor(name, "CPU time spent", None, counter.metric_type())?;
            counter.encode(metric)?;
        }
        Ok(())
    }
}

fn gauge(encoder: &mut DescriptorEncoder<'_>, name: &str, help: &str, value: Option<f64>) -> fmt::Result {
    let Some(value) = value else { return Ok(()) };
    let gauge = ConstGauge::new(value);
    gauge.encode(encoder.encode_descriptor(&format!("process_{name}"), help, None, gauge.metric_type())?)
}

fn read(file: &str) -> Option<String> {
    fs::read_to_string(file).ok()
}

/// Finds the number that follows a word at the start of a line.
fn field(text: &str, name: &str) -> Option<f64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

fn kilobytes(status: Option<&str>, name: &str) -> Option<f64> {
    field(status?, name).map(|kilobytes| kilobytes * 1024.0)
}

fn max_fds(limits: Option<&str>) -> Option<f64> {
    field(limits?, "Max open files")
}

/// Without a limit it is -1, as other libraries show it.
fn max_virtual_memory(limits: &str) -> Option<f64> {
    const NAME: &str = "Max address space";
    let unlimited = limits
        .lines()
        .find_map(|line| line.strip_prefix(NAME))
        .map(|rest| rest.trim_start().starts_with("unlimited"));
    if unlimited? { Some(-1.0) } else { field(limits, NAME) }
}

fn open_fds() -> Option<f64> {
    let count = fs::read_dir("/proc/self/fd").ok()?.count();
    // One of them is the directory being read.
    Some(f64::from(u32::try_from(count).ok()?.saturating_sub(1)))
}

// === impl Stat ===

impl Stat {
    fn parse(text: &str) -> Option<Self> {
        // The second field is the name of the program in parentheses, which may hold spaces and parentheses.
        let (_, rest) = text.rsplit_once(')')?;
        let fields: Vec<&str> = rest.split_whitespace().collect();
        // Numbered as in proc(5), where the field after the name is the third.
        let seconds = |number: usize| {
            let ticks: f64 = fields.get(number - 3)?.parse().ok()?;
            Some(ticks / TICKS_PER_SECOND)
        };
        Some(Self { cpu_seconds: seconds(14)? + seconds(15)?, started: seconds(22)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stat_survives_odd_program_names() {
        let text = "7 (a) b) c) S 1 7 7 0 -1 4194304 100 0 0 0 150 50 0 0 20 0 8 0 12345 1000 200\n";
        assert_eq!(Stat::parse(text), Some(Stat { cpu_seconds: 2.0, started: 123.45 }));
        assert_eq!(Stat::parse("nonsense"), None);
    }

    #[test]
    fn sizes_are_bytes() {
        assert_eq!(kilobytes(Some("Name:\tx\nVmRSS:\t     12 kB\n"), "VmRSS:"), Some(12288.0));
        assert_eq!(
            max_fds(Some("Max open files            1024                 4096                 files\n")),
            Some(1024.0)
        );
        assert_eq!(max_virtual_memory("Max address space  unlimited  unlimited  bytes\n"), Some(-1.0));
        assert_eq!(max_virtual_memory("Max address space  4096  unlimited  bytes\n"), Some(4096.0));
    }
}
