//! Facts about a process, from `/proc`.

use std::fs;

use anyhow::Context;
use nix::unistd::Pid;

/// Resident memory.
pub(super) fn rss_bytes(pid: u32) -> anyhow::Result<u64> {
    status_bytes(pid, "VmRSS:")
}

/// The most memory that was ever resident.
pub(super) fn peak_rss_bytes(pid: u32) -> anyhow::Result<u64> {
    status_bytes(pid, "VmHWM:")
}

fn status_bytes(pid: u32, field: &str) -> anyhow::Result<u64> {
    let size = status(pid, field).with_context(|| format!("process {pid} has no memory"))?;
    let kilobytes = size.strip_suffix(" kB").context("the kernel counts in kB")?;
    Ok(kilobytes.parse::<u64>()? * 1024)
}

/// The direct children of a process.
pub(super) fn children(parent: u32) -> anyhow::Result<Vec<Pid>> {
    let parent = parent.to_string();
    let mut children = Vec::new();
    for entry in fs::read_dir("/proc").context("list /proc")? {
        let name = entry.context("list /proc")?.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
        if status(pid, "PPid:").is_some_and(|of_pid| of_pid == parent) {
            children.push(Pid::from_raw(pid.cast_signed()));
        }
    }
    Ok(children)
}

/// Whether no thread of a process runs: all are stopped, or the process has gone.
pub(super) fn is_stopped(pid: Pid) -> bool {
    let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else { return true };
    threads.flatten().all(|thread| {
        let status = fs::read_to_string(thread.path().join("status")).unwrap_or_default();
        let state = status.lines().find_map(|line| line.strip_prefix("State:"));
        state.is_none_or(|state| state.trim_start().starts_with(['T', 't', 'Z', 'X']))
    })
}

/// One field of a process's status; `None` also if the process has gone.
fn status(pid: u32, field: &str) -> Option<String> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let value = status.lines().find_map(|line| line.strip_prefix(field))?;
    Some(value.trim().to_owned())
}
