//! A thrifty allocator.
//!
//! glibc keeps an arena for each thread and is slow to give memory back, which is more than a megabyte of what the agent
//! holds. It can be told otherwise, but only by the environment in which a process starts; so the agent starts itself
//! again, as the same process, with what it wants there. Programs that it runs do not get that.

use std::{env, os::unix::process::CommandExt, process::Command};

use spindrift_process::program::ADDED;

/// `mallopt(3)` explains them. Both threads of the agent share one arena and hardly ever meet there.
const THRIFT: [(&str, &str); 3] =
    [("MALLOC_ARENA_MAX", "1"), ("MALLOC_TRIM_THRESHOLD_", "65536"), ("MALLOC_TOP_PAD_", "16384")];

/// Starts the program again with these settings, unless the environment already has some; whoever set them decides.
///
/// If it cannot be started again, it goes on as it is: it works as well, and takes a little more.
pub(crate) fn be_thrifty() {
    let is_set = |name: &str| env::var_os(name).is_some();
    if is_set("GLIBC_TUNABLES") || THRIFT.iter().any(|(name, _)| is_set(name)) {
        return;
    }
    let mut arguments = env::args_os();
    let (Ok(program), Some(name)) = (env::current_exe(), arguments.next()) else { return };
    let added = THRIFT.map(|(name, _)| name).join(",");
    // Comes back only if it fails.
    drop(Command::new(program).arg0(name).args(arguments).envs(THRIFT).env(ADDED, added).exec());
}
