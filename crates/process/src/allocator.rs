//! Allocator settings of a process.
//!
//! glibc keeps an arena for each thread and is slow to free memory. Only the environment in which a process starts can change
//! that, so the daemons re-execute themselves, as the same process, with the settings in their environment. Programs that
//! they run do not inherit them.

use std::{env, os::unix::process::CommandExt, process::Command};

use crate::program::ADDED;

/// Re-executes the program with these settings, which `mallopt(3)` explains, unless the environment already has some, which
/// then prevail. To be called before there are threads.
///
/// If the program cannot be re-executed, it continues as it is: it works as well, and takes more memory.
pub fn start_with(settings: &[(&str, &str)]) {
    let is_set = |name: &str| env::var_os(name).is_some();
    if is_set("GLIBC_TUNABLES") || settings.iter().any(|(name, _)| is_set(name)) {
        return;
    }
    let mut arguments = env::args_os();
    let (Ok(program), Some(name)) = (env::current_exe(), arguments.next()) else { return };
    let added: Vec<_> = settings.iter().map(|(name, _)| *name).collect();
    let settings = settings.iter().copied();
    // Comes back only if it fails.
    drop(Command::new(program).arg0(name).args(arguments).envs(settings).env(ADDED, added.join(",")).exec());
}
