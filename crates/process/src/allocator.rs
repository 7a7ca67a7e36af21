//! How a process is to keep its memory.
//!
//! glibc keeps an arena for each thread and is slow to give memory back. It can be told otherwise, but only by the
//! environment in which a process starts; so ours start themselves again, as the same process, with what they want there.
//! Programs that they run do not get that.

use std::{env, os::unix::process::CommandExt, process::Command};

use crate::program::ADDED;

/// Starts the program again with these settings, which `mallopt(3)` explains, unless the environment already has some;
/// whoever set them decides. To be called before there are threads.
///
/// If it cannot be started again, it goes on as it is: it works as well, and takes more.
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
